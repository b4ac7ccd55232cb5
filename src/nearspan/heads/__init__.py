"""Heads: span vectors, or word states, to label probabilities, and the loss that trains them."""

from typing import Annotated

from pydantic import Field

from nearspan.heads.biaffine import BiaffineHead, BiaffineSettings
from nearspan.heads.crf import CrfHead, CrfSettings, tags_of
from nearspan.heads.fragment_linker import FragmentLinker, FragmentLinkerSettings
from nearspan.heads.nearest import NearestHead, NearestSettings
from nearspan.heads.sigmoid import SigmoidHead, SigmoidSettings
from nearspan.heads.softmax import Softmax, SoftmaxHead, SoftmaxSettings

HeadSettings = Annotated[
    SoftmaxSettings | SigmoidSettings | BiaffineSettings | NearestSettings | CrfSettings,
    Field(discriminator="kind"),
]
SpanHead = SoftmaxHead | SigmoidHead | BiaffineHead | NearestHead
Head = SpanHead | CrfHead

__all__ = [
    "BiaffineHead",
    "BiaffineSettings",
    "CrfHead",
    "CrfSettings",
    "FragmentLinker",
    "FragmentLinkerSettings",
    "Head",
    "HeadSettings",
    "NearestHead",
    "NearestSettings",
    "SigmoidHead",
    "SigmoidSettings",
    "Softmax",
    "SoftmaxHead",
    "SoftmaxSettings",
    "SpanHead",
    "tags_of",
]
