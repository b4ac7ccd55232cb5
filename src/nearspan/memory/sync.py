"""A model's memory in step with the one on disk, whoever edits it."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nearspan.errors import EditError, ModelError, NearspanError
from nearspan.io.memory_files import FILES, JOURNAL, MANIFEST, NEXT, Journal, base_of
from nearspan.knn import AS_TRAINED, Datastore, MemorySentence, assemble_datastore
from nearspan.knn.datastore import OF_LABELS
from nearspan.knn.storage import NO_MEMORY, load_datastore
from nearspan.memory import receipts
from nearspan.memory.edits import Edit, Kind, Revision, read_document
from nearspan.model import Model
from nearspan.model.folder import has_memory, weights_id
from nearspan.model.span_vectors import memory_sentences


class MemorySync:
    """What a folder's memory holds: its base, the edits in its journal, and what they make of it.

    `reload` gives the model what is new on disk, `make` writes an edit there. They are for one thread at a time, and
    `make` only with the lock.
    """

    def __init__(self, folder: Path, model: Model) -> None:
        self.folder = folder
        self.model = model
        self.weights = weights_id(folder)  # the model's, whatever may come to the folder later
        self.base: Sequence[MemorySentence] = ()  # the memory without its edits
        self.edits: list[Edit] = []
        self.revision = Revision({}, {}, 0)
        self._journal: Journal | None = None
        self._base_forgotten: frozenset[int] = frozenset()
        self._base_vote = AS_TRAINED
        self.known_state: tuple[object, ...] = ()  # when it was last read
        self.previews = False  # whether edits are only looked at
        self.previewed: Datastore | None = None  # what the last of these would make of the memory

    def state(self) -> tuple[object, ...]:
        """Changes whenever the memory or its journal has changed on disk; cheap. None: a file is missing."""
        state: list[object] = []
        for name in (MANIFEST, JOURNAL):
            state.append(None)
            for path in (self.folder / name, self.folder / NEXT / name):  # of a memory that takes over
                with suppress(OSError):
                    status = path.stat()
                    state[-1] = (path.parent, status.st_ino, status.st_size, status.st_mtime_ns)
        return tuple(state)

    @property
    def base_name(self) -> str:
        """What names the memory without its edits."""
        return self._journal.manifest.base if self._journal is not None else ""

    def datastore(self) -> Datastore:
        """The model's datastore; an error where it has none."""
        if self.model.datastore is None:
            raise EditError(f"{self.folder} has no memory: {NO_MEMORY}")
        return self.model.datastore

    def reload(self) -> bool:
        """Read what is new on disk, without a lock: again, if it changes meanwhile. Whether there was anything."""
        changed = False
        while (state := self.state()) != self.known_state:
            try:
                changed = self._read() or changed
            except ModelError:
                if self.state() == state:
                    raise
                continue
            self.known_state = state
        return changed

    def after(self, kind: Kind, change: Mapping[str, Any]) -> Revision:
        """What the memory would hold after one more change."""
        if kind == "undo":
            edits = [*self.edits, Edit(len(self.edits) + 1, "", kind, "", change)]
            base = (self._base_forgotten, self._base_vote)
            return Revision.of(self.base, edits, self.model.memory_sentences, *base)
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
        if self._journal is None:
            raise EditError(f"{self.folder} has no memory: {NO_MEMORY}")
        time = datetime.now(UTC).isoformat(timespec="seconds")
        due = receipts.training_due_lines(self.revision.sentences.values(), revision.sentences.values())
        before = self.datastore()
        labels = receipts.label_lines(before.names, datastore.names, self.model.datastore_weight)
        votes = receipts.vote_lines(before.vote, datastore.vote)
        edit = Edit(len(self.edits) + 1, time, kind, summary, change, (*labels, *votes, *receipt, *due))
        if self.previews:
            self.previewed = datastore
            return edit
        self._journal.append(asdict(edit))
        self.edits.append(edit)
        self.revision, self.model.datastore, self.known_state = revision, datastore, self.state()
        return edit

    def revise(self, revision: Revision) -> Datastore:
        """The datastore of a revision: from the one at hand, or from disk where it lacks some of the base."""
        datastore = self.datastore()
        unchanged = (revision.forgotten, revision.vote) == (datastore.forgotten, datastore.vote)
        unchanged = unchanged and revision.sentences.keys() == set(datastore.ids)
        pairs = zip(datastore.ids, datastore.sentences, strict=True)
        if unchanged and all(sentence is revision.sentences[number] for number, sentence in pairs):
            return datastore
        known = set(datastore.ids)
        has_base = all(number in known for number in revision.sentences if number < len(self.base))
        return revise_datastore(self.model, datastore if has_base else self._load(), revision)

    def _read(self) -> bool:
        """Take the edits from disk, and the memory where it is another one."""
        if not has_memory(self.folder):
            return False
        journal = Journal.read(self.folder)
        anew = self._journal is None or self._journal.manifest.base != journal.manifest.base
        path = self.folder / JOURNAL
        edits = [Edit.from_line(line, number, path) for number, line in enumerate(journal.lines, start=1)]
        if not anew and edits == self.edits:
            self._journal = journal
            return False
        base, forgotten, vote, loaded = self.base, self._base_forgotten, self._base_vote, None
        if anew:
            loaded = self._load()
            base, forgotten, vote = loaded.sentences, loaded.forgotten, loaded.vote
            if base_of(self.folder) != journal.manifest.base:
                raise ModelError(
                    f"{path} and {MANIFEST} are of another memory than {' and '.join(FILES)}: put back the files that "
                    f"belong together, or keep no edit with `nearspan memory {self.folder} repair`"
                )
        try:
            revision = Revision.of(base, edits, self.model.memory_sentences, forgotten, vote)
            if loaded is None:
                datastore = self.revise(revision)
            else:
                datastore = revise_datastore(self.model, loaded, revision) if edits else loaded
        except ModelError:
            raise
        except (NearspanError, ValueError, KeyError, TypeError, IndexError) as error:
            raise ModelError(f"the edits in {path} cannot be made: {error}") from error
        self.model.datastore, self.base = datastore, base
        self._base_forgotten, self._base_vote = forgotten, vote
        self.edits, self.revision, self._journal = edits, revision, journal
        return True

    def _load(self) -> Datastore:
        suggester = self.model.network.suggester
        return load_datastore(self.folder, self.weights, self.model.trained_labels, suggester).to(self.model.device)


def load_edited(model: Model, folder: Path) -> None:
    """Give a model the memory of its folder, as edits have left it."""
    sync = MemorySync(folder, model)
    if not sync.reload():  # the head needs one, and there is none
        sync._load()


def revise_datastore(model: Model, datastore: Datastore, revision: Revision) -> Datastore:
    """A datastore after edits: vectors are taken from `datastore`, those of added documents are computed.

    They are computed again where something else is forgotten, so that they are the same whenever that was.
    """
    word_memory, model.network.metric = model.network.encoder.word_memory, datastore.metric
    if word_memory is not None:
        word_memory.mask_forgotten(revision.forgotten)
    try:
        sources = [datastore, *_added(model, datastore, revision)]
    finally:  # at once: others may be reading with this model
        model.datastore = model.datastore  # masks what it has forgotten
    if len({source.sentence_vectors.shape[1] for source in sources}) > 1:
        raise ModelError("the memory is damaged: its sentence vectors are of another size than those of this model")
    assembled = assemble_datastore(sources, revision.sentences, datastore.own_names, model.network.suggester)
    return replace(assembled, forgotten=revision.forgotten, vote=revision.vote).keep(assembled, *OF_LABELS)


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
            added.append(Datastore.of(sentences, datastore.own_names, model.network.suggester, *vectors, ids))
    return added
