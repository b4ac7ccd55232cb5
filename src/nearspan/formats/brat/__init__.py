"""brat standoff: a `.txt` with the text and an `.ann` with the annotations, offsets in characters.

Text-bound annotations (`T1<tab>ADR 9 19;25 30<tab>the text`) are read; relations, events, attributes,
normalisations and notes are left out; a line that has not the shape of what its first letter says is listed. The
text is taken exactly as it is, line ends included. If the `.txt` has a byte order mark or CRLF line ends, the
reading (with or without the mark, CRLF as two characters or one) that most annotations agree with is used.
"""

from nearspan.formats.brat.reader import detect, read
from nearspan.formats.brat.writer import write
from nearspan.formats.format import Format

__all__ = ["FORMAT", "detect", "read", "write"]

FORMAT = Format("brat", read, detect, write, endings=("",), folder=True)
