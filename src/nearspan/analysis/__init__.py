"""Analysis: the papers' tables and figures for a model and a corpus, and what is in doubt in a corpus."""

from nearspan.analysis.audit import Audit, audit
from nearspan.analysis.doubts import Doubt
from nearspan.analysis.generation import Generation, generation
from nearspan.analysis.report import Report, report

__all__ = ["Audit", "Doubt", "Generation", "Report", "audit", "generation", "report"]
