"""How far a call walks: functions, files, changes of package and encoder runs.

Of `model(text)`, `model.explain`, `model.memory.add` and `nearspan.read`:

    python benchmarks/walk.py MODEL [--only annotate] [--names] [--out results/walk.json]

Every walk is taken in a process of its own, on the first call after loading: caches are cold.

- functions: distinct functions and methods of nearspan's own files that are called; comprehensions, lambdas and what
  dataclasses generate are none
- files: distinct files of these
- changes of package: calls whose caller, the nearest frame of nearspan's, is in another package; a module at the top is
  a package of its own
- encoder runs: how often an encoder reads a batch
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torch

import nearspan
from nearspan.formats import sample

ROOT = Path(nearspan.__file__).resolve().parent
ENCODER_RUN = ("encoders/encoder.py", "Encoder.forward")
TEXT = "Marie Curie lived in Paris with Pierre Curie."
FOUR_WORDS = "[Ada](PERSON) lives in [Oslo](PLACE)"
WALKS = ("annotate", "explain", "add", "read")


class Walk:
    """The calls of nearspan's own functions while something runs."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []  # file below nearspan, qualified name
        self.edges: list[tuple[str, str]] = []  # file of the caller, file of the called
        self._files: dict[CodeType, str | None] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        file = self._file(frame.f_code)
        if event != "call" or file is None or not frame.f_code.co_flags & CO_OPTIMIZED:
            return  # not ours, or a class body, which is no function
        self.calls.append((file, frame.f_code.co_qualname))
        caller = frame.f_back
        while caller is not None and self._file(caller.f_code) is None:
            caller = caller.f_back
        if caller is not None:
            self.edges.append((self._file(caller.f_code) or "", file))

    def _file(self, code: CodeType) -> str | None:
        if code not in self._files:
            path = Path(code.co_filename)
            inside = path.is_absolute() and path.is_relative_to(ROOT)
            self._files[code] = path.relative_to(ROOT).as_posix() if inside else None
        return self._files[code]

    def functions(self) -> list[tuple[str, str]]:
        """The distinct functions, in order of their files."""
        return sorted({(file, name) for file, name in self.calls if not name.endswith(">")})

    def figures(self) -> dict[str, int]:
        """What is recorded."""
        return {
            "functions": len(self.functions()),
            "files": len({file for file, _ in self.functions()}),
            "changes of package": sum(a.split("/")[0] != b.split("/")[0] for a, b in self.edges),
            "encoder runs": self.calls.count(ENCODER_RUN),
        }


def trace(work: Callable[[], Any]) -> Walk:
    """Follow the calls of some work, in other threads too."""
    walk = Walk()
    threading.setprofile(walk)
    sys.setprofile(walk)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return walk


def walk_of(name: str, folder: Path) -> Walk:
    """One walk in this process, on the first call."""
    torch.set_num_threads(1)
    if name == "read":
        return trace(lambda: nearspan.read(sample.path("test")))
    with tempfile.TemporaryDirectory() as scratch:
        model = nearspan.load(shutil.copytree(folder, Path(scratch) / "model"), device="cpu")
        if name == "add":
            memory = model.memory
            return trace(lambda: memory.add(FOUR_WORDS))
        if name == "annotate":
            return trace(lambda: model(TEXT))
        document = model(TEXT)
        return trace(lambda: model.explain(document))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--only", choices=WALKS)
    parser.add_argument("--names", action="store_true", help="print the functions too")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.only:
        walk = walk_of(options.only, options.model)
        if options.names:
            print("\n".join(f"{file}: {name}" for file, name in walk.functions()))
        print(json.dumps(walk.figures()))
        return
    figures = {}
    for name in WALKS:
        command = [sys.executable, __file__, str(options.model), "--only", name]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        figures[name] = json.loads(output.splitlines()[-1])
        print(name, figures[name], flush=True)
    if options.out:
        options.out.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
