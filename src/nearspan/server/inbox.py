"""The inbox: what annotators have saved, until the memory has it."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from pydantic import BaseModel

from nearspan.document import Document
from nearspan.errors import ConfigError, NearspanError
from nearspan.memory import Edit, Editor, Weight
from nearspan.memory.edits import standing_edits
from nearspan.server.limits import Refusal
from nearspan.server.service import ONE_WORKER, Service
from nearspan.server.worker import Pieces, Worker

logger = logging.getLogger(__name__)

WEIGHT: Weight = 8.0  # of the entities that annotators save: see benchmarks/notes/label-studio.md
Reader = Callable[[], tuple[Sequence[Document], Sequence[str]]]  # documents, and what of them cannot be remembered


class ChangesOut(BaseModel):
    """What became of saved annotations."""

    edits: list[str]
    problems: list[str]


@dataclass(eq=False)
class Change:
    """Documents that take the place of those whose names match; without documents, these are forgotten.

    What the memory holds already stays as it is, so sending the same twice changes nothing.
    """

    place: str  # whose it is, for the log
    matches: Callable[[str], object]
    read: Reader = lambda: ((), ())
    edits: list[Edit] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    error: str = ""  # why nothing, or no more, was changed
    is_done: bool = False
    _steps: Iterator[None] | None = None

    @property
    def is_begun(self) -> bool:
        """Whether some of its edits may be made, and others not yet."""
        return self._steps is not None

    def step(self, editor: Editor, weight: Weight) -> None:
        """Make the next edit; the last step finds that there is none left."""
        self._steps = self._steps or self._edit(editor, weight)
        try:
            if next(self._steps, self) is not self:
                return
        except NearspanError as error:
            self.error = str(error)
        except Exception as error:
            logger.exception("%s: not remembered", self.place)
            self.error = f"the server failed: {type(error).__name__}; its log says more"
        self.is_done = True
        for problem in [*self.problems, *([self.error] if self.error else [])]:
            logger.warning("%s: %s", self.place, problem)

    def _edit(self, editor: Editor, weight: Weight) -> Iterator[None]:
        documents, problems = self.read()
        self.problems += problems
        by_name = {document.id: document for document in documents if document.text.strip()}
        editor.check(by_name.values(), weight)  # before anything is forgotten
        for name in dict.fromkeys(filter(self.matches, _names(editor))):
            if name in by_name and _holds(editor, by_name[name]):
                del by_name[name]
            else:
                self.edits.append(editor.forget(name))
                yield
        for document in by_name.values():
            enough = weight == "enough"
            edit = editor.add(document) if enough else editor.add(document, 1.0, entity_weight=float(weight))
            self.edits.append(edit)
            self.problems += [line for line in edit.receipt if "not remembered" in line or "still misread" in line]
            yield


def _names(editor: Editor) -> list[str]:
    """The documents of the memory's sentences."""
    datastore = editor.model.datastore
    return [] if datastore is None else [sentence.document for sentence in datastore.sentences]


def _holds(editor: Editor, document: Document) -> bool:
    """Whether the memory has just this of the document's name; how often it counts does not matter."""
    datastore = editor.model.datastore
    remembered = [
        replace(sentence, weight=1.0, entity_weight=1.0, span_weights=(), carried=())
        for sentence in (datastore.sentences if datastore is not None else ())
        if sentence.document == document.id
    ]
    return remembered == editor.model.memory_sentences(document)


class Inbox:
    """Changes that the memory has yet to take in. Whoever asks the model next for an annotator makes them first.

    They are made one after the other by the worker's thread, and are not lost where the tool that sent them does not
    wait for the answer. The entities of what is remembered count as often as `weight` says. After each `train_every`
    edits the model is trained again.
    """

    def __init__(
        self,
        service: Service,
        worker: Worker,
        weight: Weight = WEIGHT,
        train_every: int = 0,
        may_train: bool = True,
    ) -> None:
        if train_every and not may_train:
            raise ConfigError(f"`train_every` is for one worker; {ONE_WORKER}")
        self.service, self.worker, self.weight = service, worker, weight
        self.train_every, self.may_train = train_every, may_train
        self._trained = 0  # how many edits there were when training began
        self._changes: deque[Change] = deque()
        self._tasks: set[asyncio.Task[ChangesOut]] = set()

    def train(self) -> None:
        """Train the model again, in the background; where it is ready, what is asked next is asked of the new one."""
        if not self.may_train:
            raise Refusal(409, ONE_WORKER)
        self.service.train()
        self._trained = len(standing_edits(self.service.memory.log()))

    def apply(self) -> Pieces[None]:
        """Make all changes, with a model that was trained meanwhile, and train again where that is due."""
        if not (self._changes and self._changes[0].is_begun) and self.service.take_trained():
            self._trained = 0
        yield from self._make_changes()
        edits = len(standing_edits(self.service.memory.log())) if self.train_every else 0
        self._trained = min(self._trained, edits)  # a review may have gone on with the trained model
        if self.train_every and edits - self._trained >= self.train_every and not self.service.is_training:
            self.train()

    def _make_changes(self) -> Pieces[None]:
        """Make all changes, an edit at a time."""
        while self._changes:
            change = self._changes[0]
            change.step(self.service.memory, self.weight)
            if change.is_done:
                self._changes.popleft()
            else:
                yield

    async def deliver(self, client: str, changes: Sequence[Change]) -> ChangesOut:
        """Have changes made; they are, sooner or later, even where the client leaves or the answer is late."""
        self._changes.extend(changes)
        task = asyncio.create_task(self.worker.answer(client, ChangesOut, lambda: self._report(changes)))
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        return await asyncio.shield(task)

    def finish(self) -> None:
        """Make what is left, after the worker has ended."""
        for _ in self._make_changes():
            pass

    def _report(self, changes: Sequence[Change]) -> Pieces[ChangesOut]:
        yield from self.apply()
        for change in changes:
            if change.error:
                raise Refusal(422, f"{change.place}: {change.error}")
        return ChangesOut(
            edits=[edit.summary for change in changes for edit in change.edits],
            problems=[f"{change.place}: {problem}" for change in changes for problem in change.problems],
        )

    def _forget(self, task: asyncio.Task[ChangesOut]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # its client has heard of it, or has left
