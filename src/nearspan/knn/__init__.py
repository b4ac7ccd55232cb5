"""Nearest neighbours: a datastore of labelled span vectors, a search in it, and exact sums over it."""

from nearspan.knn.assemble import assemble_datastore
from nearspan.knn.concepts import Concepts, LinkedSpan
from nearspan.knn.datastore import Datastore
from nearspan.knn.interpolation import InterpolationSettings, knn_probabilities
from nearspan.knn.label_sums import log_label_sums, log_label_sums_over_all
from nearspan.knn.leave_one_out import LeaveOneOut
from nearspan.knn.memory_sentence import MemorySentence
from nearspan.knn.pool import Pool
from nearspan.knn.search import nearest_sentences, sentence_rows, similarities
from nearspan.knn.span_sums import (
    neighbour_probabilities,
    pool_probabilities,
    probabilities_over_all,
    probabilities_over_sentences,
)
from nearspan.knn.vote import AS_TRAINED, Vote
from nearspan.knn.whole_memory import WholeMemory
from nearspan.knn.word_sums import WordSumEngine
from nearspan.knn.word_table import WordPool, WordTable

__all__ = [
    "AS_TRAINED",
    "Concepts",
    "Datastore",
    "InterpolationSettings",
    "LeaveOneOut",
    "LinkedSpan",
    "MemorySentence",
    "Pool",
    "Vote",
    "WholeMemory",
    "WordPool",
    "WordSumEngine",
    "WordTable",
    "assemble_datastore",
    "knn_probabilities",
    "log_label_sums",
    "log_label_sums_over_all",
    "nearest_sentences",
    "neighbour_probabilities",
    "pool_probabilities",
    "probabilities_over_all",
    "probabilities_over_sentences",
    "sentence_rows",
    "similarities",
]
