"""The server as a process: what only a socket and signals can show."""

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
