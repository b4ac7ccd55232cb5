"""Corpora: read any known format from its content, write any of them, and check what is in them.

>>> from nearspan.corpora.markup import parse
>>> parse("[Ada](PER) wrote").entities[0].label
'PER'
"""

from nearspan.corpora.check import Statistics, statistics
from nearspan.corpora.corpus import Corpus, Place, Problem
from nearspan.corpora.formats import FORMATS, Format, read, write
from nearspan.corpora.synonyms import Synonyms

__all__ = ["FORMATS", "Corpus", "Format", "Place", "Problem", "Statistics", "Synonyms", "read", "statistics", "write"]
