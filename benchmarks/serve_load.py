"""A server under load: many clients at once, then requests that must be refused, then SIGTERM in the middle of work.

    nearspan demo && python benchmarks/serve_load.py runs/demo [--clients 64] [--seconds 60] [--out results.json]

The server is a process of its own, the clients are in this one, all on loopback and on the same cores. Each client
asks again as soon as it has its answer: eight times in ten for the entities of one sample text, then for those of eight
texts, then for the evidence of a text. Latencies are taken after a warm-up of ten seconds, the server's resident memory
once a second.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import platform
import re
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import nearspan
from nearspan.formats import sample

WARM = 10  # seconds
TEXTS = [document.text for document in nearspan.read(sample.path("test")).documents]
LIMITS = {"send_seconds": 2}  # so that slow requests need no long wait


class Server:
    """A server process and what it costs."""

    def __init__(self, model: Path) -> None:
        limits = [part for name, value in LIMITS.items() for part in ("--limit", f"{name}={value}")]
        command = [sys.executable, "-m", "nearspan", "serve", str(model), "--port", "0", "--device", "cpu", *limits]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        self.port = int(next(filter(None, (re.search(r"127\.0\.0\.1:(\d+)", line) for line in self.process.stderr)))[1])

    @property
    def memory(self) -> float:
        """Resident MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return round(int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024, 1)

    @property
    def seconds(self) -> float:
        """CPU time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100


class Client:
    """One connection that is kept, as little as HTTP needs."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, path: str, body: Any) -> int:
        data = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(data)}"
        )
        return await self.raw(head.encode() + b"\r\n\r\n" + data)

    async def raw(self, request: bytes) -> int:
        if self.streams is None:
            self.streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.streams
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        await reader.readexactly(int(re.search(r"content-length: (\d+)", head)[1]))
        if "connection: close" in head:
            writer.close()
            self.streams = None
        return int(head.split()[1])


def question(number: int) -> tuple[str, Any]:
    """The path and the body of a client's next request."""
    text = TEXTS[number % len(TEXTS)]
    if number % 10 == 8:
        return "/annotate", {"texts": [TEXTS[(number + more) % len(TEXTS)] for more in range(8)]}
    return ("/explain", {"text": text, "count": 3}) if number % 10 == 9 else ("/annotate", {"text": text})


async def load(server: Server, clients: int, seconds: float) -> dict[str, Any]:
    began = time.perf_counter()
    times: dict[str, list[float]] = {"annotate": [], "annotate 8 texts": [], "explain": []}
    statuses: Counter[str] = Counter()
    memory: list[float] = []
    numbers = itertools.count()

    async def client() -> None:
        mine = Client(server.port)
        while time.perf_counter() - began < WARM + seconds:
            path, body = question(next(numbers))
            asked = time.perf_counter()
            try:
                statuses[str(await mine.ask(path, body))] += 1
            except (OSError, EOFError) as error:
                statuses[type(error).__name__] += 1
                mine.streams = None
            if asked - began > WARM:
                kind = "explain" if path == "/explain" else "annotate 8 texts" if "texts" in body else "annotate"
                times[kind].append(time.perf_counter() - asked)  # a failed one counts as long as it took

    async def watch() -> None:
        while True:
            await asyncio.sleep(1)
            memory.append(server.memory)

    watching = asyncio.create_task(watch())
    await asyncio.gather(*(client() for _ in range(clients)))
    watching.cancel()
    every = [one for some in times.values() for one in some]
    return {
        "clients": clients,
        "seconds": seconds,
        "requests": len(every),
        "requests_a_second": round(len(every) / seconds, 1),
        "failed": sum(count for status, count in statuses.items() if status != "200"),
        "statuses": dict(statuses),
        "latency_ms": {"all": spread(every), **{kind: spread(some) for kind, some in times.items()}},
        "server_mb": {"warm": memory[WARM - 1], "every_ten_seconds": memory[WARM + 9 :: 10]},
    }


def spread(times: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(times, n=100)
    return {"p50": round(1000 * cuts[49], 1), "p95": round(1000 * cuts[94], 1), "most": round(1000 * max(times), 1)}


async def refusals(server: Server, rounds: int = 20) -> dict[str, Any]:
    """Requests that cannot be served, what they are answered, and what the server spent on them."""
    head = b"POST /annotate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    chunk = b"10000\r\n" + b"x" * 65_536 + b"\r\n"
    requests = {
        "oversize": head + b"Content-Length: 5000000\r\n\r\n" + b"x" * 5_000_000,
        "oversize, chunked": head + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 80 + b"0\r\n\r\n",
        "too long a text": head + b"Content-Length: 200013\r\n\r\n" + b'{"text": "' + b"x" * 200_000 + b'"} ',
        "no JSON": head + b"Content-Length: 9\r\n\r\n" + b'{"text": ',
        "half a surrogate pair": head + b'Content-Length: 18\r\n\r\n{"text": "\\ud800"}',
        "no HTTP": b"hello\r\n\r\n",
        "slow body": head + b'Content-Length: 100\r\n\r\n{"text": "',
        "slow head": b"POST /annotate HTTP/1.1\r\nHost: 127",
    }
    found: dict[str, Any] = {}
    for name, request in requests.items():
        memory, seconds = server.memory, server.seconds
        statuses = Counter(await asyncio.gather(*(Client(server.port).raw(request) for _ in range(rounds))))
        found[name] = {
            "statuses": {str(status): count for status, count in statuses.items()},
            "server_cpu_ms_each": round(1000 * (server.seconds - seconds) / rounds, 1),
            "server_mb_more": round(server.memory - memory, 1),
        }
    return found


async def ending(server: Server, clients: int = 32) -> dict[str, Any]:
    """SIGTERM while requests run and wait."""
    body = {"texts": TEXTS[:16]}
    asked = [asyncio.create_task(Client(server.port).ask("/annotate", body)) for _ in range(clients)]
    waiting = 0
    while waiting < clients // 2:
        await asyncio.sleep(0.01)
        async with asyncio.timeout(60):
            waiting = await health(server.port)
    began = time.perf_counter()
    server.process.send_signal(signal.SIGTERM)
    answers = await asyncio.gather(*asked, return_exceptions=True)
    code = await asyncio.to_thread(server.process.wait, 60)
    statuses = Counter(str(one) if isinstance(one, int) else type(one).__name__ for one in answers)
    took = round(time.perf_counter() - began, 2)
    return {"running_or_waiting": waiting, "answers": dict(statuses), "exit_code": code, "seconds": took}


async def health(port: int) -> int:
    """How many requests the model's thread has before it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
    answer = await reader.read()
    writer.close()
    return int(json.loads(answer.partition(b"\r\n\r\n")[2])["waiting"])


async def measured(options: argparse.Namespace) -> dict[str, Any]:
    server = Server(options.model)
    try:
        start = server.memory
        found = {"load": await load(server, options.clients, options.seconds)}
        found["load"]["server_mb"] = {"start": start, **found["load"]["server_mb"]}
        print(json.dumps(found, indent=1), flush=True)
        return {**found, "refusals": await refusals(server), "sigterm": await ending(server)}
    finally:
        server.process.kill()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model", type=Path)
    arguments.add_argument("--clients", type=int, default=64)
    arguments.add_argument("--seconds", type=float, default=60)
    arguments.add_argument("--commit", default="")
    arguments.add_argument("--hardware", default=platform.processor())
    arguments.add_argument("--out", type=Path)
    options = arguments.parse_args()
    found: dict[str, Any] = {"commit": options.commit, "hardware": options.hardware, "model": "nearspan demo"}
    found["load_average_before"] = round(os.getloadavg()[0], 1)  # of others on the same cores
    found |= asyncio.run(measured(options))
    print(json.dumps(found, indent=1))
    if options.out:
        options.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
