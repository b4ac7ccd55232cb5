"""Evidence: which training spans a prediction rests on, and how strong that claim is."""

from nearspan.explain.evidence import NULL, Evidence, Neighbour, linked_neighbour
from nearspan.explain.explain import explain_span
from nearspan.explain.question import locate
from nearspan.explain.render import mark_spans, render

__all__ = ["NULL", "Evidence", "Neighbour", "explain_span", "linked_neighbour", "locate", "mark_spans", "render"]
