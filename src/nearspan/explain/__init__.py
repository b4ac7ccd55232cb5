"""Evidence: which training spans a prediction rests on, and how strong that claim is."""

from nearspan.explain.counter_evidence import CounterEvidence
from nearspan.explain.evidence import Evidence
from nearspan.explain.explain import explain_span
from nearspan.explain.neighbour import NULL, Neighbour
from nearspan.explain.question import Question, locate
from nearspan.explain.recalled_words import RecalledWord
from nearspan.explain.render import describe_removal, mark_spans, printable, render

__all__ = [
    "NULL",
    "CounterEvidence",
    "Evidence",
    "Neighbour",
    "Question",
    "RecalledWord",
    "describe_removal",
    "explain_span",
    "locate",
    "mark_spans",
    "printable",
    "render",
]
