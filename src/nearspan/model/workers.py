"""Workers: processes that predict with one model, each on one core.

The model is written once, for a while, in a file that all workers map: they share its weights and its memory's vectors.
Documents go to them in parts and come back in order. No more parts are under way than keep the workers busy.
"""

from __future__ import annotations

import logging
import pickle
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from itertools import chain
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import torch

from nearspan.device import usable_cores
from nearspan.document import Document, Entity
from nearspan.errors import ConfigError, NearspanError, first_line
from nearspan.model.predict import Predictor
from nearspan.model.thresholds import Threshold
from nearspan.processes import Child, ProcessDied

if TYPE_CHECKING:
    from nearspan.model.model import Model

logger = logging.getLogger(__name__)

CHARACTERS = 30_000  # of the documents of a part
PARTS = 3  # under way for each worker: one that it reads, one that waits, one that is done too early
START = 5.0  # seconds that workers take to start, more or less: see benchmarks/scaling.py
ATTEMPTS = 2  # at a part that kills its worker

Part = list[Document]


class Workers:
    """Processes that predict with a model as it is now; what becomes of it later does not reach them.

        with closing(Workers(model, 4)) as workers:
            for document in workers.annotate(documents): ...

    A worker that dies is started again and reads its part again. A part that kills two workers is an error.
    """

    def __init__(self, model: Model, count: int, threshold: Threshold | None = None) -> None:
        self._count, self._threshold = count, threshold
        self._is_closed = False
        self._room = TemporaryDirectory(prefix="nearspan-", ignore_cleanup_errors=True)
        self._snapshot = Path(self._room.name) / "model.pt"
        try:
            save_snapshot(model, self._snapshot)
            self._children = {number: self._start() for number in range(count)}
        except BaseException:
            self._room.cleanup()
            raise
        self._free: SimpleQueue[int] = SimpleQueue()
        for number in self._children:
            self._free.put(number)
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="nearspan-worker")

    def annotate(self, documents: Iterable[Document | str]) -> Iterator[Document]:
        """The documents with their entities, in order; reads on only as results are taken."""
        under_way: deque[tuple[Part, Future[list[tuple[Entity, ...]]]]] = deque()
        first = 0
        for part in parts(documents):
            under_way.append((part, self._threads.submit(self._predict, part, first)))
            first += len(part)
            while len(under_way) >= PARTS * self._count or under_way[0][1].done():
                yield from _merge(*under_way.popleft())
                if not under_way:
                    break
        while under_way:
            yield from _merge(*under_way.popleft())

    def wait_until_ready(self) -> None:
        """Wait until all have the model; raise what hinders one."""
        for child in self._children.values():
            child.wait_until_ready()

    def close(self) -> None:
        """End all workers at once."""
        self._is_closed = True
        for child in list(self._children.values()):
            child.close()
        self._threads.shutdown(cancel_futures=True)
        self._room.cleanup()

    def _start(self) -> Child:
        return Child(f"{__name__}:Annotator", str(self._snapshot), self._threshold)

    def _predict(self, part: Part, first: int) -> list[tuple[Entity, ...]]:
        """The entities of each document of a part; it is given to a new worker where the first one dies of it."""
        number = self._free.get()
        try:
            for _ in range(ATTEMPTS):
                child = self._children[number]
                child.wait_until_ready()
                try:
                    entities: list[tuple[Entity, ...]] = child.ask(part, first)
                    return entities
                except ProcessDied as error:
                    if self._is_closed:
                        raise
                    child.close()
                    self._children[number] = self._start()
                    died = error
            last = first + len(part)
            raise NearspanError(
                f"{died}, twice, at documents {first + 1:,} to {last:,} ({part[0].id!r} to {part[-1].id!r}): they may "
                "need more memory than there is. Read them alone, or with fewer workers"
            ) from died
        finally:
            self._free.put(number)


class Annotator:
    """What a worker does: predict the entities of the documents of a part."""

    def __init__(self, snapshot: str, threshold: Threshold | None) -> None:
        torch.set_num_threads(1)
        self.predictor = Predictor(load_snapshot(Path(snapshot)), threshold)

    def __call__(self, part: Part, first: int) -> list[tuple[Entity, ...]]:
        """The entities of each document; an error names the document, whose number in all is `first` or later."""
        try:
            return [document.entities for document in self.predictor.annotate(part)]
        except Exception:
            for number, document in enumerate(part, first + 1):
                try:
                    list(self.predictor.annotate([document]))
                except Exception as error:
                    error.add_note(f"at document {number:,} (id {document.id!r})")
                    raise
            raise


def predict_documents(
    model: Model, documents: Iterable[Document | str], count: int | None = None, threshold: Threshold | None = None
) -> Iterator[Document]:
    """Documents with their entities, in order, by `count` workers; without a count by as many as the work is worth.

    It is worth the start of workers where this process has spent as long on the first documents, or would take much
    longer for all, and where it may use several cores.
    """
    if count is not None and count < 1:
        raise ConfigError(f"`workers` is {count}: one at least works, which is this process itself")
    if count is None and (model.device.type != "cpu" or usable_cores() == 1):
        count = 1
    if count == 1:
        yield from Predictor(model, threshold).annotate(documents)
        return
    if count is None:
        count, rest = usable_cores(), parts(documents)
        yield from _begin(Predictor(model, threshold), rest, len(documents) if isinstance(documents, Sized) else None)
        ahead = next(rest, None)
        if ahead is None:
            return
        documents = chain(ahead, chain.from_iterable(rest))
        try:
            workers = Workers(model, count, threshold)
        except ConfigError as error:  # nobody has asked for them
            logger.warning("one core does all the work: %s", error)
            yield from Predictor(model, threshold).annotate(documents)
            return
    else:
        workers = Workers(model, count, threshold)
    with closing(workers):
        yield from workers.annotate(documents)


def _begin(predictor: Predictor, rest: Iterator[Part], total: int | None) -> Iterator[Document]:
    """Predict the first parts here, until the start of workers is worth it."""
    spent, done = 0.0, 0
    for part in rest:
        began = time.perf_counter()
        annotated = list(predictor.annotate(part))
        spent += time.perf_counter() - began
        done += len(part)
        yield from annotated
        left = spent * (total - done) / done if total is not None else spent
        if left > (2 * START if total is not None else START):
            return


def parts(documents: Iterable[Document | str]) -> Iterator[Part]:
    """Documents in parts of some characters, the same however many workers there are.

    >>> [len(part) for part in parts(["a" * 20_000, "b" * 20_000, "c"])]
    [2, 1]
    """
    part: Part = []
    size = 0
    for text in documents:
        document = text if isinstance(text, Document) else Document(text)
        part.append(document)
        size += len(document.text)
        if size >= CHARACTERS:
            yield part
            part, size = [], 0
    if part:
        yield part


def save_snapshot(model: Model, path: Path) -> None:
    """Write a model as it is, with its editor if it has one, for processes of this program; else there is `save`."""
    precision = model.network.precision
    advice = "put it in a module of its own, or use `workers=1`"
    parts = (model.network.suggester, *model.network.modules())
    if local := next((type(part).__name__ for part in parts if type(part).__module__ == "__main__"), ""):
        raise ConfigError(f"other processes do not know {local}, a part of this model: {advice}")
    try:
        model.network.set_precision("float32")  # other weights are made of these again
        torch.save((precision, model), path)
    except (AttributeError, TypeError, pickle.PicklingError) as error:
        raise ConfigError(
            f"this model cannot be given to other processes: {error}. A part of it is perhaps defined in a function or "
            f"in a notebook: {advice}"
        ) from error
    except (OSError, RuntimeError) as error:  # the latter is torch's where a disk is full
        raise ConfigError(
            f"this model cannot be given to other processes, as {path.parent} cannot hold it: {first_line(error)}. Set "
            "TMPDIR to a folder that can, or use `workers=1`"
        ) from error
    finally:
        model.network.set_precision(precision)


def load_snapshot(path: Path) -> Model:
    """The model of a snapshot, its tensors mapped and not read: all processes that have it share them."""
    precision, model = torch.load(path, mmap=True, weights_only=False)
    model.network.set_precision(precision)
    loaded: Model = model
    return loaded


def _merge(part: Sequence[Document], entities: Future[list[tuple[Entity, ...]]]) -> Iterator[Document]:
    for document, of_document in zip(part, entities.result(), strict=True):
        yield document.with_entities(of_document)
