"""The memory of a trained model as people edit it: predictions change at once, nothing is trained."""

from nearspan.memory.carry_edits import carry_edits
from nearspan.memory.editor import Editor
from nearspan.memory.edits import Edit
from nearspan.memory.preview import Change, Preview
from nearspan.memory.repair import repair_journal
from nearspan.memory.reweight import Weight
from nearspan.memory.sentences import SentenceView

__all__ = ["Change", "Edit", "Editor", "Preview", "SentenceView", "Weight", "carry_edits", "repair_journal"]
