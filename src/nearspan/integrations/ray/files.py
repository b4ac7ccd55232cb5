"""Files and folders of texts on a cluster: one output for each, whatever becomes of workers, nodes and the job."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import ray
import ray.data

from nearspan.errors import ConfigError, CorpusError
from nearspan.formats.jsonl import json_line
from nearspan.integrations.ray.cluster import device_of, pool, small_blocks, usable_workers
from nearspan.integrations.ray.inputs import Input, find_inputs
from nearspan.integrations.ray.job import FAILED, Job, job_digest
from nearspan.integrations.ray.reading import Part, Piece, Row, from_json, pieces_of, read_pieces, reason_of
from nearspan.integrations.ray.storage import Place
from nearspan.integrations.ray.workers import Worker, send
from nearspan.io.paths import display_path
from nearspan.model import Model
from nearspan.model.thresholds import Threshold
from nearspan.progress import progress

logger = logging.getLogger(__name__)

READERS = 4  # tasks that read at once
MOST = 3  # attempts at a part that kills its worker


@dataclass(frozen=True)
class Outcome:
    """What became of a job: its outputs, and the inputs that failed, each with the reason."""

    outputs: list[str]
    failed: dict[str, str] = field(default_factory=dict)
    texts: int = 0  # that were annotated by this job; others were done before
    entities: int = 0


def annotate_files(
    model: Model,
    inputs: Iterable[str | Path],
    out: str | Path,
    *,
    workers: int | None = None,
    gpus: float = 0,
    threshold: Threshold | None = None,
    format: str | None = None,
    force: bool = False,
) -> Outcome:
    """Annotate files and folders of texts on the cluster that Ray is connected to: `out/a.jsonl` for `in/a.parquet`.

        with cluster("auto"):
            outcome = annotate_files(model, ["in/*.parquet", "letters/"], "out/")

    Addresses and patterns are paths or what fsspec knows, as `s3://bucket/in/*.jsonl`. Where the job was stopped, the
    same call goes on. An input that cannot be read, or that kills its worker again and again, does not stop the others:
    it is in `failed`, in `out/failed.jsonl`, and its turn comes again with the next call.

    Args:
        workers: how many, each on one core; all cores of the cluster if not given.
        gpus: what each worker has of a GPU: 1 for one of its own.
        threshold: leave out entities with lower scores; the model's own if not given.
        format: of the files; found from the content if not given, as everywhere.
        force: annotate anew what another model has annotated before.
    """
    if not ray.is_initialized():
        raise ConfigError("Ray is not connected to a cluster: call `ray.init()`, or use `cluster()`")
    job, sources = Job(Place.of(str(out))), find_inputs(map(str, inputs))
    _refuse_overlap(job, sources)
    left = job.begin(sources, job_digest(model, threshold, format), force)
    state = _State(job, left)
    if left:
        pieces = [
            piece
            for number, source in enumerate(left)
            for piece in _left_of(job, number, source, format, model.classifies_given_spans)
        ]
        state.expect(pieces)
        _run(model, state, pieces, workers, gpus, threshold)
    failed = state.failed()
    job.end(failed)
    outputs = [job.output(each.output).address for each in sources if display_path(each.address) not in failed]
    return Outcome(outputs, failed, state.texts, state.entities)


def _refuse_overlap(job: Job, sources: list[Input]) -> None:
    """No output may be written over an input, nor into a folder that is read."""
    read = {source.address for source in sources}
    for source in sources:
        if source.output == FAILED:
            raise CorpusError(f"{source.address} would be written to {FAILED}, which lists what failed: rename it")
        output = job.output(source.output).address
        if any(above in read for above in accumulate(output.split("/"), "{}/{}".format)):
            raise CorpusError(f"{output} would be among the files that are read: name another folder")


def _left_of(job: Job, number: int, source: Input, format: str | None, with_entities: bool) -> Iterator[Piece]:
    done = job.done(source.output)
    for piece in pieces_of(number, source, format, with_entities=with_entities):
        yield Piece(**asdict(piece) | {"done": done.get(piece.number, [])})


def _run(
    model: Model, state: _State, pieces: list[Piece], workers: int | None, gpus: float, threshold: Threshold | None
) -> None:
    count = usable_workers(workers, gpus)
    sent = send(model)  # it is there until all is done: a worker that is started again asks for it
    with small_blocks(), progress() as advance:
        items = ray.data.from_items([piece.to_row() for piece in pieces], override_num_blocks=len(pieces))
        parts = items.map_batches(
            partial(read_pieces, job=state.job, inputs=state.inputs),
            batch_size=1,
            num_cpus=0,
            compute=ray.data.TaskPoolStrategy(size=min(READERS, len(pieces))),
        )
        results = parts.map_batches(
            _PartAnnotator,
            batch_size=1,
            fn_constructor_args=(sent, threshold, device_of(gpus), state.job, state.inputs),
            compute=pool(count),
            num_cpus=1,
            num_gpus=gpus,
        )
        for row in results.iter_rows():
            state.note(row)
            advance("annotating texts", int(row["texts"]), state.texts)
        state.wait()


class _PartAnnotator:
    """Annotates parts, and writes each where it belongs before it says so."""

    def __init__(
        self, sent: list[Any], threshold: Threshold | None, device: str, job: Job, inputs: list[Input]
    ) -> None:
        self.worker = Worker(sent, threshold, device)
        self.job, self.inputs = job, inputs

    def __call__(self, batch: dict[str, Any]) -> Row:
        part = Part.from_row({name: values[0] for name, values in batch.items()})
        result: dict[str, Any] = asdict(part) | {"documents": "", "texts": 0, "entities": 0}
        if part.documents:
            try:
                result |= self._annotate(part)
            except Exception as error:  # of a text: it costs its file, and no other
                result["error"] = reason_of(error)
        return {name: [value] for name, value in result.items()}

    def _annotate(self, part: Part) -> dict[str, int]:
        output, groups = self.inputs[part.input].output, from_json(part.documents)
        what = f"the part from document {groups[0][0].id!r} to {groups[-1][-1].id!r}"
        with self.job.attempt(output, f"{part.piece}-{part.number}", what, MOST):
            annotated = [
                document.with_entities(entities)
                for group in groups
                for document, entities in zip(group, self.worker.entities(group), strict=True)
            ]
        place = self.job.part(output, part.piece, part.number)
        place.write((json_line(document) + "\n").encode() for document in annotated)
        return {"texts": len(annotated), "entities": sum(document.entity_count for document in annotated)}


class _State:
    """Which parts of the inputs are done, and what went wrong."""

    def __init__(self, job: Job, inputs: list[Input]) -> None:
        self.job, self.inputs = job, inputs
        self.texts = self.entities = 0
        self._ends: dict[int, dict[int, int | None]] = {}  # how many parts each piece of an input has, once it is known
        self._done: dict[int, set[tuple[int, int]]] = {}
        self._errors: dict[int, str] = {}
        self._joining: dict[Any, int] = {}

    def expect(self, pieces: Iterable[Piece]) -> None:
        """Note that the inputs have these pieces."""
        for piece in pieces:
            self._ends.setdefault(piece.input, {})[piece.number] = None

    def note(self, row: dict[str, Any]) -> None:
        """Take the result of a part, or the end of a piece; an input of which all is done gets its output."""
        part = Part.from_row(row)
        self.texts += int(row["texts"])
        self.entities += int(row["entities"])
        for problem in part.problems.splitlines():
            logger.warning("%s", problem)
        if part.error:
            self._errors.setdefault(part.input, part.error)
        elif part.is_end:
            self._ends[part.input][part.piece] = part.number
        else:
            self._done.setdefault(part.input, set()).add((part.piece, part.number))
        counts = self._counts(part.input)
        if counts is not None and len(self._done.get(part.input, ())) == sum(counts):
            finish = _finish.options(num_cpus=0, max_retries=-1)
            self._joining[finish.remote(self.job, self.inputs[part.input].output, counts)] = part.input

    def wait(self) -> None:
        """Wait until all outputs are joined."""
        for joining, number in self._joining.items():
            try:
                ray.get(joining)
            except Exception as error:
                self._errors[number] = f"its parts could not be joined: {error}"

    def failed(self) -> dict[str, str]:
        """The inputs that have no output, each with the reason."""
        reasons = {}
        for number, source in enumerate(self.inputs):
            if number in self._errors:
                reasons[source.address] = self._errors[number]
            elif number not in self._joining.values():
                reasons[source.address] = "Ray gave up on a part of it: its log says why"
        return {display_path(address): reason for address, reason in reasons.items()}

    def _counts(self, number: int) -> list[int] | None:
        counts = [count for _, count in sorted(self._ends[number].items())]
        return None if number in self._errors or None in counts else [count or 0 for count in counts]


@ray.remote
def _finish(job: Job, output: str, counts: list[int]) -> None:
    job.finish(output, counts)
