"""Views of a text: words, sentences and windows, with exact character offsets."""

from nearspan.segment.alignment import Alignment, align
from nearspan.segment.coverage import Coverage
from nearspan.segment.digests import copies, digests
from nearspan.segment.labelled_span import Fragments, LabelledSpan, WordEntity
from nearspan.segment.sentences import Sentence, split
from nearspan.segment.windows import Window, split_windows

__all__ = [
    "Alignment",
    "Coverage",
    "Fragments",
    "LabelledSpan",
    "Sentence",
    "Window",
    "WordEntity",
    "align",
    "copies",
    "digests",
    "split",
    "split_windows",
]
