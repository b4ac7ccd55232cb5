"""The memory of training spans that predictions rest on."""

from nearspan.memory.search import nearest_sentences, nearest_spans, pools, rows_of
from nearspan.memory.store import Memory, Remembered

__all__ = ["Memory", "Remembered", "nearest_sentences", "nearest_spans", "pools", "rows_of"]
