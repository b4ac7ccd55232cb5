"""Nearest neighbours: a datastore of labelled span vectors, a search in it, and exact sums over it."""

from nearspan.knn.assemble import assemble_datastore
from nearspan.knn.datastore import Datastore
from nearspan.knn.interpolation import InterpolationSettings, vote
from nearspan.knn.memory_sentence import MemorySentence
from nearspan.knn.pool import LabelledRows, Pool, WordPool
from nearspan.knn.search import nearest_sentences, nearest_spans, rows_of, scores_of
from nearspan.knn.span_sums import (
    neighbour_probabilities,
    pool_probabilities,
    probabilities_by_sentence,
    probabilities_by_stream,
)
from nearspan.knn.word_sums import compared_by_words, entities_by_words
from nearspan.knn.word_table import WordTable

__all__ = [
    "Datastore",
    "InterpolationSettings",
    "LabelledRows",
    "MemorySentence",
    "Pool",
    "WordPool",
    "WordTable",
    "assemble_datastore",
    "compared_by_words",
    "entities_by_words",
    "nearest_sentences",
    "nearest_spans",
    "neighbour_probabilities",
    "pool_probabilities",
    "probabilities_by_sentence",
    "probabilities_by_stream",
    "rows_of",
    "scores_of",
    "vote",
]
