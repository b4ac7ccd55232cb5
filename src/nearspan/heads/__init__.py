"""Heads: span vectors, or word states, to label probabilities, entities and evidence."""

from nearspan.heads.biaffine import BiaffineHead
from nearspan.heads.crf import CrfHead
from nearspan.heads.fragment_linker import FragmentLinker, FragmentLinkerSettings
from nearspan.heads.nearest import NearestHead
from nearspan.heads.protocol import Contributions, Head, HeadInputs, Query, Targets
from nearspan.heads.sigmoid import SigmoidHead
from nearspan.heads.softmax import SoftmaxHead

__all__ = [
    "BiaffineHead",
    "Contributions",
    "CrfHead",
    "FragmentLinker",
    "FragmentLinkerSettings",
    "Head",
    "HeadInputs",
    "NearestHead",
    "Query",
    "SigmoidHead",
    "SoftmaxHead",
    "Targets",
]
