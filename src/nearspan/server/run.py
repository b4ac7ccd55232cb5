"""Running the server: a socket, and a process that ends when it has finished what it began."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI

from nearspan.errors import ConfigError
from nearspan.server.limits import Limits
from nearspan.server.protocol import patient

FINISHING = 60  # seconds that requests have to end in after SIGTERM


def run(app: FastAPI, host: str, port: int, limits: Limits, started: Callable[[str], None]) -> None:
    """Serve until SIGTERM or Ctrl-C, then finish what is running; `started` is told the address."""
    bound = _bound(host, port)
    config = uvicorn.Config(
        app,
        http=patient(limits.send_seconds),
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=limits.connections,
        timeout_graceful_shutdown=FINISHING,
    )
    name = f"[{host}]" if ":" in host else host
    server = _Server(config, lambda: started(f"http://{name}:{bound.getsockname()[1]}/"))
    for ending in (signal.SIGTERM, signal.SIGINT):  # before uvicorn listens for them, and when it raises them again
        signal.signal(ending, lambda *_: server.end())
    server.run(sockets=[bound])


class _Server(uvicorn.Server):
    """Tells that it has started when signals already end it as they should."""

    def __init__(self, config: uvicorn.Config, told: Callable[[], None]) -> None:
        super().__init__(config)
        self.told = told

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if not self.should_exit:
            self.told()

    def end(self) -> None:
        self.should_exit = True


def _bound(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(
            f"cannot listen on {host}, port {port}: {reason}; choose others with --host, --port"
        ) from error
