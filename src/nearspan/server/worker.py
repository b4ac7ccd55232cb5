"""The worker: one thread for all work on the model, and a bound on what waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from fastapi import Response
from pydantic import BaseModel

from nearspan.server.limits import Refusal

T = TypeVar("T")


class Worker:
    """Runs one piece of work at a time, in order of arrival.

    >>> async def main() -> int:
    ...     return await Worker(most=8).run(lambda: 6 * 7)
    >>> asyncio.run(main())
    42
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.waiting = 0  # with the one that runs
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="model")

    async def run(self, work: Callable[[], T]) -> T:
        """The work's result; refused at once where too much is waiting."""
        if self.waiting >= self.most:
            raise Refusal(503, f"{self.waiting:,} requests are waiting for the model; try again in a moment")
        self.waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        finally:
            self.waiting -= 1

    async def answer(self, work: Callable[[], BaseModel]) -> Response:
        """The work's result as JSON, which the thread writes too: a long answer keeps no other request waiting."""
        return await self.run(lambda: Response(work().model_dump_json(), media_type="application/json"))

    def close(self) -> None:
        """Finish what waits, then end the thread."""
        self._thread.shutdown()
