"""The worker: lanes do the work of all requests, a piece at a time, and each client has its share of it.

A lane is a thread of this process, or a process of its own (`replica.py`). Questions that any lane can answer go to the
first that is free; what edits or keeps something is for the lane of this process. Texts that wait are read together.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import monotonic
from typing import Any, Protocol, TypeVar, cast

from fastapi import Response
from pydantic import BaseModel

from nearspan.processes import ProcessDied
from nearspan.server.limits import Limits, Refusal

Answer = TypeVar("Answer", bound=BaseModel)
Result = TypeVar("Result")
Pieces = Generator[None, None, Result]  # work that pauses after each piece; it may never be taken up again

DELAY = 1 / 5_000  # seconds by which each character puts a request behind smaller ones
TOGETHER = 2_000  # characters of the texts that are read together
ATTEMPTS = 2  # at a question whose process dies of it


@dataclass(frozen=True)
class Question:
    """A call of a service that any lane can make, by its name. The `texts` of several may be read together."""

    name: str
    arguments: tuple[Any, ...]
    texts: tuple[str, ...] = ()


class Answering(Protocol):
    """What answers questions: a service in this process, or its replica in another."""

    def begin(self, schema: type[BaseModel], question: Question) -> Pieces[str]:
        """The answer to a question as JSON, in pieces."""

    def annotate_together(self, schema: type[BaseModel], batch: Sequence[Sequence[str]]) -> list[str]:
        """The answers to several questions about texts, which are read together."""

    def close(self) -> None:
        """Answer no more."""


@dataclass(eq=False)
class Job:
    """The work of one request, and the answer that its client waits for."""

    client: str
    arrival: float
    size: int  # in characters
    pieces: Pieces[str] | None  # once it is begun, and at once where it is for this process
    answer: asyncio.Future[str]
    schema: type[BaseModel] = BaseModel
    question: Question | None = None  # None: for this process alone
    lane: "Lane | None" = None  # which has begun it
    is_begun: bool = False
    attempts: int = 0
    is_alone: bool = False  # to be read with no others, for with them something went wrong

    @property
    def order(self) -> float:
        """Its place among the client's own: by arrival, but a little later the larger it is."""
        return self.arrival + self.size * DELAY

    @property
    def is_together(self) -> bool:
        """Whether it may be read together with others."""
        has_texts = self.question is not None and bool(self.question.texts)
        return has_texts and not self.is_begun and not self.is_alone and self.size <= TOGETHER


class Lane:
    """A thread that does pieces, here or by another process."""

    def __init__(self, answering: Answering | None, takes_edits: bool) -> None:
        self.answering, self.takes_edits = answering, takes_edits
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="model")
        self.jobs: list[Job] = []  # that it works on
        self.task: asyncio.Task[None] | None = None

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs here."""
        return self.task is None or self.task.done()

    def may_do(self, job: Job) -> bool:
        """Whether a job, or what is left of it, can be done here."""
        if job.question is None:
            return self.takes_edits
        return self.answering is not None and job.lane in (None, self)

    def step(self, job: Job) -> str | None:
        """Do one piece of a job; the last one gives the answer."""
        if job.pieces is None:
            assert job.question is not None
            assert self.answering is not None
            job.pieces = self.answering.begin(job.schema, job.question)
        try:
            next(job.pieces)
        except StopIteration as end:
            return cast(str, end.value)
        return None

    def run(self, jobs: Sequence[Job]) -> list[str | None]:
        """Do a piece of a job, or all of several that are read together."""
        if len(jobs) == 1:
            return [self.step(jobs[0])]
        assert self.answering is not None
        batch = [job.question.texts for job in jobs if job.question is not None]
        return [*self.answering.annotate_together(jobs[0].schema, batch)]


class Worker:
    """Does piece after piece: each client has its share of the time, and small requests go before large ones.

    The next piece is of the client whose turn is earliest: when its next request came or, if that is later, when the
    client has had its share, and then a little later the larger the request is. What else waits and is small is read
    together with it. Where a client leaves or a deadline passes, work stops after the piece that runs. Work of one
    piece, as each edit is, never stops half way. Only the event loop touches the queue; threads do nothing but pieces.

    `service` answers questions in this process, unless there are `replicas` of it for that.
    """

    def __init__(self, limits: Limits, service: Answering | None = None, replicas: Sequence[Answering] = ()) -> None:
        self.limits = limits
        self._queue: list[Job] = []
        self._shares: dict[str, float] = {}  # by client, the time until which it has had its share
        self._lanes = [Lane(replica, takes_edits=False) for replica in replicas]
        self._lanes.append(Lane(None if replicas else service, takes_edits=True))

    @property
    def waiting(self) -> int:
        """Requests without an answer, with those that are worked on."""
        return len(self._queue) + len(self._running)

    @property
    def _running(self) -> list[Job]:
        return [job for lane in self._lanes for job in lane.jobs]

    async def answer(self, client: str, schema: type[Answer], work: Callable[[], Any], size: int = 0) -> Answer:
        """The work's result as JSON of this shape; the work gives it, or `Pieces` of it. `size` is in characters.

        It is written by the thread too, so that a long answer keeps no other request waiting. What comes back is that
        response, typed as its content: OpenAPI is made of the types of routes.

        >>> class Product(BaseModel):
        ...     value: int
        >>> asyncio.run(Worker(Limits()).answer("me", Product, lambda: {"value": 6 * 7})).body
        b'{"value":42}'
        """
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        return cast(Answer, await self._wait(Job(client, monotonic(), size, to_json(schema, work), future)))

    async def ask(self, client: str, schema: type[Answer], question: Question, size: int = 0) -> Answer:
        """The answer to a question, from whichever lane is free."""
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        return cast(Answer, await self._wait(Job(client, monotonic(), size, None, future, schema, question)))

    async def _wait(self, job: Job) -> Response:
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
        return Response(json, media_type="application/json")

    def close(self) -> None:
        """Finish the pieces that run, then end the threads and the replicas."""
        for lane in self._lanes:
            lane.thread.shutdown()
            if lane.answering is not None:
                lane.answering.close()

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
        self._wake()

    def _wake(self) -> None:
        """Let the lanes that have nothing to do look for it."""
        for lane in self._lanes:
            if lane.is_idle and any(map(lane.may_do, self._queue)):
                lane.task = asyncio.create_task(self._work(lane))

    def _next(self, jobs: Sequence[Job]) -> Job:
        """The job whose turn it is."""
        first: dict[str, Job] = {}  # of each client
        for job in sorted(jobs, key=lambda job: job.order):
            first.setdefault(job.client, job)
        return min(first.values(), key=lambda job: self._start(job) + job.size * DELAY)

    def _take(self, lane: Lane) -> list[Job]:
        """The job whose turn it is in a lane, and those that wait and can be read with it; other lanes get theirs."""
        possible = list(filter(lane.may_do, self._queue))
        if not possible:
            return []
        taken = [self._next(possible)]
        if taken[0].is_together:
            others = [job for job in possible if job.is_together and job.schema is taken[0].schema]
            idle = sum(other.is_idle and other.answering is not None for other in self._lanes)
            most, size = -(-len(others) // (1 + idle)), taken[0].size
            others.remove(taken[0])
            while others and len(taken) < most:
                job = self._next(others)
                size += job.size
                if size > TOGETHER:
                    break
                others.remove(job)
                taken.append(job)
        for job in taken:
            self._queue.remove(job)
            job.is_begun, job.lane = True, lane
        return taken

    def _start(self, job: Job) -> float:
        """When a job came or, if that is later, when its client has had its share."""
        return max(job.arrival, self._shares.get(job.client, 0.0))

    async def _work(self, lane: Lane) -> None:
        """Do piece after piece until nothing is left to do."""
        loop = asyncio.get_running_loop()
        while jobs := self._take(lane):
            lane.jobs, began = jobs, monotonic()
            try:
                answers = await loop.run_in_executor(lane.thread, lane.run, jobs)
            except Exception as error:
                lane.jobs = []
                self._fail(jobs, error)
            else:
                lane.jobs = []
                for job, json in zip(jobs, answers, strict=True):
                    self._finish(job, json)
            self._charge(jobs, began)

    def _finish(self, job: Job, json: str | None) -> None:
        """Give a job its answer; one that has none yet waits for its next turn."""
        if job.answer.done():  # its client has left
            return
        if json is not None:
            job.answer.set_result(json)
        elif monotonic() >= job.arrival + self.limits.answer_seconds:
            job.answer.set_exception(self._late(job))
        else:
            self._queue.append(job)

    def _fail(self, jobs: Sequence[Job], error: Exception) -> None:
        """Try again alone what was read together, and once more what a process has died of."""
        for job in jobs:
            job.attempts += isinstance(error, ProcessDied)
            if job.answer.done():  # its client has left
                continue
            may_try_again = len(jobs) > 1 or (isinstance(error, ProcessDied) and job.attempts < ATTEMPTS)
            if job.question is not None and may_try_again:
                job.lane, job.pieces, job.is_begun, job.is_alone = None, None, False, True
                self._queue.append(job)
            elif isinstance(error, ProcessDied):
                job.answer.set_exception(Refusal(503, f"{error}, twice: this may need more memory than there is"))
            else:
                job.answer.set_exception(error)
        self._wake()

    def _charge(self, jobs: Sequence[Job], began: float) -> None:
        """Note what a piece took of its clients' shares, which are the smaller the more clients there are."""
        now = monotonic()
        clients = {*(job.client for job in jobs), *(other.client for other in self._queue)}
        total = sum(job.size for job in jobs)
        for job in jobs:
            part = job.size / total if total else 1 / len(jobs)
            self._shares[job.client] = self._start(job) + part * (now - began) * len(clients)
        self._shares = {client: until for client, until in self._shares.items() if client in clients or until > now}

    def _late(self, job: Job) -> Refusal:
        seconds = f"{self.limits.answer_seconds:g} seconds"
        if job.is_begun:
            advice = "send it in parts, or start the server with a larger answer_seconds"
            return Refusal(504, f"the answer was not ready within {seconds}: {advice}")
        return Refusal(503, f"the model was busy with other requests for {seconds}; try again in a moment")


def to_json(schema: type[BaseModel], work: Callable[[], Any]) -> Pieces[str]:
    """Work with its result written as JSON."""
    result = work()
    if isinstance(result, Generator):
        result = yield from result
    return schema.model_validate(result).model_dump_json(exclude_unset=True)  # marks are there where they are true


def finish(pieces: Pieces[Result]) -> Result:
    """The result of work whose pieces are done one right after the other."""
    while True:
        try:
            next(pieces)
        except StopIteration as end:
            return cast(Result, end.value)
