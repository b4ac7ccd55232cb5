"""Running the server: a socket, connections that may not dawdle, and an end that finishes what was begun."""

import asyncio
import json
import signal
import socket
from collections import Counter
from collections.abc import Callable
from typing import Any

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from nearspan.errors import ConfigError
from nearspan.server.limits import Limits

SHUTDOWN_SECONDS = 60  # that requests have to end in after SIGTERM


def run(app: FastAPI, host: str, port: int, limits: Limits, on_start: Callable[[str], None]) -> None:
    """Serve until SIGTERM or Ctrl-C, then finish what is running; `on_start` is called with the address."""
    listening = _listen(host, port)
    config = uvicorn.Config(
        app,
        http=_protocol_with_limits(limits),
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        # closing a connection may cross its next request, which is then lost: do it late, and say when
        timeout_keep_alive=limits.idle_seconds,
        headers=[("Keep-Alive", f"timeout={limits.idle_seconds}")],
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    name = "localhost" if host in ("", "0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    server = _Server(config, lambda: on_start(f"http://{name}:{listening.getsockname()[1]}/"))
    for number in (signal.SIGTERM, signal.SIGINT):  # before uvicorn listens for them, and when it raises them again
        signal.signal(number, lambda *_: setattr(server, "should_exit", True))
    server.run(sockets=[listening])


class _Server(uvicorn.Server):
    """Calls `on_start` when signals already end the server as they should."""

    def __init__(self, config: uvicorn.Config, on_start: Callable[[], None]) -> None:
        super().__init__(config)
        self.on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if not self.should_exit:
            self.on_start()


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"cannot listen on {host}, port {port}: {reason}; choose another `host` or `port`") from error


def _protocol_with_limits(limits: Limits) -> type[H11Protocol]:
    """HTTP/1.1 that waits so long for a request's head, and for its answer to be read; uvicorn's own waits for ever."""
    seconds, most = limits.send_seconds, -(-limits.connections // 4)
    open_by_address: Counter[str] = Counter()
    idle: dict[H11Protocol, str] = {}  # the addresses of those that wait for their next request, the longest first

    class LimitedProtocol(H11Protocol):
        """Answers 408 where a head does not arrive in time, and 400 as JSON where it is no HTTP.

        No address may hold more than a quarter of the connections. Where another one is to be opened, that which has
        waited longest for its next request makes room.
        """

        _timer: asyncio.TimerHandle | None = None  # for a head
        _unread_timer: asyncio.TimerHandle | None = None  # for an answer

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            open_by_address[self._address] += 1
            is_address_full = open_by_address[self._address] > most
            is_full = is_address_full or open_by_address.total() > limits.connections
            if not is_full or self._make_room(self._address if is_address_full else ""):
                self._start_timer()
            elif is_address_full:
                self._refuse(503, f"this address has {most:,} connections open already; close one, or use it again")
            else:
                self._refuse(503, f"{limits.connections:,} connections are open already; try again in a moment")

        def data_received(self, data: bytes) -> None:
            idle.pop(self, None)
            super().data_received(data)
            if self.conn.their_state is not h11.IDLE:
                self._stop_timer()
            elif self._timer is None and self.conn.trailing_data[0]:  # the next request's head has begun
                self._start_timer()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if self.conn.their_state is h11.IDLE:
                idle[self] = self._address

        def pause_writing(self) -> None:
            super().pause_writing()
            self._unread_timer = self.loop.call_later(seconds, self.transport.abort)

        def resume_writing(self) -> None:
            super().resume_writing()
            if self._unread_timer is not None:
                self._unread_timer.cancel()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_timer()
            idle.pop(self, None)
            open_by_address[self._address] -= 1
            if not open_by_address[self._address]:
                del open_by_address[self._address]
            super().connection_lost(exc)

        def send_400_response(self, msg: str) -> None:
            self._refuse(400, msg)

        @property
        def _address(self) -> str:
            return self.client[0] if self.client else ""

        def _make_room(self, address: str = "") -> bool:
            """Close an idle connection of an address, or of any; False where there is none."""
            other = next((other for other, of in idle.items() if address in ("", of)), None)
            if other is not None:
                del idle[other]
                other.timeout_keep_alive_handler()
            return other is not None

        def _start_timer(self) -> None:
            self._timer = self.loop.call_later(seconds, self._time_out)

        def _stop_timer(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _time_out(self) -> None:
            self._timer = None
            if not self.transport.is_closing() and self.conn.our_state is h11.IDLE:
                self._refuse(408, f"the request's head did not arrive within {seconds:g} seconds")

        def _refuse(self, status: int, message: str) -> None:
            body = json.dumps({"error": message}).encode()
            length = ("content-length", str(len(body)))
            headers = [("content-type", "application/json"), length, ("connection", "close")]
            for event in (h11.Response(status_code=status, headers=headers), h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
            self.transport.close()

    return LimitedProtocol
