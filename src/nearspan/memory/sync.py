"""A model's memory in step with the one on disk, whoever edits it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nearspan.errors import EditError, ModelError, NearspanError
from nearspan.knn import Datastore, MemorySentence, assemble_datastore
from nearspan.knn.storage import FILES, NO_MEMORY, load_datastore
from nearspan.memory.edits import Edit, Kind, Revision, read_document
from nearspan.memory.journal import PATIENCE, Journal
from nearspan.model import Model
from nearspan.model.folder import weights_id
from nearspan.model.span_vectors import memory_sentences


class MemorySync:
    """What a folder's memory holds: its base, the edits in its journal, and what they make of it.

    `reload` gives the model what is new on disk, `make` writes an edit there. They are for one thread at a time, and
    `make` only while the journal is locked.
    """

    def __init__(self, folder: Path, model: Model, patience: float = PATIENCE) -> None:
        self.folder = folder
        self.model = model
        self.weights = weights_id(folder)  # the model's, whatever may come to the folder later
        self.journal = Journal(folder, patience)
        self.base: Sequence[MemorySentence] = ()  # the memory without its edits
        self.edits: list[Edit] = []
        self.revision = Revision({}, {}, 0)
        self._base_forgotten: frozenset[int] = frozenset()
        self._state: tuple[object, ...] = ()  # of the files, when they were last read

    @property
    def is_behind(self) -> bool:
        """Whether the files have changed since they were last read; cheap."""
        return self.journal.state() != self._state

    def datastore(self) -> Datastore:
        """The model's datastore; an error where it has none."""
        if self.model.datastore is None:
            raise EditError(f"{self.folder} has no memory: {NO_MEMORY}")
        return self.model.datastore

    def reload(self) -> bool:
        """Read what is new on disk, without a lock: again, if it changes meanwhile. Whether there was anything."""
        changed = False
        while (state := self.journal.state()) != self._state:
            try:
                anew = state[: len(FILES)] != self._state[: len(FILES)]  # by its files: the same text may be forgotten
                changed = (state[0] is not None and self._read(anew)) or changed  # None: the folder has no memory
            except ModelError:
                if self.journal.state() == state:
                    raise
                continue
            self._state = state
        return changed

    def after(self, kind: Kind, change: Mapping[str, Any]) -> Revision:
        """What the memory would hold after one more change."""
        if kind == "undo":
            edits = [*self.edits, Edit(len(self.edits) + 1, "", kind, "", change)]
            return Revision.of(self.base, edits, self.model.memory_sentences, self._base_forgotten)
        return self.revision.after(kind, change, self.model.memory_sentences)

    def make(
        self,
        kind: Kind,
        summary: str,
        change: Mapping[str, Any],
        receipt: Sequence[str],
        revision: Revision,
        datastore: Datastore,
    ) -> Edit:
        """Write an edit, now, and let the model have what it makes of the memory."""
        time = datetime.now(UTC).isoformat(timespec="seconds")
        edit = Edit(len(self.edits) + 1, time, kind, summary, change, tuple(receipt))
        self.journal.append(edit)
        self.edits.append(edit)
        self.revision, self.model.datastore, self._state = revision, datastore, self.journal.state()
        return edit

    def revise(self, revision: Revision) -> Datastore:
        """The datastore of a revision: from the one at hand, or from disk where it lacks some of the base."""
        datastore = self.datastore()
        unchanged = revision.forgotten == datastore.forgotten and revision.sentences.keys() == set(datastore.ids)
        pairs = zip(datastore.ids, datastore.sentences, strict=True)
        if unchanged and all(sentence is revision.sentences[number] for number, sentence in pairs):
            return datastore
        known = set(datastore.ids)
        has_base = all(number in known for number in revision.sentences if number < len(self.base))
        return revise_datastore(self.model, datastore if has_base else self._load(), revision)

    def _read(self, anew: bool) -> bool:
        """Take the edits from disk, and the memory where it is another one."""
        edits = self.journal.read()
        if not anew and edits == self.edits:
            return False
        if anew:
            base = self._load()
            self.model.datastore, self.base, self._base_forgotten = base, base.sentences, base.forgotten
        try:
            revision = Revision.of(self.base, edits, self.model.memory_sentences, self._base_forgotten)
            self.model.datastore = self.revise(revision)
        except ModelError:
            raise
        except (NearspanError, ValueError, KeyError, TypeError) as error:
            raise ModelError(f"the edits of the memory in {self.folder} cannot be made: {error}") from error
        self.edits, self.revision = edits, revision
        return True

    def _load(self) -> Datastore:
        suggester = self.model.network.suggester
        return load_datastore(self.folder, self.weights, self.model.labels[1:], suggester).to(self.model.device)


def load_edited(model: Model, folder: Path) -> None:
    """Give a model the memory of its folder, as edits have left it."""
    sync = MemorySync(folder, model)
    if not sync.reload():  # the head needs one, and there is none
        sync._load()


def revise_datastore(model: Model, datastore: Datastore, revision: Revision) -> Datastore:
    """A datastore after edits: vectors are taken from `datastore`, those of added documents are computed.

    They are computed again where something else is forgotten, so that they are the same whenever that was.
    """
    word_memory = model.network.encoder.word_memory
    if word_memory is not None:
        word_memory.mask_forgotten(revision.forgotten)
    try:
        sources = [datastore, *_added(model, datastore, revision)]
    finally:  # at once: others may be reading with this model
        model.datastore = model.datastore  # masks what it has forgotten
    assembled = assemble_datastore(sources, revision.sentences, model.labels[1:], model.network.suggester)
    return replace(assembled, forgotten=revision.forgotten)


def _added(model: Model, datastore: Datastore, revision: Revision) -> list[Datastore]:
    """A datastore for each added document that has sentences which `datastore` lacks."""
    known = set(datastore.ids) if datastore.forgotten == revision.forgotten else set()
    added = []
    for first, (content, count) in revision.added.items():
        ids = range(first, first + count)
        if any(number in revision.sentences and number not in known for number in ids):
            labelled = model.label_documents([read_document(content)])
            vectors = model.span_vectors(model.encode(labelled.sentences))
            sentences = memory_sentences(labelled)
            added.append(Datastore.of(sentences, model.labels[1:], model.network.suggester, *vectors, ids))
    return added
