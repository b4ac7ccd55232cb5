"""Evidence: which training spans a prediction rests on, and how strong that claim is."""

from nearspan.explain.counter_evidence import CounterEvidence
from nearspan.explain.evidence import Evidence
from nearspan.explain.explain import explain_candidate, explain_fragments
from nearspan.explain.neighbour import NULL, Neighbour
from nearspan.explain.question import Question
from nearspan.explain.recollection import RecalledWord
from nearspan.explain.render import marked, printable, render, told

__all__ = [
    "NULL",
    "CounterEvidence",
    "Evidence",
    "Neighbour",
    "Question",
    "RecalledWord",
    "explain_candidate",
    "explain_fragments",
    "marked",
    "printable",
    "render",
    "told",
]
