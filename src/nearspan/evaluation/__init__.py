"""Measures: set-based exact matching, scores of slices, and the errors behind them."""

from nearspan.evaluation.errors import Error, find_errors
from nearspan.evaluation.evaluate import Evaluation, Judge, evaluate
from nearspan.evaluation.matching import score
from nearspan.evaluation.positives import FalsePositives, false_positives
from nearspan.evaluation.scores import Counts, Scores
from nearspan.evaluation.slices import by_continuity, by_sentence_continuity, by_structure, by_width, sliced
from nearspan.evaluation.typed import TypedCounts, TypingEvaluation, TypingJudge, TypingScores, evaluate_typing
from nearspan.evaluation.vocabulary import VOCABULARIES, by_vocabulary

__all__ = [
    "VOCABULARIES",
    "Counts",
    "Error",
    "Evaluation",
    "FalsePositives",
    "Judge",
    "Scores",
    "TypedCounts",
    "TypingEvaluation",
    "TypingJudge",
    "TypingScores",
    "by_continuity",
    "by_sentence_continuity",
    "by_structure",
    "by_vocabulary",
    "by_width",
    "evaluate",
    "evaluate_typing",
    "false_positives",
    "find_errors",
    "score",
    "sliced",
]
