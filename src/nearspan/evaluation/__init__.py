"""Measures: exact matches and the accuracy of labels, scores of slices, and the errors behind them."""

from nearspan.evaluation.errors import Error, FalsePositives, false_positives, find_errors
from nearspan.evaluation.evaluator import Evaluation, Evaluator, evaluate, score_labels
from nearspan.evaluation.matching import score, score_by
from nearspan.evaluation.scores import ClassificationScores, Counts, Scores
from nearspan.evaluation.slices import by_continuity, by_sentence_continuity, by_structure, by_vocabulary, by_width

__all__ = [
    "ClassificationScores",
    "Counts",
    "Error",
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
