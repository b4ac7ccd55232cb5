"""Kill edits, builds and trainings, let the power fail in them, and damage journals; see that nothing is lost.

    python benchmarks/kills.py --kills 500 --trainings 40 --damages 200 --out benchmarks/results/kills.json

It trains two tiny models, `instance` and `hire`, whose encoder recalls training words, and works on copies of them.

- **Edits and builds.** A forked child makes random edits and builds the memory anew now and then. It says what it tries
  before, and what the memory holds after. It is killed with SIGKILL, in every other round from outside after a random
  time, in the others by itself at a random line of the code that writes. Then the memory opens and annotates, its
  journal has every edit that was said to be done and at most the one beyond, and it holds what it held after these.
- **Trainings.** A forked child trains and is killed at a random line of that code. What it left is refused, or is the
  model of a training that nobody killed. It is resumed, and ends with the weights and the memory of that model.
- **Power failures.** Edits, builds and trainings are followed by `tests/memory/crash_states.py`, a file layer that
  knows what was synced. After each of their steps the folder is made again as a power failure may leave it: what was
  not synced is there, in part, or not, and so is each name. Every state is opened and checked as above.
- **Damages** of a journal: cut, halved, NULs, bytes flipped, lines swapped, removed, doubled. The memory is refused, or
  holds what it held; and no edit is written over what is refused.

The run ends with an error at the first loss.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import pytest  # noqa: E402
import torch  # noqa: E402
from tests.conftest import BARE, SENTENCES, TINY  # noqa: E402
from tests.memory.crash_states import Recorder, crash_states, put  # noqa: E402

import nearspan  # noqa: E402
from nearspan.document import Span  # noqa: E402
from nearspan.errors import EditError, ModelError, NearspanError  # noqa: E402
from nearspan.io.memory_files import JOURNAL  # noqa: E402
from nearspan.io.tensors import digest_of, load_tensors  # noqa: E402
from nearspan.memory import Editor  # noqa: E402
from nearspan.model import Model  # noqa: E402

KINDS, CHANCES = ("add", "relabel", "remove", "forget", "undo", "build"), (5, 5, 5, 1, 4, 3)
EDITING = (
    "io/memory_files.py",
    "io/atomic.py",
    "io/tensors.py",
    "knn/storage.py",
    "memory/build.py",
    "memory/lock.py",
    "memory/sync.py",
    "model/folder.py",
)
TRAINING = (*EDITING, "io/model_folder.py", "training/checkpoint.py", "training/loop.py", "training/run.py")
SETTINGS = {
    "instance": (*TINY, *BARE, "head.neighbours=4"),
    "hire": (*TINY, "encoder.sentence_context.size=3", "training.learning_rate=0.5"),
}
DOCUMENTS = [nearspan.markup(text, id=f"d{number}") for number, text in enumerate(SENTENCES)]
TEXT = "Ada met Bob in Paris"


def train(name: str, out: Path, resume: bool = False) -> None:
    """A training that takes a second."""
    recipe = nearspan.recipe(name).override([*SETTINGS[name], "training.epochs=3", "training.checkpoint_minutes=0"])
    nearspan.train(recipe, DOCUMENTS, DOCUMENTS[:4], out=out, device="cpu", resume=resume)


def digest(editor: Editor, ids: bool = True) -> str:
    """What the memory holds; without ids, what it holds before and after a build."""
    held = [view.to_dict() | ({} if ids else {"id": 0}) for view in editor.sentences(limit=10**9)]
    forgotten = sorted(editor.model.datastore.forgotten) if editor.model.datastore is not None else []
    return hashlib.sha256(json.dumps([held, forgotten]).encode()).hexdigest()[:16]


def state_of(editor: Editor) -> dict[str, Any]:
    """How many edits there are, and what the memory holds."""
    return {"edits": len(editor.log()), "digest": digest(editor), "held": digest(editor, ids=False)}


def edit(editor: Editor, kind: str, chance: random.Random) -> None:
    """One random edit; an EditError where it cannot be made."""
    view = chance.choice(editor.sentences(limit=10**9))
    label = chance.choice(editor.model.labels[1:])
    start = chance.choice([0, *(place + 1 for place, character in enumerate(view.text) if character == " ")])
    word = Span.of(start, (view.text + " ").index(" ", start))
    if kind == "add":
        editor.add(f"[Name{chance.randrange(10**6)}]({label}) stood there. So did others")
    elif kind == "relabel":
        editor.relabel(view.id, word, label)
    elif kind == "remove":
        editor.remove(view.id, word if chance.random() < 0.8 else None)
    elif kind == "forget":
        editor.forget(view.document)
    elif kind == "undo":
        editor.undo()
    else:
        editor.build()


def die_at_line(files: tuple[str, ...], lines: int) -> None:
    """Kill this process at a line of some files, counted from here."""

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        if not frame.f_code.co_filename.endswith(files):
            return None
        lines -= event == "line"
        if lines <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)


def fork(work: Callable[[int], None], seconds: float | None = None) -> list[str]:
    """Let a child work until it kills itself, or is killed some time after it began; the lines that it wrote."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        try:
            work(writer)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(writer)
    with os.fdopen(reader) as stream:
        said = [stream.readline()]
        if seconds is not None:
            time.sleep(seconds)
            os.kill(pid, signal.SIGKILL)
        said += stream.readlines()
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status), "the child was not killed"
    return [line for line in said if line.endswith("\n")]


def kill_edits(folder: Path, model: Model, seed: int, itself: bool) -> dict[str, Any]:
    """Let a child edit, kill it, and check what it has left."""
    chance = random.Random(seed)

    def work(out: int) -> None:
        def say(**what: Any) -> None:
            os.write(out, (json.dumps(what) + "\n").encode())

        editor = Editor(folder, model)
        say(done="open", **state_of(editor))
        if itself:
            die_at_line(EDITING, chance.randrange(1, 1500))
        while True:
            kind = chance.choices(KINDS, CHANCES)[0]
            say(trying=kind)
            try:
                edit(editor, kind, chance)
            except EditError:
                continue
            say(done=kind, **state_of(editor))

    said = [json.loads(line) for line in fork(work, None if itself else chance.random() * 0.3)]
    done, pending = [line for line in said if "done" in line], said[-1].get("trying", "")
    editor = Editor(folder, model)
    list(model.pipe([TEXT]))
    return {"edits": len(done) - 1, "pending": pending, "kept": check(editor, done[-1], pending)}


def check(editor: Editor, last: dict[str, Any], pending: str) -> bool:
    """Whether the edit that was being tried has been made; an assertion fails where anything was lost."""
    now = state_of(editor)
    if (now["edits"], now["digest"]) == (last["edits"], last["digest"]):
        return False
    if pending == "build":
        assert now["edits"] == 0, "a build has left some of the old edits"
        assert now["held"] == last["held"], "a build has changed the memory"
        return True
    assert now["edits"] == last["edits"] + 1, f"{now['edits']} edits where {last['edits']} were said to be done"
    assert editor.log()[-1].kind == pending, f"the last edit is {editor.log()[-1].kind}, not {pending}"
    if pending != "undo":
        editor.undo()
        assert digest(editor) == last["digest"], "an earlier edit has changed"
    return True


def content(folder: Path) -> tuple[str, str]:
    """A model's memory and its weights."""
    memory = digest(Editor.open(folder, device="cpu"))
    return memory, digest_of(load_tensors(folder / "model.safetensors"))


def kill_training(folder: Path, name: str, expected: tuple[str, str], lines: int) -> str:
    """Let a child train, kill it, and train on; what it had left."""

    def work(out: int) -> None:
        os.write(out, b"begun\n")
        die_at_line(TRAINING, lines)
        train(name, folder)
        os.kill(os.getpid(), signal.SIGKILL)  # it took fewer lines than the first

    fork(work)
    left = "a model"
    try:
        assert content(folder) == expected, "a training was killed, and another model is there"
    except NearspanError:
        left = "a checkpoint" if (folder / "checkpoint.safetensors").exists() else "nothing"
    if left == "nothing":
        shutil.rmtree(folder, ignore_errors=True)
    train(name, folder, resume=left != "nothing")
    assert content(folder) == expected, "a training was resumed, and ends with another model"
    shutil.rmtree(folder)
    return left


def count_lines(work: Callable[[], None]) -> int:
    """How many lines of the code that is killed a training takes."""
    lines = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        if not frame.f_code.co_filename.endswith(TRAINING):
            return None
        lines += event == "line"
        return trace

    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(None)
    return lines


def fail_power(folder: Path, model: Model, place: Path, seed: int) -> tuple[int, int]:
    """Let the power fail in three edits or builds: how many were acknowledged, and how many states were opened."""
    chance, editor = random.Random(seed), Editor(folder, model)
    recorder, kinds, after, states = Recorder(folder), list[str](), [state_of(editor)], 0
    with pytest.MonkeyPatch.context() as patch, recorder.following(patch):
        while len(kinds) < 3:
            kind = chance.choices(KINDS, CHANCES)[0]
            try:
                edit(editor, kind, chance)
            except EditError:
                continue
            recorder.acknowledge()
            kinds.append(kind)
            after.append(state_of(editor))
    for done, tree in crash_states(recorder, seed):
        opened = Editor(put(tree, place), model)
        check(opened, after[done], kinds[done] if done < len(kinds) else "nothing")
        shutil.rmtree(place)
        states += 1
    return len(kinds), states


def fail_power_in_training(folder: Path, name: str, expected: tuple[str, str], place: Path) -> Counter[str]:
    """Let the power fail in a training: whether its model is there, or nothing that is taken for one."""
    folder.mkdir()
    recorder, outcomes = Recorder(folder), Counter[str]()
    with pytest.MonkeyPatch.context() as patch, recorder.following(patch):
        train(name, folder)
        recorder.acknowledge()
    for done, tree in crash_states(recorder):
        place.mkdir()
        try:
            assert content(put(tree, place)) == expected, "another model is there"
            outcomes["a model"] += 1
        except NearspanError:
            assert not done, "a training had ended, and no model is there"
            outcomes["none yet"] += 1
        shutil.rmtree(place)
    shutil.rmtree(folder)
    return outcomes


def damage(journal: bytes, kind: str, chance: random.Random) -> bytes:
    """A journal as an accident leaves it."""
    lines, start, end = journal.splitlines(True), *sorted(chance.sample(range(len(journal) + 1), 2))
    i, j = chance.sample(range(len(lines)), 2)
    if kind == "cut":
        return journal[:start]
    if kind == "halved":
        return journal[: len(journal) // 2]
    if kind == "NULs":
        return journal[:start] + bytes(end - start) + journal[end:]
    if kind == "flipped":
        changed = bytearray(journal)
        for _ in range(chance.randint(1, 3)):
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
        return bytes(changed)
    if kind == "swapped":
        lines[i], lines[j] = lines[j], lines[i]
    elif kind == "removed":
        del lines[i]
    else:
        lines.insert(j, lines[i])
    return b"".join(lines)


def damage_journals(folder: Path, model: Model, number: int, seed: int) -> Counter[str]:
    """What became of journals of eight edits that were damaged."""
    chance, editor, outcomes = random.Random(seed), Editor(folder, model), Counter[str]()
    while len(editor.log()) < 8:
        try:
            edit(editor, chance.choices(KINDS[:-1], CHANCES[:-1])[0], chance)
        except EditError:
            continue
    path, held = folder / JOURNAL, state_of(editor)
    whole = path.read_bytes()
    for each in range(number):
        kind = ("cut", "halved", "NULs", "flipped", "swapped", "removed", "doubled")[each % 7]
        damaged = damage(whole, kind, chance)
        path.write_bytes(damaged)
        try:
            assert state_of(Editor(folder, model)) == held, f"{kind}: another memory was opened"
            outcomes[f"{kind}: whole"] += 1
        except ModelError:
            outcomes[f"{kind}: refused"] += 1
            try:
                editor.remove(0)
                raise AssertionError(f"{kind}: an edit was made in a journal that is refused")
            except ModelError:
                assert path.read_bytes() == damaged, f"{kind}: what is refused was written over"
    return outcomes


def main() -> None:
    """Run it all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=500, help="of edits, builds and trainings")
    parser.add_argument("--trainings", type=int, default=40, help="so many of these")
    parser.add_argument("--failures", type=int, default=20, help="rounds of three edits in which the power fails")
    parser.add_argument("--damages", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    chance, began = random.Random(given.seed), time.monotonic()
    rounds, left, acknowledged, states = list[dict[str, Any]](), Counter[str](), 0, 0
    with tempfile.TemporaryDirectory() as place:
        folders = {name: Path(place) / name for name in SETTINGS}
        expected, lines, models = {}, {}, {}
        for name, folder in folders.items():
            lines[name] = count_lines(lambda name=name, folder=folder: train(name, folder))
            expected[name], models[name] = content(folder), nearspan.load(folder, device="cpu")
        copy = Path(place) / "copy"
        for number in range(given.kills - given.trainings):
            name = ("instance", "hire")[number // 20 % 2]
            if number % 20 == 0:  # a fresh copy now and then: a memory that shrinks to nothing tests nothing
                shutil.rmtree(copy, ignore_errors=True)
                shutil.copytree(folders[name], copy)
            rounds.append(kill_edits(copy, models[name], given.seed + number, number % 2 == 0))
        print(f"{len(rounds)} kills of edits and builds: {time.monotonic() - began:.0f} s", flush=True)
        for number in range(given.trainings):
            name = ("instance", "hire")[number % 2]
            training = Path(place) / "training"
            left[kill_training(training, name, expected[name], chance.randrange(1, lines[name]))] += 1
        print(f"{given.trainings} kills of trainings: {time.monotonic() - began:.0f} s", flush=True)
        for number in range(given.failures):
            name = ("instance", "hire")[number % 2]
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(folders[name], copy)
            made, opened = fail_power(copy, models[name], Path(place) / "state", given.seed + number)
            acknowledged, states = acknowledged + made, states + opened
        trained = sum(
            (
                fail_power_in_training(Path(place) / "training", name, expected[name], Path(place) / "state")
                for name in SETTINGS
            ),
            Counter[str](),
        )
        print(f"{states + trained.total()} power failures: {time.monotonic() - began:.0f} s", flush=True)
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folders["instance"], copy)
        outcomes = damage_journals(copy, models["instance"], given.damages, given.seed)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout
    numbers = {name: value for name, value in vars(given).items() if name != "out"}
    result = {
        "command": f"python benchmarks/kills.py {' '.join(f'--{name} {value}' for name, value in numbers.items())}",
        "commit": commit.strip(),
        "kills": {
            "kills": len(rounds) + given.trainings,
            "killed_while": dict(Counter(each["pending"] or "idle" for each in rounds)) | {"train": given.trainings},
            "edits_acknowledged": sum(each["edits"] for each in rounds),
            "edits_lost": 0,  # an assertion ends the run otherwise
            "made_though_not_acknowledged": sum(each["kept"] for each in rounds),
            "left_of_trainings": dict(left),
            "trainings_that_ended_otherwise": 0,
        },
        "power_failures": {
            "states_of_edits_and_builds": states,
            "edits_acknowledged": acknowledged,
            "edits_lost": 0,
            "states_of_trainings": dict(trained),
            "other_models": 0,
        },
        "damages": {"journals": sum(outcomes.values()), "outcomes": dict(outcomes), "opened_with_fewer_edits": 0},
        "seconds": round(time.monotonic() - began),
        "hardware": f"CPU, {os.cpu_count()} cores, Python {platform.python_version()}, torch {torch.__version__}",
    }
    print(json.dumps(result, indent=1))
    if given.out:
        given.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
