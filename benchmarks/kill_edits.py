"""Kill a process that edits a memory, again and again, and see that nothing it had said to be done is lost.

    python benchmarks/kill_edits.py MODEL --kills 200 --out benchmarks/results/kill-edits.json

MODEL is a model folder with a memory; a copy of it is edited. A child process makes random edits, and builds the memory
anew now and then. It says what it tries before and what the memory holds after. It is killed with SIGKILL, in every
other round from outside after a random time, in the others by itself at a random line of the code that writes. The
parent then opens the folder and checks:

- the memory loads and annotates;
- its journal holds every edit that was said to be done, and at most the one beyond that was being tried;
- its sentences are those that were there after the last edit said to be done, or, where the one beyond it is there
  too, they are so again after an undo.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from nearspan.document import Span
from nearspan.errors import EditError
from nearspan.formats.markup import parse
from nearspan.memory.editor import Editor

KINDS = ("add", "relabel", "remove", "forget", "undo", "build")
WATCHED = (
    "memory/journal.py",
    "memory/store.py",
    "editing/build.py",
    "editing/editor.py",
    "editing/follower.py",
    "folder.py",
    "corpora/atomic.py",
)


def digest(editor: Editor, ids: bool = True) -> str:
    """What the memory holds; without ids, what it holds before and after a build."""
    found = [one.to_dict() | ({} if ids else {"id": 0}) for one in editor.sentences(limit=10**9)]
    forgotten = sorted(editor.model.datastore.forgotten) if editor.model.datastore is not None else []
    return hashlib.sha256(json.dumps([found, forgotten]).encode()).hexdigest()[:16]


def edit(editor: Editor, kind: str, chance: random.Random) -> None:
    """One random edit; those that cannot be made are left."""
    one = chance.choice(editor.sentences(limit=10**9))
    labels = editor.model.labels[1:]
    start = chance.choice([0, *(place + 1 for place, character in enumerate(one.text) if character == " ")])
    end = (one.text + " ").index(" ", start)
    if kind == "add":
        editor.add(parse(f"[Name{chance.random()}]({chance.choice(labels)}) stood there. So did others"))
    elif kind == "relabel":
        editor.relabel(one.id, Span.of(start, end), chance.choice(labels))
    elif kind == "remove":
        editor.remove(one.id, Span.of(start, end) if chance.random() < 0.8 else None)
    elif kind == "forget":
        editor.forget(one.document)
    elif kind == "undo":
        editor.undo()
    else:
        editor.build()


def child(folder: Path, seed: int, out: int, itself: bool) -> None:
    """Edit until killed."""
    chance = random.Random(seed)

    def say(**what: Any) -> None:
        os.write(out, (json.dumps(what) + "\n").encode())

    editor = Editor.open(folder, device="cpu")
    say(done="open", edits=len(editor.log()), digest=digest(editor), held=digest(editor, ids=False))
    if itself:
        lines = chance.randrange(1, 3000)

        def trace(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal lines
            if not frame.f_code.co_filename.endswith(WATCHED):
                return None
            lines -= event == "line"
            if lines <= 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return trace

        sys.settrace(trace)
    while True:
        kind = chance.choices(KINDS, (5, 5, 5, 1, 4, 2))[0]
        say(trying=kind)
        try:
            edit(editor, kind, chance)
        except EditError:
            continue
        say(done=kind, edits=len(editor.log()), digest=digest(editor), held=digest(editor, ids=False))


def round_(folder: Path, seed: int, itself: bool, chance: random.Random) -> dict[str, Any]:
    """Let a child edit, kill it, and check what it has left."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        try:
            child(folder, seed, writer, itself)
        finally:
            os._exit(1)  # only a failure comes here
    os.close(writer)
    with os.fdopen(reader) as stream:
        said = [stream.readline()]  # it is open
        if not itself:
            time.sleep(chance.random() * 0.3)
            os.kill(pid, signal.SIGKILL)
        said += stream.readlines()
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status), "the child failed before it was killed"
    whole = [json.loads(line) for line in said if line.endswith("\n")]
    done = [line for line in whole if "done" in line]
    pending = whole[-1].get("trying", "")
    editor = Editor.open(folder, device="cpu")
    list(editor.model.pipe(["Somebody was here"]))
    beyond = _checked(editor, done[-1], pending)
    return {"edits": len(done) - 1, "pending": pending, "kept": beyond}


def _checked(editor: Editor, last: dict[str, Any], pending: str) -> bool:
    """Whether the edit that was being tried has been made; an assertion fails where anything was lost."""
    edits = len(editor.log())
    if edits == last["edits"] and digest(editor) == last["digest"]:
        return False
    if pending == "build":
        assert edits == 0, "a build has left some of the old edits"
        assert digest(editor, ids=False) == last["held"], "a build has changed the memory"
        return True
    assert edits == last["edits"] + 1, f"{edits} edits where {last['edits']} were said to be done"
    assert editor.log()[-1].kind == pending, f"the last edit is {editor.log()[-1].kind}, not {pending}"
    if pending != "undo":
        editor.undo()
        assert digest(editor) == last["digest"], "an earlier edit has changed"
    return True


def main() -> None:
    """Run it all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    chance = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "model"
        shutil.copytree(given.model, folder)
        began = time.monotonic()
        rounds = []
        for number in range(given.kills):
            if number % 20 == 0:  # a fresh copy now and then: a memory that shrinks to nothing tests nothing
                shutil.rmtree(folder)
                shutil.copytree(given.model, folder)
            rounds.append(round_(folder, given.seed + number, number % 2 == 0, chance))
        seconds = time.monotonic() - began
    found = {
        "kills": len(rounds),
        "edits_acknowledged": sum(one["edits"] for one in rounds),
        "edits_lost": 0,  # an assertion ends the run otherwise
        "memories_that_did_not_load": 0,
        "killed_while": dict(Counter(one["pending"] or "idle" for one in rounds)),
        "made_though_not_acknowledged": sum(one["kept"] for one in rounds),
        "seconds": round(seconds, 1),
        "seed": given.seed,
    }
    print(json.dumps(found, indent=2))
    if given.out:
        given.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
