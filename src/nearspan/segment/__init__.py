"""Views of a text: words and sentences, with exact character offsets."""

from nearspan.segment.alignment import Alignment, Gold, align
from nearspan.segment.coverage import Coverage
from nearspan.segment.digests import copies, digests
from nearspan.segment.sentences import Sentence, in_blocks, split

__all__ = ["Alignment", "Coverage", "Gold", "Sentence", "align", "copies", "digests", "in_blocks", "split"]
