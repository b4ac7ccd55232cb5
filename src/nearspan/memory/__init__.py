"""The memory of training spans that predictions rest on."""

from nearspan.memory.search import nearest_sentences, nearest_spans, pools, rows_of, scores_of
from nearspan.memory.store import Memory, Remembered
from nearspan.memory.words import WordTable

__all__ = ["Memory", "Remembered", "WordTable", "nearest_sentences", "nearest_spans", "pools", "rows_of", "scores_of"]
