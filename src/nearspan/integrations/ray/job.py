"""The folder of the results: what is done, what is begun, and by which model.

    out/a.jsonl                             the documents of in/a.parquet, once all of them are annotated
    out/failed.jsonl                        the inputs that could not be annotated, each with the reason
    out/.nearspan/job.json                  the model and its settings, and the inputs as they were
    out/.nearspan/parts/a.jsonl/0-3.jsonl   a part of an input whose other parts are under way
    out/.nearspan/attempts/a.jsonl/0-4/...  a file for each time that a part was begun and not ended

A part has one name, whoever annotates it and however often, and is there whole or not at all: so is each output, which
is joined from its parts. What a stopped job has left is taken by the next one, for inputs that have not changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from hashlib import sha256
from typing import Any
from uuid import uuid4

from torch import Tensor

from nearspan.errors import CorpusError, NearspanError
from nearspan.formats.json_values import to_line
from nearspan.integrations.ray.inputs import Input
from nearspan.integrations.ray.storage import Place
from nearspan.io.tensors import digest_of
from nearspan.model import Model
from nearspan.model.thresholds import Threshold

FOLDER = ".nearspan"
JOB = f"{FOLDER}/job.json"
PARTS = f"{FOLDER}/parts"
ATTEMPTS = f"{FOLDER}/attempts"
FAILED = "failed.jsonl"


@dataclass(frozen=True)
class Job:
    """A folder that results are written to."""

    place: Place

    def begin(self, inputs: list[Input], model: str, force: bool) -> list[Input]:
        """Note what is annotated by which model; the inputs that are left to do.

        What there is of other models is an error, unless `force` says to begin anew.
        """
        job = self.place / JOB
        before: dict[str, Any] = json.loads(job.read()) if job.exists() else {"model": model, "inputs": {}}
        if before["model"] != model and not force:
            raise CorpusError(
                f"{self.place.address} holds results of another model, or of other settings: name another folder, or "
                "say `force` to annotate everything anew"
            )
        marks = {each.output: [each.address, each.place.mark()] for each in inputs}
        known = before["inputs"] if before["model"] == model else {}
        for each in inputs:
            output = self.output(each.output)
            if known.get(each.output) == marks[each.output]:
                continue
            if output.exists() and each.output not in before["inputs"] and not force:
                raise CorpusError(f"{output.address} exists already: name another folder, or say `force`")
            output.remove()
            self._parts(each.output).remove()
        (self.place / ATTEMPTS).remove()
        job.write([json.dumps({"model": model, "inputs": known | marks}, indent=1).encode()])
        return [each for each in inputs if not self.output(each.output).exists()]

    def output(self, name: str) -> Place:
        """Where an output is to be."""
        return self.place / name

    def part(self, output: str, piece: int, number: int) -> Place:
        """Where a part of an output is to be."""
        return self._parts(output) / f"{piece}-{number}.jsonl"

    @contextmanager
    def attempt(self, output: str, name: str, what: str, most: int) -> Iterator[None]:
        """Do something that may kill this process; an error where it has killed so many others before."""
        attempts = self.place / f"{ATTEMPTS}/{output}/{name}"
        if attempts.exists() and len(attempts.names()) >= most:
            raise NearspanError(
                f"{what} has killed {most} processes, or their nodes have died: it may need more memory than there is"
            )
        begun = attempts / uuid4().hex
        begun.write([])
        try:
            yield
        finally:
            begun.remove()

    def done(self, output: str) -> dict[int, list[int]]:
        """The parts of an output that are there, by piece."""
        done: dict[int, list[int]] = {}
        parts = self._parts(output)
        for name in parts.names() if parts.exists() else ():
            if name.endswith(".jsonl") and not name.startswith("."):
                piece, _, number = name.removesuffix(".jsonl").partition("-")
                done.setdefault(int(piece), []).append(int(number))
        return done

    def finish(self, output: str, counts: list[int]) -> None:
        """Join an output from its parts, so many of each piece."""
        parts = [self.part(output, piece, number) for piece, count in enumerate(counts) for number in range(count)]
        if not self.output(output).exists():  # else somebody has joined it, and died while its parts were removed
            self.output(output).join(parts)
        self._parts(output).remove()

    def end(self, failed: dict[str, str]) -> None:
        """List the inputs that failed; nothing is left of the parts where none did."""
        (self.place / ATTEMPTS).remove()
        if failed:
            lines = (to_line({"input": address, "error": reason}) + "\n" for address, reason in failed.items())
            (self.place / FAILED).write(line.encode("utf-8", "replace") for line in lines)
            return
        (self.place / FAILED).remove()
        (self.place / PARTS).remove()

    def _parts(self, output: str) -> Place:
        return self.place / f"{PARTS}/{output}"


def job_digest(model: Model, threshold: Threshold | None, format: str | None = None) -> str:
    """What changes with anything that results depend on beside their inputs."""
    datastore = model.datastore
    tensors = dict(model.network.state_dict())
    about: list[Any] = [model.recipe.model_dump(mode="json"), model.labels, model.overlap, model.linked_overlap]
    about += [model.thresholds, threshold, model.network.precision, format]
    about.append(model.calibration.to_dict() if model.calibration is not None else None)
    if datastore is not None:
        values = {field.name: getattr(datastore, field.name) for field in fields(datastore)}
        tensors |= {f"memory.{name}": value for name, value in values.items() if isinstance(value, Tensor)}
        about += [list(datastore.ids), sorted(datastore.forgotten)]
    return sha256(json.dumps([digest_of(tensors), *about]).encode()).hexdigest()[:16]
