"""Views of a text: words and sentences, with exact character offsets."""

from nearspan.text.alignment import Alignment, Gold, align
from nearspan.text.coverage import Coverage
from nearspan.text.digests import copies, digests
from nearspan.text.sentences import Sentence, in_blocks, split

__all__ = ["Alignment", "Coverage", "Gold", "Sentence", "align", "copies", "digests", "in_blocks", "split"]
