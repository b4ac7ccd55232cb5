"""HTTP/1.1 by uvicorn, with an end to connections that take too long to say what they want."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


def patient(seconds: float) -> type[H11Protocol]:
    """The protocol that waits so long for a request's head; uvicorn's own waits for ever."""

    class Patient(H11Protocol):
        """Answers 408 where a head is not there in time, and JSON where it is no HTTP."""

        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._timer = self.loop.call_later(seconds, self._late)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is not h11.IDLE:
                self._stop()
            elif self._timer is None and self.conn.trailing_data[0]:  # the next request's head has begun
                self._timer = self.loop.call_later(seconds, self._late)

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop()
            super().connection_lost(exc)

        def send_400_response(self, msg: str) -> None:
            self._answer(400, msg)

        def _stop(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _late(self) -> None:
            self._timer = None
            if not self.transport.is_closing() and self.conn.our_state is h11.IDLE:
                self._answer(408, f"the request's head did not arrive within {seconds:g} seconds")

        def _answer(self, status: int, message: str) -> None:
            body = json.dumps({"error": message}).encode()
            headers = [
                ("content-type", "application/json"),
                ("content-length", str(len(body))),
                ("connection", "close"),
            ]
            for event in (h11.Response(status_code=status, headers=headers), h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
            self.transport.close()

    return Patient
