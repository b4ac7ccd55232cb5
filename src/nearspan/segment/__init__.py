"""Views of a text: words, sentences and windows, with exact character offsets."""

from nearspan.segment.alignment import align
from nearspan.segment.coverage import Coverage
from nearspan.segment.digests import copies, digests
from nearspan.segment.labelled_span import Fragments, LabelledSpan, contiguous
from nearspan.segment.sentences import Sentence, Siblings, ends_sentence, split, split_words

__all__ = [
    "Coverage",
    "Fragments",
    "LabelledSpan",
    "Sentence",
    "Siblings",
    "align",
    "contiguous",
    "copies",
    "digests",
    "ends_sentence",
    "split",
    "split_words",
]
