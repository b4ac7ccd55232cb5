"""The papers' own tables and figures, for any model: `nearspan report --papers`."""

from nearspan.report.papers.curves import check_curves
from nearspan.report.papers.generation import Generation, generation
from nearspan.report.papers.page import papers_page
from nearspan.report.papers.results import PaperResults, analyse

__all__ = ["Generation", "PaperResults", "analyse", "check_curves", "generation", "papers_page"]
