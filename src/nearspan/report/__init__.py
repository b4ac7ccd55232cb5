"""What people read about a model and a corpus: scores, confusions, errors with evidence, label issues.

The papers' own tables and figures are in `nearspan.report.papers`.
"""

from nearspan.report.audit import Audit, audit
from nearspan.report.label_issues import LabelIssue
from nearspan.report.report import Report, report

__all__ = ["Audit", "LabelIssue", "Report", "audit", "report"]
