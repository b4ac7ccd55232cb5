"""Corpora: read any known format from its content, write any of them, and check what is in them.

>>> from nearspan.formats.markup import parse
>>> parse("[Ada](PER) wrote").entities[0].label
'PER'
"""

from nearspan.formats.corpus import Corpus, Problem
from nearspan.formats.files import Documents, as_documents, known_formats, read, write
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
    "Synonyms",
    "as_documents",
    "known_formats",
    "read",
    "split",
    "statistics",
    "write",
]
