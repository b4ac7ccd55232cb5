"""Replicas of a service: processes that answer questions from the same weights and the same memory.

They map one snapshot of the model and its memory, and take up each edit from the memory's journal before they answer:
what an editor was told is done, all of them know.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from pydantic import BaseModel

from nearspan.model.workers import load_snapshot, save_snapshot
from nearspan.processes import Child, ProcessDied
from nearspan.server.service import Service
from nearspan.server.worker import Pieces, Question


def start_replicas(service: Service, number: int) -> list[Replica]:
    """So many replicas of a service, ready to answer; they share the tensors of its model."""
    room = TemporaryDirectory(prefix="nearspan-", ignore_cleanup_errors=True)
    save_snapshot(service.model, Path(room.name) / "model.pt")
    replicas = [Replica(room) for _ in range(number)]
    try:
        for replica in replicas:
            replica.child.wait_until_ready()
    except BaseException:
        for replica in replicas:
            replica.close()
        raise
    return replicas


class Replica:
    """A process that answers; it is started again where it dies. For one thread."""

    def __init__(self, room: TemporaryDirectory[str]) -> None:
        self._room = room  # is removed with the last of its replicas
        self._numbers = count()
        self._dropped: list[int] = []  # questions whose answers nobody waits for any more
        self.child = self._start()

    def begin(self, schema: type[BaseModel], question: Question) -> Pieces[str]:
        """The answer to a question as JSON, in pieces."""
        number, is_open, child = next(self._numbers), True, self.child
        try:
            answer = self._ask("begin", number, schema, question)
            while answer is None:
                yield
                if child is not self.child:
                    raise ProcessDied("a worker process has ended with all that it had begun")
                answer = self._ask("step", number)
            is_open = False
            return str(answer)
        finally:
            if is_open:
                self._dropped.append(number)

    def annotate_together(self, schema: type[BaseModel], batch: Sequence[Sequence[str]]) -> list[str]:
        """The answers to several questions about texts, which are read together."""
        answers: list[str] = self._ask("annotate_together", schema, batch)
        return answers

    def close(self) -> None:
        """End the process."""
        self.child.close()

    def _ask(self, name: str, *arguments: Any) -> Any:
        dropped, self._dropped = self._dropped, []
        try:
            return self.child.ask(name, dropped, *arguments)
        except ProcessDied:
            self.child.close()
            self.child = self._start()
            raise

    def _start(self) -> Child:
        return Child(f"{__name__}:Answerer", str(Path(self._room.name) / "model.pt"))


class Answerer:
    """What a replica's process does: answer with a service of its own."""

    def __init__(self, snapshot: str) -> None:
        torch.set_num_threads(1)
        self.service = Service(load_snapshot(Path(snapshot)))
        self._open: dict[int, Pieces[str]] = {}  # answers that are begun, by number

    def __call__(self, name: str, dropped: Sequence[int], *arguments: Any) -> Any:
        """Do what a message asks for, after what nobody waits for is thrown away."""
        for number in dropped:
            self._open.pop(number, None)
        return getattr(self, name)(*arguments)

    def begin(self, number: int, schema: type[BaseModel], question: Question) -> str | None:
        """Begin an answer: all of it, or nothing yet."""
        self._open[number] = self.service.begin(schema, question)
        return self.step(number)

    def step(self, number: int) -> str | None:
        """Do the next piece of an answer."""
        try:
            next(self._open[number])
        except StopIteration as end:
            del self._open[number]
            answer: str = end.value
            return answer
        return None

    def annotate_together(self, schema: type[BaseModel], batch: Sequence[Sequence[str]]) -> list[str]:
        """The answers to several questions about texts."""
        return self.service.annotate_together(schema, batch)
