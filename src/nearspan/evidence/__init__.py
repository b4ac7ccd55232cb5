"""Evidence: which training spans a prediction rests on, and how strong that claim is."""

from nearspan.evidence.evidence import NULL, Evidence
from nearspan.evidence.explain import explain_candidate, explain_fragments
from nearspan.evidence.flip import Flip
from nearspan.evidence.neighbour import Neighbour
from nearspan.evidence.render import marked, render, told

__all__ = [
    "NULL",
    "Evidence",
    "Flip",
    "Neighbour",
    "explain_candidate",
    "explain_fragments",
    "marked",
    "render",
    "told",
]
