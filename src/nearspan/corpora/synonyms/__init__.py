"""Synonyms: names by concept, from tables, ontologies and dictionaries; and how many entities have one.

>>> from nearspan.corpora.synonyms import Synonyms
>>> Synonyms([("high blood pressure", "hypertension")]).of("Hypertension")
('high blood pressure',)
"""

from nearspan.corpora.synonyms.coverage import LabelCoverage, SynonymCoverage, coverage
from nearspan.corpora.synonyms.formats import FORMATS, read
from nearspan.corpora.synonyms.normal import normalised
from nearspan.corpora.synonyms.table import Synonyms

__all__ = ["FORMATS", "LabelCoverage", "SynonymCoverage", "Synonyms", "coverage", "normalised", "read"]
