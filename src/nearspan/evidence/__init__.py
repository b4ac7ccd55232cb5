"""Evidence: which training spans a prediction rests on, and how strong that claim is."""

from nearspan.evidence.evidence import NULL, Evidence, Neighbour
from nearspan.evidence.explain import explain_candidate, explain_fragments
from nearspan.evidence.render import marked, render

__all__ = ["NULL", "Evidence", "Neighbour", "explain_candidate", "explain_fragments", "marked", "render"]
