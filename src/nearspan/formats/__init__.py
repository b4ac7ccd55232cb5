"""Corpora: read any known format from its content, write any of them, and check what is in them.

>>> from nearspan.formats.markup import parse
>>> parse("[Ada](PER) wrote").entities[0].label
'PER'
"""

from nearspan.formats.corpus import Corpus, Problem
from nearspan.formats.document_stream import Stream
from nearspan.formats.files import Documents, as_documents, as_stream, known_formats, read, stream, write
from nearspan.formats.format import Format
from nearspan.formats.split import split
from nearspan.formats.statistics import Statistics, statistics
from nearspan.formats.synonyms import Synonyms

__all__ = [
    "Corpus",
    "Documents",
    "Format",
    "Problem",
    "Statistics",
    "Stream",
    "Synonyms",
    "as_documents",
    "as_stream",
    "known_formats",
    "read",
    "split",
    "statistics",
    "stream",
    "write",
]
