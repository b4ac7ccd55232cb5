"""Measures: set-based exact matching, scores of slices, and the errors behind them."""

from nearspan.evaluation.errors import Error, find_errors
from nearspan.evaluation.evaluate import Evaluation, Judge, evaluate
from nearspan.evaluation.matching import score
from nearspan.evaluation.scores import Counts, Scores
from nearspan.evaluation.slices import by_structure, by_width, sliced
from nearspan.evaluation.vocabulary import VOCABULARIES, by_vocabulary

__all__ = [
    "VOCABULARIES",
    "Counts",
    "Error",
    "Evaluation",
    "Judge",
    "Scores",
    "by_structure",
    "by_vocabulary",
    "by_width",
    "evaluate",
    "find_errors",
    "score",
    "sliced",
]
