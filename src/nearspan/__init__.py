"""nearspan: named entity recognition that shows its evidence.

>>> import nearspan
>>> document = nearspan.markup("[Ada](PERSON) lives in [Oslo](PLACE)")
>>> [entity.label for entity in document.entities]
['PERSON', 'PLACE']
"""

import os

# Before torch is loaded: its threads wait for each other in a loop, and for so long that nothing gets done where a core
# has other work too. With fewer turns they go to sleep; a machine at rest is as fast.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

from nearspan.config import load as recipe
from nearspan.document import Document, Entity, Span
from nearspan.encoders.train_vectors import learn_vectors
from nearspan.evaluation import evaluate, score
from nearspan.formats import read, write
from nearspan.formats import statistics as check
from nearspan.formats.markup import parse as markup
from nearspan.formats.synonyms import read as synonyms
from nearspan.model import Model
from nearspan.registry import register
from nearspan.training import train, tune

__version__ = "0.1.0"

load = Model.load

__all__ = [
    "Document",
    "Entity",
    "Model",
    "Span",
    # "audit",
    "check",
    "evaluate",
    "learn_vectors",
    "load",
    "markup",
    "read",
    "recipe",
    # "report",
    "score",
    "synonyms",
    "train",
    "tune",
    "write",
]
