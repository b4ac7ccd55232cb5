"""The worker: one thread does the work of all requests, a piece at a time, and each client has its share of it."""

import asyncio
from collections import Counter
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import monotonic
from typing import Any, TypeVar, cast

from fastapi import Response
from pydantic import BaseModel

from nearspan.server.limits import Limits, Refusal

Answer = TypeVar("Answer", bound=BaseModel)
Result = TypeVar("Result")
Pieces = Generator[None, None, Result]  # work that pauses after each piece; it may never be taken up again

DELAY = 1 / 5_000  # seconds by which each character puts a request behind smaller ones


@dataclass(eq=False)
class Job:
    """The work of one request, and the answer that its client waits for."""

    client: str
    arrival: float
    size: int  # in characters
    pieces: Pieces[str]
    answer: asyncio.Future[str]
    is_begun: bool = False

    @property
    def order(self) -> float:
        """Its place among the client's own: by arrival, but a little later the larger it is."""
        return self.arrival + self.size * DELAY

    def step(self) -> str | None:
        """Do one piece; the last one gives the answer."""
        try:
            next(self.pieces)
        except StopIteration as end:
            return cast(str, end.value)
        return None


class Worker:
    """Does piece after piece: each client has its share of the time, and small requests go before large ones.

    The next piece is of the client whose turn is earliest: when its next request came or, if that is later, when the
    client has had its share, and then a little later the larger the request is. Where a client leaves or a deadline
    passes, work stops after the piece that runs. Work of one piece, as each edit is, never stops half way. Only the
    event loop touches the queue; the thread does nothing but pieces.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._queue: list[Job] = []
        self._running: Job | None = None
        self._shares: dict[str, float] = {}  # by client, the time until which it has had its share
        self._task: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="model")

    @property
    def waiting(self) -> int:
        """Requests without an answer, with the one that is worked on."""
        return len(self._queue) + (self._running is not None)

    async def answer(self, client: str, schema: type[Answer], work: Callable[[], Any], size: int = 0) -> Answer:
        """The work's result as JSON of this shape; the work gives it, or `Pieces` of it. `size` is in characters.

        It is written by the thread too, so that a long answer keeps no other request waiting. What comes back is that
        response, typed as its content: OpenAPI is made of the types of routes.

        >>> class Product(BaseModel):
        ...     value: int
        >>> asyncio.run(Worker(Limits()).answer("me", Product, lambda: {"value": 6 * 7})).body
        b'{"value":42}'
        """
        job = Job(client, monotonic(), size, _pieces(schema, work), asyncio.get_running_loop().create_future())
        self._enter(job)
        try:
            await asyncio.wait({job.answer}, timeout=self.limits.answer_seconds)
            if job in self._queue:  # else it has its answer, or may have it with the piece that runs
                raise self._late(job)
            json = await job.answer
        finally:
            job.answer.cancel()  # does nothing where there is one
            if job in self._queue:
                self._queue.remove(job)
        return cast(Answer, Response(json, media_type="application/json"))

    def close(self) -> None:
        """Finish the piece that runs, then end the thread."""
        self._thread.shutdown()

    def _enter(self, job: Job) -> None:
        """Queue a job. Where too many wait, the client with the most of them loses its last."""
        if self.waiting >= self.limits.waiting:
            busy = Refusal(503, f"{self.waiting:,} requests are waiting for the model; try again in a moment")
            counts = Counter(other.client for other in self._queue)
            client, most = max(counts.items(), key=lambda item: item[1], default=("", 0))
            if most <= counts[job.client] + 1:
                raise busy
            last = max((other for other in self._queue if other.client == client), key=lambda other: other.order)
            last.answer.set_exception(busy)
            self._queue.remove(last)
        self._queue.append(job)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work())

    def _next(self) -> Job:
        """The job whose turn it is."""
        first: dict[str, Job] = {}  # of each client
        for job in sorted(self._queue, key=lambda job: job.order):
            first.setdefault(job.client, job)
        return min(first.values(), key=lambda job: self._start(job) + job.size * DELAY)

    def _start(self, job: Job) -> float:
        """When a job came or, if that is later, when its client has had its share."""
        return max(job.arrival, self._shares.get(job.client, 0.0))

    async def _work(self) -> None:
        """Do piece after piece until nothing is left to do."""
        loop = asyncio.get_running_loop()
        while self._queue:
            self._running = job = self._next()
            self._queue.remove(job)
            job.is_begun = True
            began, json = monotonic(), None
            try:
                json = await loop.run_in_executor(self._thread, job.step)
            except Exception as error:
                if not job.answer.done():
                    job.answer.set_exception(error)
            self._running = None
            self._charge(job, began)
            if job.answer.done():  # its client has left, or it has failed
                continue
            if json is not None:
                job.answer.set_result(json)
            elif monotonic() >= job.arrival + self.limits.answer_seconds:
                job.answer.set_exception(self._late(job))
            else:
                self._queue.append(job)

    def _charge(self, job: Job, began: float) -> None:
        """Note what a piece took of its client's share, which is the smaller the more clients there are."""
        now, clients = monotonic(), {job.client, *(other.client for other in self._queue)}
        self._shares[job.client] = self._start(job) + (now - began) * len(clients)
        self._shares = {client: until for client, until in self._shares.items() if client in clients or until > now}

    def _late(self, job: Job) -> Refusal:
        seconds = f"{self.limits.answer_seconds:g} seconds"
        if job.is_begun:
            advice = "send it in parts, or start the server with a larger answer_seconds"
            return Refusal(504, f"the answer was not ready within {seconds}: {advice}")
        return Refusal(503, f"the model was busy with other requests for {seconds}; try again in a moment")


def _pieces(schema: type[BaseModel], work: Callable[[], Any]) -> Pieces[str]:
    """Work with its result written as JSON."""
    result = work()
    if isinstance(result, Generator):
        result = yield from result
    return schema.model_validate(result).model_dump_json(exclude_unset=True)  # marks are there where they are true
