"""Turns, deadlines and clients that leave."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable

import pytest
from pydantic import BaseModel

from nearspan.server import Limits, create_app, worker
from nearspan.server.limits import Refusal
from nearspan.server.worker import Job, Worker


class Done(BaseModel):
    name: str


class Crowd:
    """A worker whose clients come while it is busy, and the pieces in the order in which it does them."""

    def __init__(self, **limits: float) -> None:
        self.worker, self.gate, self.pieces = Worker(Limits(**limits)), threading.Event(), list[str]()

    def come(self, client: str, name: str = "", count: int = 1, size: int = 0) -> asyncio.Task[Done]:
        """A request of so many pieces; it waits until the gate opens."""

        def work():
            for _ in range(count - 1):
                yield self._do(name or client)
            self._do(name or client)
            return {"name": name or client}

        return asyncio.create_task(self.worker.answer(client, Done, work, size))

    def _do(self, name: str) -> None:
        assert self.gate.wait(60)
        self.pieces.append(name)

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(60):
            while not condition():
                await asyncio.sleep(0)

    async def keep_busy(self) -> asyncio.Task[Done]:
        """A first request, which runs until the gate opens."""
        first = self.come("first")
        await self.until(lambda: self.worker._running)
        return first


async def outcomes(*tasks: Awaitable[object]) -> list[object]:
    """What came of each: the name of the work, or the status of a refusal."""
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    return [json.loads(each.body)["name"] if hasattr(each, "body") else each.status_code for each in answers]


@pytest.fixture
def order(monkeypatch) -> Callable[..., list[str]]:
    """The order of the pieces of requests that came while the worker was busy; each piece takes a second."""

    def order(*requests: dict) -> list[str]:
        async def scenario() -> list[str]:
            crowd = Crowd()
            monkeypatch.setattr(worker, "monotonic", lambda: float(len(crowd.pieces)))
            tasks = [await crowd.keep_busy(), *(crowd.come(**request) for request in requests)]
            await asyncio.sleep(0)
            crowd.gate.set()
            await asyncio.gather(*tasks)
            return crowd.pieces[1:]

        return asyncio.run(scenario())

    return order


def test_clients_take_turns_however_much_one_has_sent(order):
    greedy = {"client": "greedy", "count": 3}
    assert order(greedy, greedy, {"client": "modest"}) == ["greedy", "modest", *["greedy"] * 5]
    assert order(greedy, {"client": "other", "count": 2}) == ["greedy", "other", "greedy", "other", "greedy"]


def test_a_small_request_goes_before_a_large_one(order):
    large = {"client": "me", "name": "large", "size": 20_000}
    assert order(large, {"client": "me", "name": "small"}) == ["small", "large"]
    assert order(large, {"client": "you", "name": "small"}) == ["small", "large"]


def test_a_large_request_is_not_put_off_for_ever(order):
    small = [{"client": f"small {number}"} for number in range(8)]
    assert order({"client": "large", "size": 20_000}, {"client": "many", "count": 8}).index("large") < 6
    assert order({"client": "large", "size": 20_000}, *small)[-1] == "large"  # they came within four seconds


def test_nor_is_it_by_small_ones_of_the_same_client():
    busy = Worker(Limits())
    busy._queue = [Job("me", arrival, size, *[None] * 2) for arrival, size in ((5.0, 0), (0.0, 20_000), (6.0, 0))]
    for share in (0.0, 10.0):  # whether it has had its share or not
        busy._shares = {"me": share}
        assert busy._next(busy._queue).size == 20_000


def test_work_stops_when_its_client_leaves():
    async def scenario() -> tuple[list[str], int]:
        crowd = Crowd()
        waiting = [crowd.come("gone", count=100) for _ in range(40)]
        await crowd.until(lambda: crowd.worker._running)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        crowd.gate.set()
        await crowd.come("next")
        return crowd.pieces, crowd.worker.waiting

    assert asyncio.run(scenario()) == (["gone", "next"], 0)


def test_an_edit_that_has_begun_is_finished_though_its_client_has_left():
    async def scenario() -> list[str]:
        crowd = Crowd()
        edit = await crowd.keep_busy()
        edit.cancel()
        await asyncio.gather(edit, return_exceptions=True)
        crowd.gate.set()
        await crowd.come("next")
        return crowd.pieces

    assert asyncio.run(scenario()) == ["first", "next"]


def test_work_beyond_its_deadline_stops_and_says_what_to_do():
    async def scenario() -> None:
        crowd = Crowd(answer_seconds=0.01)
        crowd.gate.set()
        await crowd.come("endless", count=10**9)

    with pytest.raises(Refusal, match=r"within 0\.01 seconds: send it in parts.*answer_seconds") as refusal:
        asyncio.run(scenario())
    assert refusal.value.status_code == 504


def test_at_the_deadline_what_waits_is_refused_and_what_is_in_its_last_piece_is_answered():
    async def scenario() -> list[object]:
        crowd = Crowd(answer_seconds=0.01)
        edit = await crowd.keep_busy()
        waits = crowd.come("waits")
        await crowd.until(waits.done)
        crowd.gate.set()
        return [*await outcomes(edit, waits), *crowd.pieces]

    assert asyncio.run(scenario()) == ["first", 503, "first"]


def test_beyond_what_may_wait_requests_are_refused():
    async def scenario() -> list[object]:
        crowd = Crowd(waiting=3)
        tasks = [await crowd.keep_busy(), *(crowd.come("me", name) for name in "abc")]
        await asyncio.sleep(0)
        crowd.gate.set()
        return [*await outcomes(*tasks), crowd.worker.waiting]

    assert asyncio.run(scenario()) == ["first", "a", "b", 503, 0]


def test_where_too_many_wait_the_client_with_most_of_them_makes_room():
    async def scenario() -> list[object]:
        crowd = Crowd(waiting=4)
        tasks = [await crowd.keep_busy(), *(crowd.come("greedy", name) for name in "abc"), crowd.come("modest")]
        await asyncio.sleep(0)
        crowd.gate.set()
        return await outcomes(*tasks)

    assert asyncio.run(scenario()) == ["first", "a", "b", 503, "modest"]


def test_a_failure_is_the_answer_and_the_next_is_served():
    async def scenario() -> list[object]:
        worker = Worker(Limits())
        with pytest.raises(ZeroDivisionError):
            await worker.answer("me", Done, lambda: 1 / 0)
        return await outcomes(worker.answer("me", Done, lambda: {"name": "next"}))

    assert asyncio.run(scenario()) == ["next"]


def test_a_text_whose_client_has_left_is_not_read_to_its_end(service, monkeypatch):
    """The whole way, from the connection to the model."""
    body = json.dumps({"text": "Ada lives in Oslo . " * 500}).encode()
    network, reads, left, gone = service.model.network, 0, asyncio.Event(), threading.Event()
    predict = network.predict

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        messages = [{"type": "http.request", "body": body, "more_body": False}]

        def count(query):
            nonlocal reads
            reads += 1
            loop.call_soon_threadsafe(left.set)
            assert gone.wait(60)
            return predict(query)

        async def receive():
            if messages:
                return messages.pop()
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            raise AssertionError("nobody is there to be answered")

        monkeypatch.setattr(network, "predict", count)
        app = create_app(service, "t")
        headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
        scope = {"type": "http", "method": "POST", "path": "/annotate", "headers": headers, "query_string": b""}
        await app(scope, receive, send)
        gone.set()
        while any(task is not asyncio.current_task() for task in asyncio.all_tasks()):
            await asyncio.sleep(0)

    asyncio.run(scenario())
    assert reads == 1
