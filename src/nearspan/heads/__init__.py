"""Heads: span vectors, or word states, to label probabilities, and the loss that trains them."""

from typing import Annotated

from pydantic import Field

from nearspan.heads.biaffine import Biaffine, BiaffineSettings
from nearspan.heads.classifier import Classifier, ClassifierSettings, Softmax
from nearspan.heads.crf import Crf, CrfSettings, tags_of
from nearspan.heads.instances import Instances, InstanceSettings
from nearspan.heads.joining import Joiner, JoiningSettings
from nearspan.heads.pool import Pool, WordPool
from nearspan.heads.sigmoid import Sigmoid, SigmoidSettings

HeadSettings = Annotated[
    ClassifierSettings | SigmoidSettings | BiaffineSettings | InstanceSettings | CrfSettings,
    Field(discriminator="kind"),
]
SpanHead = Classifier | Sigmoid | Biaffine | Instances
Head = SpanHead | Crf

__all__ = [
    "Biaffine",
    "BiaffineSettings",
    "Classifier",
    "ClassifierSettings",
    "Crf",
    "CrfSettings",
    "Head",
    "HeadSettings",
    "InstanceSettings",
    "Instances",
    "Joiner",
    "JoiningSettings",
    "Pool",
    "Sigmoid",
    "SigmoidSettings",
    "Softmax",
    "SpanHead",
    "WordPool",
    "tags_of",
]
