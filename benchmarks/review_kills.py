"""Kill reviewers at any moment; see that no answer is lost and that no text is with both of them.

    OMP_NUM_THREADS=1 python benchmarks/review_kills.py --kills 200 --out benchmarks/results/review-kills.json

It trains a tiny model. In each round two forked children review sixty texts with one folder, as two reviewers. They
accept, correct, skip and undo at random, and say what they try before and what is acknowledged after. Each is killed
with SIGKILL, either from outside after a random time, or by itself at a random line of the code that reviews and
writes. Then the review is opened again. Every answer that was acknowledged and not undone is in the memory with its
entities, beside those at most that were being tried, and whoever was killed gets a text again. An answer that is
refused since the other reviewer has answered the text is counted as a collision. The run ends with an error at the
first loss.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import shutil
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from kills import EDITING, die_at_line, train
from many import current_commit

import nearspan
from nearspan.document import Entity
from nearspan.errors import AnsweredError, EditError
from nearspan.memory import Editor
from nearspan.model import Model
from nearspan.review import Review

REVIEWERS = ("ada", "bob")
ACTIONS, CHANCES = ("accept", "correct", "skip", "undo"), (5, 5, 1, 3)
FILES = (*EDITING, "memory/editor.py", "review/leases.py", "review/review.py", "review/queue.py")
NAMES = ("Zed", "Fay", "Ada Moon", "Bob Stone", "Eve")
TEXTS = [f"{name} {verb} {place}" for name in NAMES for verb in ("left", "saw", "likes") for place in "ABCD"]
Answers = dict[str, list[Any]]  # by text, its entities


def open_review(folder: Path, model: Model) -> Review:
    """The review as a new process finds it."""
    model._editor = Editor(folder, model)
    return model.review(TEXTS)


def review_at_random(review: Review, reviewer: str, chance: random.Random, say: Callable[..., None]) -> None:
    """Answer, skip and undo without end."""
    while True:
        action = chance.choices(ACTIONS, CHANCES)[0]
        if action == "undo":
            say(trying=action)
            try:
                say(done=action, text=review.undo(reviewer).document.text)
            except EditError:  # there is nothing to undo
                say(done="nothing")
            continue
        task = review.next(reviewer)
        if task is None:
            say(done="nothing")
            time.sleep(0.01)
            continue
        document = task.document
        if action == "skip":
            review.skip(document, reviewer)
            continue
        if action == "correct":
            start, end = chance.choice(document.words or ())
            document = document.with_entities([Entity.of(start, end, chance.choice(review.model.labels[1:]))])
        content = {"text": document.text, "entities": write_entities(document)}
        say(trying=action, **content)
        try:
            review.answer(document, reviewer)
            say(done=action, **content)
        except AnsweredError:
            say(done="collision", **content)


def write_entities(document: nearspan.Document) -> list[Any]:
    return [[entity.start, entity.end, entity.label] for entity in document.entities]


def held(review: Review) -> Answers:
    """The answers that the memory has."""
    return {document.text: write_entities(document) for document in review.answers()}


def start_child(work: Callable[[Callable[..., None]], None]) -> tuple[int, Any]:
    """A forked child's number, and the pipe on which it says what it does."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, os.fdopen(reader)
    os.close(reader)
    try:
        work(lambda **what: os.write(writer, (json.dumps(what | {"at": time.monotonic()}) + "\n").encode()))  # type: ignore[arg-type, return-value]
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def kill_reviewers(folder: Path, model: Model, seed: int, before: Answers) -> tuple[Answers, Counter[str]]:
    """Let two reviewers work, kill both, and check what is there; the answers from now on, and what was done."""
    children, chance = [], random.Random(seed)
    itself = {name: chance.random() < 0.5 for name in REVIEWERS}
    for name in REVIEWERS:

        def work(say: Callable[..., None], name: str = name) -> None:
            own = random.Random(f"{seed} {name}")
            review = open_review(folder, model)
            say(done="open")
            if itself[name]:
                die_at_line(FILES, own.randrange(1, 6000))
            review_at_random(review, name, own, say)

        children.append(start_child(work))
    said = {}
    first_lines = [stream.readline() for _, stream in children]
    time.sleep(chance.random() * 3)
    for name, (pid, stream), first in zip(REVIEWERS, children, first_lines, strict=True):
        if not itself[name]:
            os.kill(pid, signal.SIGKILL)
        lines = [first, *stream]
        _, status = os.waitpid(pid, 0)
        assert os.WIFSIGNALED(status), "the child was not killed"
        said[name] = [json.loads(line) for line in lines if line.endswith("\n")]
    return check(folder, model, said, before)


def check(
    folder: Path, model: Model, said: dict[str, list[dict[str, Any]]], before: Answers
) -> tuple[Answers, Counter[str]]:
    """The answers that are there; an assertion fails where one that was acknowledged is not."""
    expected, open_questions, counts = dict(before), dict[str, list[Any] | None](), Counter[str]()
    for line in sorted(
        (line for lines in said.values() for line in lines if "done" in line), key=lambda each: each["at"]
    ):
        counts[line["done"]] += 1
        if line["done"] in ("accept", "correct"):
            expected[line["text"]] = line["entities"]
        elif line["done"] == "undo":
            expected.pop(line["text"])
    for lines in said.values():
        pending = lines[-1] if "trying" in lines[-1] else {}
        counts["killed while " + pending.get("trying", "idle")] += 1
        if "text" in pending:
            open_questions[pending["text"]] = pending["entities"]
        elif pending:
            open_questions |= dict.fromkeys(expected)  # an undo of any of this reviewer's
    review = open_review(folder, model)
    now, undone = held(review), 0
    for text in expected.keys() | now.keys():
        if now.get(text) == expected.get(text):
            continue
        assert text in open_questions, f"{text!r}: {expected.get(text)} was acknowledged, {now.get(text)} is there"
        if text in now:
            assert now[text] == open_questions[text], f"{text!r} has entities that nobody has given"
        undone += text not in now
        counts["made though not acknowledged"] += 1
    assert undone <= len(REVIEWERS), "more answers are gone than were being undone"
    asked = [task.id for name in REVIEWERS if (task := review.next(name))]
    assert len(set(asked)) == len(asked), "two reviewers have the same text"
    return now, counts


def main() -> None:
    """Kill until it is enough."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200, help="of reviewers, two a round")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    began, counts, answers = time.monotonic(), Counter[str](), Answers()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place:
        train("instance", Path(place) / "model")
        model, copy = nearspan.load(Path(place) / "model", device="cpu"), Path(place) / "copy"
        for number in range(given.kills // 2):
            if number % 5 == 0:  # afresh before all texts are answered
                shutil.rmtree(copy, ignore_errors=True)
                shutil.copytree(Path(place) / "model", copy)
                answers = {}
            answers, done = kill_reviewers(copy, model, given.seed + number, answers)
            counts += done
    result = {
        "command": f"python benchmarks/review_kills.py --kills {given.kills} --seed {given.seed}",
        "commit": current_commit(),
        "kills": given.kills // 2 * 2,
        "answers_acknowledged": counts["accept"] + counts["correct"],
        "answers_undone": counts["undo"],
        "answers_lost": 0,  # an assertion ends the run otherwise
        "made_though_not_acknowledged": counts["made though not acknowledged"],
        "collisions": counts["collision"],
        "killed_while": {
            name.removeprefix("killed while "): count for name, count in counts.items() if name.startswith("killed")
        },
        "seconds": round(time.monotonic() - began),
        "hardware": f"CPU, {os.cpu_count()} cores, Python {platform.python_version()}, torch {torch.__version__}",
    }
    print(json.dumps(result, indent=1))
    if given.out:
        given.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
