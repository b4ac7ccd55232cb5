"""Analysis: the papers' tables and figures for a model and a corpus, and what is in doubt in a corpus."""

from nearspan.report.audit import Audit, audit
from nearspan.report.generation import Generation, generation
from nearspan.report.label_issues import Doubt
from nearspan.report.report import Report, report

__all__ = ["Audit", "Doubt", "Generation", "Report", "audit", "generation", "report"]
