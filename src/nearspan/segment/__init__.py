"""Views of a text: words, sentences and windows, with exact character offsets."""

from nearspan.segment.alignment import Alignment, Gold, align
from nearspan.segment.coverage import Coverage
from nearspan.segment.digests import copies, digests
from nearspan.segment.sentences import Sentence, split
from nearspan.segment.windows import Window, split_windows

__all__ = [
    "Alignment",
    "Coverage",
    "Gold",
    "Sentence",
    "Window",
    "align",
    "copies",
    "digests",
    "split",
    "split_windows",
]
