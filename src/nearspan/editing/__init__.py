"""Editing the memory of a trained model: predictions change at once, nothing is trained."""

from nearspan.editing.editor import Editor
from nearspan.editing.enough import Weight
from nearspan.editing.sentences import MemorySentence
from nearspan.memory import Edit

__all__ = ["Edit", "Editor", "MemorySentence", "Weight"]
