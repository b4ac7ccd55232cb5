"""Corpora: read any known format from its content, write any of them, and check what is in them.

>>> from nearspan.formats.markup import parse
>>> parse("[Ada](PER) wrote").entities[0].label
'PER'
"""

from nearspan.formats.corpus import Corpus, Place, Problem
from nearspan.formats.detection import FORMATS, Format, read, write
from nearspan.formats.statistics import Statistics, statistics
from nearspan.formats.synonyms import Synonyms

__all__ = ["FORMATS", "Corpus", "Format", "Place", "Problem", "Statistics", "Synonyms", "read", "statistics", "write"]
