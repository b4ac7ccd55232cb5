"""Measures: set-based exact matching, scores of slices, and the errors behind them."""

from nearspan.evaluation.errors import Error, find_errors
from nearspan.evaluation.evaluator import Evaluation, Evaluator, evaluate
from nearspan.evaluation.matching import score
from nearspan.evaluation.positives import FalsePositives, false_positives
from nearspan.evaluation.scores import Counts, Scores
from nearspan.evaluation.slices import by_continuity, by_sentence_continuity, by_structure, by_width, sliced
from nearspan.evaluation.span_classification import (
    SpanClassificationEvaluation,
    SpanClassificationEvaluator,
    SpanClassificationScores,
    TypedCounts,
    evaluate_span_classification,
)
from nearspan.evaluation.vocabulary import VOCABULARIES, by_vocabulary

__all__ = [
    "VOCABULARIES",
    "Counts",
    "Error",
    "Evaluation",
    "Evaluator",
    "FalsePositives",
    "Scores",
    "SpanClassificationEvaluation",
    "SpanClassificationEvaluator",
    "SpanClassificationScores",
    "TypedCounts",
    "by_continuity",
    "by_sentence_continuity",
    "by_structure",
    "by_vocabulary",
    "by_width",
    "evaluate",
    "evaluate_span_classification",
    "false_positives",
    "find_errors",
    "score",
    "sliced",
]
