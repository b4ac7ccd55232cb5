"""Evidence: which training spans a prediction rests on, and how strong that claim is."""

from nearspan.evidence.evidence import Evidence
from nearspan.evidence.explain import explain_candidate, explain_fragments
from nearspan.evidence.flip import Flip
from nearspan.evidence.neighbour import NULL, Neighbour
from nearspan.evidence.question import Question
from nearspan.evidence.recollection import Recollection
from nearspan.evidence.render import marked, printable, render, told

__all__ = [
    "NULL",
    "Evidence",
    "Flip",
    "Neighbour",
    "Question",
    "Recollection",
    "explain_candidate",
    "explain_fragments",
    "marked",
    "printable",
    "render",
    "told",
]
