"""A server under abuse: honest clients alone, then the same ones among clients that abandon, dawdle and attack.

    nearspan demo && python benchmarks/serve_abuse.py runs/demo [--minutes 10] [--out results.json]

Blocks of honest clients alone alternate with blocks in which all 64 clients are there, so that both meet the same other
load on the machine; `--minutes` is the time of the second kind together. The server, the honest clients and the abusers
are a process each, all on loopback, and each client has an address of its own (127.0.x.y). An honest client asks, has
its answer, and pauses: eight times in ten for the entities of a sample text, then for those of eight texts, then for
the evidence of a text. Abusers:

- abandoning: sends 20,000 characters and leaves within half a second;
- slow: sends a request byte by byte;
- hostile: broken JSON, half a million wrong texts, no HTTP, a body of 5 MB, an endless body, a wrong host, a wrong
  token, half a head, an answer that is never read.

It ends by itself. Latencies are those of honest clients, the server's resident memory is noted every five seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import multiprocessing
import os
import platform
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import nearspan
from nearspan.formats import sample

HONEST, ABANDONING, SLOW, HOSTILE = 24, 16, 8, 16
ALONE, MIXED, SETTLE = 30, 60, 3  # seconds of a block, and of its begin that is not counted
PAUSE = 1.0  # seconds of an honest client between an answer and its next request, on average
TOKEN, EDIT_TOKEN = "sesame", "edit"
TEXTS = [document.text for document in nearspan.read(sample.path("test")).documents]
LONG = (" ".join(TEXTS) * 20)[:20_000]


class Server:
    """A server process."""

    def __init__(self, model: Path, *options: str) -> None:
        self.log = tempfile.NamedTemporaryFile("r", suffix=".log")  # noqa: SIM115
        command = [sys.executable, "-m", "nearspan", "serve", str(model), "--port", "0", "--device", "cpu"]
        command += ["--token", EDIT_TOKEN, "--read-token", TOKEN, *options]
        with Path(self.log.name).open("w") as log:
            self.process = subprocess.Popen(command, stderr=log)
        while not (line := re.search(r"127\.0\.0\.1:(\d+)", Path(self.log.name).read_text())):
            if self.process.poll() is not None:
                raise SystemExit(Path(self.log.name).read_text())
            time.sleep(0.1)
        self.port = int(line[1])

    @property
    def memory(self) -> float:
        """Resident MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return round(int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024, 1)

    def end(self) -> int:
        """Its exit code after SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(90)


async def connect(port: int, address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))


def request(path: str, body: bytes, host: str = "127.0.0.1", token: str = TOKEN) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


async def read_answer(reader: asyncio.StreamReader) -> int:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    await reader.readexactly(int(re.search(r"content-length: (\d+)", head)[1]))
    return int(head.split()[1])


def question(number: int) -> tuple[str, bytes]:
    """The path and the body of an honest client's next request."""
    text = TEXTS[number % len(TEXTS)]
    if number % 10 == 8:
        body: dict[str, Any] = {"texts": [TEXTS[(number + more) % len(TEXTS)] for more in range(8)]}
    else:
        body = {"text": text, "count": 3} if number % 10 == 9 else {"text": text}
    return "/explain" if number % 10 == 9 else "/annotate", json.dumps(body).encode()


class Honest:
    """A client whose every request is to be answered; it keeps its connection."""

    def __init__(self, port: int, number: int) -> None:
        self.port, self.address, self.random = port, f"127.0.1.{number + 1}", random.Random(number)
        self.numbers = itertools.count(number * 7)
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask_until(self, end: float, times: list[float], statuses: Counter[str]) -> None:
        await asyncio.sleep(self.random.uniform(0, PAUSE))
        while time.perf_counter() < end:
            path, body = question(next(self.numbers))
            began = time.perf_counter()
            try:
                if self.streams is None or self.streams[0].at_eof():  # it was left alone between two blocks
                    self.streams = await connect(self.port, self.address)
                self.streams[1].write(request(path, body))
                status = str(await read_answer(self.streams[0]))
            except (OSError, EOFError) as error:
                status, self.streams = type(error).__name__, None
            times.append(time.perf_counter() - began)
            statuses[status] += 1
            await asyncio.sleep(self.random.expovariate(1 / PAUSE))


async def abandon(port: int, address: str, chance: random.Random) -> str:
    _, writer = await connect(port, address)
    writer.write(request("/annotate", json.dumps({"text": LONG}).encode()))
    await writer.drain()
    await asyncio.sleep(chance.uniform(0, 0.5))
    writer.close()
    return "abandoned"


async def dawdle(port: int, address: str, _: random.Random) -> str:
    reader, writer = await connect(port, address)
    answer = asyncio.create_task(read_answer(reader))
    for byte in request("/annotate", json.dumps({"text": TEXTS[0] * 5}).encode()):
        if answer.done():
            break
        writer.write(bytes([byte]))
        await asyncio.sleep(0.1)
    status = await asyncio.wait_for(answer, 30)
    writer.close()
    return f"slow: {status}"


def attacks() -> dict[str, bytes]:
    head = request("/annotate", b"").partition(b"Content-Length")[0]
    return {
        "broken JSON": request("/annotate", b'{"text": '),
        "deep JSON": request("/annotate", b"[" * 100_000),
        "half a million wrong texts": request("/annotate", b'{"texts":[' + b"1," * 490_000 + b"1]}"),
        "no HTTP": b"\x16\x03\x01\x02\x00\x01\r\n\r\n",
        "5 MB": request("/annotate", b"x" * 5_000_000),
        "endless": head + b"Transfer-Encoding: chunked\r\n\r\n" + (b"10000\r\n" + b"x" * 65_536 + b"\r\n") * 40,
        "wrong host": request("/annotate", b'{"text": "x"}', host="rebound.example"),
        "wrong token": request("/annotate", b'{"text": "x"}', token="wrong"),
        "half a head": head[:40],
        "unread": request("/explain", json.dumps({"text": LONG[:4_000], "count": 50}).encode()),
    }


async def attack(port: int, address: str, chance: random.Random) -> str:
    name, data = chance.choice(list(ATTACKS.items()))
    reader, writer = await connect(port, address)
    writer.write(data)
    if name == "unread":
        await asyncio.sleep(15)
        status = "none"
    else:
        status = str(await asyncio.wait_for(read_answer(reader), 30))
    writer.close()
    return f"{name}: {status}"


ATTACKS = attacks()
ABUSERS: list[tuple[Callable[..., Coroutine[Any, Any, str]], int, int]] = [
    (abandon, ABANDONING, 2),
    (dawdle, SLOW, 3),
    (attack, HOSTILE, 4),
]


def abuse(port: int, seconds: float, results: multiprocessing.Queue[Counter[str]]) -> None:
    """All abusers for so long, in a process of their own."""
    outcomes: Counter[str] = Counter()

    async def repeat(act: Callable[..., Coroutine[Any, Any, str]], address: str, chance: random.Random) -> None:
        while True:
            try:
                outcomes[await act(port, address, chance)] += 1
            except (OSError, EOFError, TimeoutError) as error:
                outcomes[f"{act.__name__}: {type(error).__name__}"] += 1
            await asyncio.sleep(chance.uniform(0.5, 1.5))

    async def all_of_them() -> None:
        tasks = [
            asyncio.create_task(repeat(act, f"127.0.{net}.{number + 1}", random.Random(net * 100 + number)))
            for act, count, net in ABUSERS
            for number in range(count)
        ]
        await asyncio.wait(tasks, timeout=seconds)
        for task in tasks:
            task.cancel()

    asyncio.run(all_of_them())
    results.put(outcomes)


def spread(times: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(times, n=100)
    return {"p50": round(1000 * cuts[49], 1), "p95": round(1000 * cuts[94], 1), "most": round(1000 * max(times), 1)}


async def measure(server: Server, pairs: int, alone: float, mixed: float) -> dict[str, Any]:
    honest = [Honest(server.port, number) for number in range(HONEST)]
    times: dict[str, list[float]] = {"alone": [], "mixed": []}
    statuses: dict[str, Counter[str]] = {"alone": Counter(), "mixed": Counter()}
    abused: Counter[str] = Counter()
    blocks: list[dict[str, Any]] = []
    memory: list[float] = []

    async def watch() -> None:
        while True:
            memory.append(server.memory)
            await asyncio.sleep(5)

    async def ask(seconds: float, taken: list[float], answers: Counter[str]) -> None:
        end = time.perf_counter() + seconds
        await asyncio.gather(*(client.ask_until(end, taken, answers) for client in honest))

    await ask(10, [], Counter())  # warm-up
    watching = asyncio.create_task(watch())
    for kind in ("alone", "mixed") * pairs:
        seconds = alone if kind == "alone" else mixed
        results: multiprocessing.Queue[Counter[str]] = multiprocessing.Queue()
        abusers = multiprocessing.Process(target=abuse, args=(server.port, SETTLE + seconds, results), daemon=True)
        if kind == "mixed":
            abusers.start()
        await ask(SETTLE, [], statuses[kind])
        taken: list[float] = []
        await ask(seconds, taken, statuses[kind])
        if kind == "mixed":
            abused += await asyncio.to_thread(results.get, True, 60)
            await asyncio.to_thread(abusers.join, 30)
        times[kind] += taken
        load = round(os.getloadavg()[0], 1)
        blocks.append({"kind": kind, "requests": len(taken), "latency_ms": spread(taken), "load_average": load})
        print(json.dumps({**blocks[-1], "server_mb": memory[-1]}), flush=True)
    watching.cancel()
    ratios = [
        round(after["latency_ms"]["p95"] / before["latency_ms"]["p95"], 2)
        for before, after in zip(blocks[::2], blocks[1::2], strict=True)
    ]
    p95 = {kind: spread(taken)["p95"] for kind, taken in times.items()}
    return {
        "honest": {
            kind: {"requests": len(taken), "statuses": dict(statuses[kind]), "latency_ms": spread(taken)}
            for kind, taken in times.items()
        },
        "p95_mixed_to_alone": round(p95["mixed"] / p95["alone"], 2),
        "p95_mixed_to_alone_by_pair": ratios,
        "abuse": dict(sorted(abused.items())),
        "server_mb_every_five_seconds": memory,
        "blocks": blocks,
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model", type=Path)
    arguments.add_argument("--minutes", type=float, default=10)
    arguments.add_argument("--block", type=float, default=MIXED, help="seconds of a block with all clients")
    arguments.add_argument("--hardware", default=f"CPU, {os.cpu_count()} cores ({platform.processor()})")
    arguments.add_argument("--note", default="")
    arguments.add_argument("--out", type=Path)
    options = arguments.parse_args()
    git = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    found: dict[str, Any] = {
        "command": " ".join(["python benchmarks/serve_abuse.py", *sys.argv[1:]]),
        "commit": subprocess.run(git, capture_output=True, text=True).stdout.strip(),
        "hardware": options.hardware,
        "threads": os.environ.get("OMP_NUM_THREADS", "all"),
        "model": "nearspan demo",
        "note": options.note,
        "clients": {"honest": HONEST, "abandoning": ABANDONING, "slow": SLOW, "hostile": HOSTILE},
        "load_average_before": round(os.getloadavg()[0], 1),
    }
    pairs = max(1, round(60 * options.minutes / options.block))
    server = Server(options.model)
    try:
        found |= asyncio.run(measure(server, pairs, options.block * ALONE / MIXED, options.block))
        found["exit_code"] = server.end()
    finally:
        server.process.kill()
    print(json.dumps({key: value for key, value in found.items() if key != "blocks"}, indent=1))
    if options.out:
        options.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
