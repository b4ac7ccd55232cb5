"""A server under load: many clients at once, then requests that must be refused, then SIGTERM in the middle of work.

    nearspan demo && python benchmarks/serve_load.py runs/demo [--clients 64] [--seconds 60] [--out results.json]
        [--workers 2] [--cores 2] [--edits 5] [--load-only] [--source src]

The server is a process of its own, with `--workers` more, the clients are in this one, all on loopback; with `--cores`
the server has the first of them to itself, and the clients have the others. Each client asks again as soon as it has
its answer: eight times in ten for the entities of one sample text, then for those of eight texts, then for the evidence
of a text. Latencies are taken after a warm-up of ten seconds, the memory of the server's processes once a second, pages
that they share counted once. With `--edits` a sentence is added to the memory every so many seconds, then asked for on
eight connections at once, and taken out again: each answer after an edit must know of it. `--source` is the code that
serves, to compare with another version.
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
from contextlib import suppress
from pathlib import Path
from typing import Any

import nearspan
from nearspan.formats import sample

WARM = 10  # seconds
TOKEN = "sesame"
TEXTS = [document.text for document in nearspan.read(sample.path("test")).documents]
LIMITS = {"send_seconds": 2}  # so that slow requests need no long wait


class Server:
    """A server process and what it costs."""

    def __init__(self, options: argparse.Namespace) -> None:
        limits = [part for name, value in LIMITS.items() for part in ("--limit", f"{name}={value}")]
        command = [sys.executable, "-m", "nearspan", "serve", str(options.model), "--port", "0", "--device", "cpu"]
        command += [*limits, "--token", TOKEN]
        if options.workers is not None:
            command += ["--workers", str(options.workers)]
        cores = sorted(os.sched_getaffinity(0))
        environment = dict(os.environ)
        if options.source:
            environment["PYTHONPATH"] = os.pathsep.join([options.source, environment.get("PYTHONPATH", "")])
        if options.cores:
            environment["OMP_NUM_THREADS"] = str(options.cores)
        self.process = subprocess.Popen(
            command,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            preexec_fn=lambda: os.sched_setaffinity(0, cores[: options.cores] if options.cores else cores),
        )
        if options.cores and len(cores) > options.cores:
            os.sched_setaffinity(0, cores[options.cores :])
        assert self.process.stderr is not None
        self.port = int(next(filter(None, (re.search(r"127\.0\.0\.1:(\d+)", line) for line in self.process.stderr)))[1])

    @property
    def processes(self) -> list[int]:
        """The server and its workers."""
        children = [path.read_text().split() for path in Path(f"/proc/{self.process.pid}/task").glob("*/children")]
        return [self.process.pid, *(int(child) for of_thread in children for child in of_thread)]

    @property
    def memory(self) -> float:
        """MB of all processes, what they share counted once."""
        kilobytes = 0
        for number in self.processes:
            with suppress(OSError):  # it has ended
                rollup = Path(f"/proc/{number}/smaps_rollup").read_text()
                kilobytes += int(re.search(r"Pss:\s+(\d+)", rollup)[1])
        return round(kilobytes / 1024, 1)

    @property
    def seconds(self) -> float:
        """CPU time so far."""
        fields = [Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split() for number in self.processes]
        return sum(int(each[11]) + int(each[12]) for each in fields) / 100


class Client:
    """One connection that is kept, as little as HTTP needs."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.body = b""  # of the last answer

    async def ask(self, path: str, body: Any) -> int:
        data = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {TOKEN}\r\nContent-Length: {len(data)}"
        )
        return await self.raw(head.encode() + b"\r\n\r\n" + data)

    async def raw(self, request: bytes) -> int:
        if self.streams is None:
            self.streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.streams
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        self.body = await reader.readexactly(int(re.search(r"content-length: (\d+)", head)[1]))
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


EDITED = "Qelfo is a small town by the river"


async def edit(server: Server, every: float, seen: Counter[str]) -> None:
    """Add a sentence and take it out again, over and over, and see whether all who ask next know."""
    editor, readers = Client(server.port), [Client(server.port) for _ in range(8)]

    async def read() -> list[bool]:
        answers = await asyncio.gather(*(reader.ask("/annotate", {"text": EDITED}) for reader in readers))
        assert set(answers) == {200}, answers
        found = [json.loads(reader.body)["documents"][0]["entities"] for reader in readers]
        return [any((entity["text"], entity["label"]) == ("Qelfo", label) for entity in each) for each in found]

    await editor.ask("/annotate", {"text": EDITED})
    known = {entity["label"] for entity in json.loads(editor.body)["documents"][0]["entities"]}
    label = next(name for name in ("PLACE", "ORG", "PERSON") if name not in known)
    while True:
        await asyncio.sleep(every)
        body = {"text": EDITED, "entities": [{"start": 0, "end": 5, "label": label}]}
        for path, content, expected in (("/memory", body, True), ("/memory/undo", {}, False)):
            asked = time.perf_counter()
            seen[f"{path} {await editor.ask(path, content)}"] += 1
            seen["milliseconds"] += round(1000 * (time.perf_counter() - asked))
            for knows in await read():
                seen["right" if knows == expected else "wrong"] += 1


async def load(server: Server, clients: int, seconds: float, every: float = 0) -> dict[str, Any]:
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

    seen: Counter[str] = Counter()
    others = [asyncio.create_task(watch())] + [asyncio.create_task(edit(server, every, seen))] * bool(every)
    await asyncio.gather(*(client() for _ in range(clients)))
    for task in others:
        if task.done():
            task.result()  # raises what went wrong
        task.cancel()
    every = [one for some in times.values() for one in some]
    return {
        "clients": clients,
        "seconds": seconds,
        "requests": len(every),
        "requests_a_second": round(len(every) / seconds, 1),
        "failed": sum(count for status, count in statuses.items() if status != "200"),
        "statuses": dict(statuses),
        "latency_ms": {"all": spread(every), **{kind: spread(some) for kind, some in times.items()}},
        "edits": dict(seen),
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
    server = Server(options)
    try:
        start = server.memory
        found = {"load": await load(server, options.clients, options.seconds, options.edits)}
        found["load"]["server_mb"] = {"start": start, **found["load"]["server_mb"]}
        print(json.dumps(found, indent=1), flush=True)
        if options.load_only:
            return found
        return {**found, "refusals": await refusals(server), "sigterm": await ending(server)}
    finally:
        server.process.kill()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model", type=Path)
    arguments.add_argument("--clients", type=int, default=64)
    arguments.add_argument("--seconds", type=float, default=60)
    arguments.add_argument("--workers", type=int)
    arguments.add_argument("--cores", type=int, default=0)
    arguments.add_argument("--edits", type=float, default=0, help="seconds between two")
    arguments.add_argument("--load-only", action="store_true")
    arguments.add_argument("--source", default="")
    arguments.add_argument("--commit", default="")
    arguments.add_argument("--hardware", default=platform.processor())
    arguments.add_argument("--out", type=Path)
    options = arguments.parse_args()
    found: dict[str, Any] = {"command": sys.argv, "commit": options.commit, "hardware": options.hardware}
    found |= {"model": str(options.model), "cores": options.cores, "workers": options.workers}
    found["load_average_before"] = round(os.getloadavg()[0], 1)  # of others on the same cores
    found |= asyncio.run(measured(options))
    print(json.dumps(found, indent=1))
    if options.out:
        options.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
