"""Synonyms: names by concept, from tables, ontologies and dictionaries; and how many entities have one.

>>> from nearspan.formats.synonyms import Synonyms
>>> Synonyms([("high blood pressure", "hypertension")]).of("Hypertension")
('high blood pressure',)
"""

from nearspan.formats.synonyms.coverage import LabelCoverage, SynonymCounter, SynonymCoverage
from nearspan.formats.synonyms.reader import FORMATS, read
from nearspan.formats.synonyms.table import Synonyms, normal_form

__all__ = ["FORMATS", "LabelCoverage", "SynonymCounter", "SynonymCoverage", "Synonyms", "normal_form", "read"]
