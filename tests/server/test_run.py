"""The server as a process: what only a socket and signals can show."""

import asyncio
import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from nearspan.server import Limits
from nearspan.server.run import _protocol_with_limits


@pytest.fixture
def process(folder: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server that waits for nobody, and its port."""
    options = ["--port", "0", "--device", "cpu", "--token", "sesame"]
    options += ["--limit", "send_seconds=0.3", "--limit", "characters=100000"]
    command = [sys.executable, "-m", "nearspan", "serve", str(folder), *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        yield server, int(next(filter(None, (re.search(r":(\d+)/", line) for line in server.stderr)))[1])
        server.kill()


def answer(port: int, *parts: bytes) -> tuple[int, dict]:
    """What comes back for raw bytes, until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        for part in parts:
            connection.sendall(part)
        received = b"".join(iter(lambda: connection.recv(65_536), b""))
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


AT_ONCE = """
import os, signal
from fastapi import FastAPI
from nearspan.server.limits import Limits
from nearspan.server.run import run
run(FastAPI(), "127.0.0.1", 0, Limits(), lambda _: os.kill(os.getpid(), signal.SIGTERM))
print("ended")
"""


def test_a_signal_right_after_the_start_ends_the_server():
    ended = subprocess.run([sys.executable, "-c", AT_ONCE], timeout=60, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (0, "ended\n")


HEAD = b"POST /annotate HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"


def test_slow_and_broken_requests_are_refused_and_sigterm_finishes_what_runs(process):
    server, port = process
    assert answer(port, b"")[0] == 408
    assert answer(port, b"POST /annotate HTTP/1.1\r\nHo")[0] == 408
    assert answer(port, HEAD + b"Content-Length: 50\r\n\r\n{")[0] == 408
    assert answer(port, b"\x16\x03\x01 no HTTP\r\n\r\n")[0] == 400
    health = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port)) as connection:  # a second head that does not come to its end
        connection.sendall(health)
        first = b""
        while not first.endswith(b"}"):
            first += connection.recv(65_536)
        connection.sendall(health[:20])
        rest = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert b"\r\nkeep-alive: timeout=75\r\n" in first.lower()  # when it will be closed, if nothing more comes
    assert (first[:12], rest[:12]) == (b"HTTP/1.1 200", b"HTTP/1.1 408")

    body = json.dumps({"texts": ["Ada lives in Oslo . " * 15] * 250}).encode()
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(HEAD + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        while not json.load(urlopen(f"http://localhost:{port}/health"))["waiting"]:
            pass
        server.send_signal(signal.SIGTERM)
        received = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert received.startswith(b"HTTP/1.1 200")
    assert len(json.loads(received.partition(b"\r\n\r\n")[2])["documents"]) == 250
    assert server.wait(60) == 0


class Connection:
    """A socket's end as the protocol sees it."""

    def __init__(self, address: str) -> None:
        self.address, self.sent, self.is_aborted, self.is_closed = address, b"", asyncio.Event(), False

    def get_extra_info(self, name: str) -> object:
        return (self.address, 5000) if name == "peername" else None

    def write(self, data: bytes) -> None:
        self.sent += data

    def abort(self) -> None:
        self.is_aborted.set()

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True


def connect(protocol_class: type[H11Protocol], address: str) -> tuple[H11Protocol, Connection]:
    protocol = protocol_class(uvicorn.Config(FastAPI(), log_level="error"), ServerState(), {})
    connection = Connection(address)
    protocol.connection_made(connection)
    return protocol, connection


def test_one_address_holds_a_quarter_of_the_connections_at_most():
    async def scenario() -> list[bytes]:
        limited = _protocol_with_limits(Limits(connections=8))
        first, *others = [connect(limited, address) for address in ("10.0.0.1", *["10.0.0.1"] * 2, "10.0.0.2")]
        first[0].connection_lost(None)
        others[1][0].connection_lost(None)
        others.append(connect(limited, "10.0.0.1"))
        return [connection.sent[:12] for _, connection in (first, *others)]

    assert asyncio.run(scenario()) == [b"", b"", b"HTTP/1.1 503", b"", b""]


def test_beyond_the_connections_that_may_be_open_others_are_refused_in_json():
    async def scenario() -> list[bytes]:
        limited = _protocol_with_limits(Limits(connections=2))
        return [connect(limited, f"10.0.0.{number}")[1].sent for number in range(3)]

    *served, refused = asyncio.run(scenario())
    assert served == [b"", b""]
    assert json.loads(refused.partition(b"\r\n\r\n")[2])["error"].startswith("2 connections are open")


GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize("addresses", [["10.0.0.1"] * 3, [f"10.0.0.{number}" for number in range(9)]])
def test_the_connection_that_is_idle_longest_makes_room_for_another(addresses):
    async def scenario() -> list[bool]:
        limited = _protocol_with_limits(Limits(connections=8))
        opened = [connect(limited, address) for address in addresses[:-1]]
        for protocol, connection in reversed(opened):
            protocol.data_received(GET)
            while not connection.sent.endswith(b"}"):
                await asyncio.sleep(0)
        opened[-1][0].data_received(GET)  # the one that was idle longest is no more
        opened.append(connect(limited, addresses[-1]))
        return [connection.is_closed for _, connection in opened]

    assert asyncio.run(scenario()) == [False] * (len(addresses) - 3) + [True, False, False]


def test_a_client_that_does_not_read_its_answer_is_dropped():
    async def scenario() -> None:
        protocol, connection = connect(_protocol_with_limits(Limits(send_seconds=0.01)), "10.0.0.1")
        protocol.pause_writing()
        async with asyncio.timeout(60):
            await connection.is_aborted.wait()

    asyncio.run(scenario())
