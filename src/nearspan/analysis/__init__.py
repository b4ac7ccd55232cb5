"""Analysis: the papers' tables and figures for a model and a corpus, as one page to read."""

from nearspan.analysis.generation import Generation, generation
from nearspan.analysis.report import Report, report

__all__ = ["Generation", "Report", "generation", "report"]
