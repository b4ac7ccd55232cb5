"""The follower: a model's memory in step with the one on disk, whoever edits it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nearspan.errors import EditError, ModelError
from nearspan.knn import Datastore, MemorySentence
from nearspan.knn.datastore import BASE, FILL
from nearspan.memory import Edit, Journal, Revision
from nearspan.memory.edits import Kind
from nearspan.model import Model
from nearspan.model.folder import weights_of


class MemorySync:
    """What a folder's memory holds: its base, the edits in its journal, and what they make of it.

    `take_up` gives the model what is new on disk, `make` writes an edit there. They are for one thread at a time, and
    `make` only while the journal is locked.
    """

    def __init__(self, folder: Path, model: Model, patience: float) -> None:
        self.folder = folder
        self.model = model
        self.weights = weights_of(folder)  # the model's, whatever may come to the folder later
        self.journal = Journal(folder, patience)
        self.base: Sequence[MemorySentence] = ()  # the memory without its edits
        self.edits: list[Edit] = []
        self.revision = Revision({}, {}, 0)
        self._gone: frozenset[int] = frozenset()  # what the base has forgotten
        self._state: tuple[object, ...] = ()  # of the files, when they were last read

    @property
    def behind(self) -> bool:
        """Whether the files have changed since they were last read; cheap."""
        return self.journal.state() != self._state

    def memory(self) -> Datastore:
        """The model's memory; an error where it has none."""
        if self.model.memory is None:
            raise EditError(f"{self.folder} has no memory: {FILL}")
        return self.model.memory

    def take_up(self) -> bool:
        """Read what is new on disk, without a lock: again, if it changes meanwhile. Whether there was anything."""
        changed = False
        while (state := self.journal.state()) != self._state:
            try:
                anew = state[: len(BASE)] != self._state[: len(BASE)]  # by its files: the same text may be forgotten
                changed = (state[0] is not None and self._read(anew)) or changed  # None: the folder has no memory
            except ModelError:
                if self.journal.state() == state:
                    raise
                continue
            self._state = state
        return changed

    def after(self, kind: Kind, change: Mapping[str, Any]) -> Revision:
        """What the memory would hold after one more change."""
        return self.revision.after(kind, change, self.model.remembered)

    def make(self, edit: Edit) -> None:
        """Make an edit: try it, write it, and let the model have it."""
        if edit.kind == "undo":
            revision = Revision.of(self.base, [*self.edits, edit], self.model.remembered, self._gone)
        else:
            revision = self.after(edit.kind, edit.change)
        if not revision.sentences:
            raise EditError(f"this would leave the memory empty: {FILL}")
        memory = self.revised(revision)
        self.journal.append(edit)
        self.edits.append(edit)
        self.revision, self.model.memory, self._state = revision, memory, self.journal.state()

    def revised(self, revision: Revision) -> Datastore:
        """The memory's vectors for a revision: from the one at hand, or from disk where it lacks some of the base."""
        memory = self.memory()
        same = revision.forgotten == memory.forgotten and revision.sentences.keys() == set(memory.ids)
        if same and all(
            one is revision.sentences[number] for number, one in zip(memory.ids, memory.sentences, strict=True)
        ):
            return memory
        known = set(memory.ids)
        whole = all(number in known for number in revision.sentences if number < len(self.base))
        return self.model.revised(memory if whole else self._load(), revision)

    def _read(self, anew: bool) -> bool:
        """Take the edits from disk, and the memory where it is another one."""
        edits = self.journal.read()
        if not anew and edits == self.edits:
            return False
        if anew:
            base = self._load()
            self.model.memory, self.base, self._gone = base, base.sentences, base.forgotten
        try:
            revision = Revision.of(self.base, edits, self.model.remembered, self._gone)
        except (ValueError, KeyError, TypeError) as error:
            raise ModelError(f"the edits of the memory in {self.folder} cannot be made: {error}") from error
        self.model.memory = self.revised(revision)
        self.edits, self.revision = edits, revision
        return True

    def _load(self) -> Datastore:
        memory = Datastore.load(self.folder, self.weights, self.model.labels[1:], self.model.network.max_width)
        return memory.to(self.model.device)
