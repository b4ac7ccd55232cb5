"""Evidence: which training spans a prediction rests on, and how strong that claim is."""

from nearspan.evidence.evidence import NULL, Evidence, Neighbour, Recollection
from nearspan.evidence.explain import Asked, explain
from nearspan.evidence.render import marked, render

__all__ = ["NULL", "Asked", "Evidence", "Neighbour", "Recollection", "explain", "marked", "render"]
