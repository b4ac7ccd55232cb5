"""Measures: exact matches and the accuracy of labels, scores of slices, and the errors behind them."""

from nearspan.evaluation.errors import Error, ErrorKind, FalsePositives, false_positives, find_errors
from nearspan.evaluation.evaluation import Evaluation
from nearspan.evaluation.evaluator import Evaluator, evaluate
from nearspan.evaluation.matching import score
from nearspan.evaluation.scores import ClassificationScores, Counts, Scores
from nearspan.evaluation.slices import by_continuity, by_sentence_continuity, by_structure, by_width, score_by
from nearspan.evaluation.span_classification import score_labels
from nearspan.evaluation.vocabulary import VOCABULARIES, by_vocabulary

__all__ = [
    "VOCABULARIES",
    "ClassificationScores",
    "Counts",
    "Error",
    "ErrorKind",
    "Evaluation",
    "Evaluator",
    "FalsePositives",
    "Scores",
    "by_continuity",
    "by_sentence_continuity",
    "by_structure",
    "by_vocabulary",
    "by_width",
    "evaluate",
    "false_positives",
    "find_errors",
    "score",
    "score_by",
    "score_labels",
]
