"""The memory of a trained model as people edit it: predictions change at once, nothing is trained."""

from nearspan.memory.edits import Edit, Revision
from nearspan.memory.journal import Journal

__all__ = ["Edit", "Journal", "Revision"]
