"""The memory of training spans that predictions rest on, and its edits."""

from nearspan.memory.comparison import compared_by_words, compared_side_by_side, entities_by_words
from nearspan.memory.edits import Edit, Revision
from nearspan.memory.gather import gathered
from nearspan.memory.journal import Journal
from nearspan.memory.remembered import Remembered
from nearspan.memory.search import nearest_sentences, nearest_spans, rows_of, scores_of
from nearspan.memory.store import Memory
from nearspan.memory.voting import VoteSettings, vote
from nearspan.memory.words import WordTable

__all__ = [
    "Edit",
    "Journal",
    "Memory",
    "Remembered",
    "Revision",
    "VoteSettings",
    "WordTable",
    "compared_by_words",
    "compared_side_by_side",
    "entities_by_words",
    "gathered",
    "nearest_sentences",
    "nearest_spans",
    "rows_of",
    "scores_of",
    "vote",
]
