"""What others wrote, labels, texts, ids and names of files, does not command the terminal."""

import re
from pathlib import Path

import pytest

import nearspan
from nearspan.document import Document, Entity

EVIL = "\x1b]0;owned\x07\x1b[31m\x9b1m"
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@pytest.fixture(scope="module")
def world(tiny, tmp_path_factory) -> tuple[Path, Path]:
    """A model and its corpus, whose names, labels, texts and ids hold escapes."""
    folder = tmp_path_factory.mktemp("escapes") / f"m{EVIL}"
    folder.mkdir()
    documents = [
        Document(f"{name} lives in {EVIL}Oslo", (Entity.of(0, 3, f"PER{EVIL}"),), id=f"d{EVIL}{number}")
        for number, name in enumerate(("Ada", "Bob", "Eve", "Ada"))
    ]
    gold = folder / f"gold{EVIL}.jsonl"
    nearspan.write(documents, gold)
    recipe = tiny("instance", "training.batch=2", "training.epochs=15", "training.learning_rate=0.02")
    nearspan.train(recipe, documents, documents, out=folder / "model", device="cpu")
    nearspan.load(folder / "model", device="cpu").memory.add(documents[0], 1.0)  # for the log
    return folder / "model", gold


COMMANDS = [
    ["check", "{gold}"],
    ["check", "{gold}{evil}"],
    ["convert", "{gold}", "{out}.conll"],
    ["evaluate", "{m}", "{gold}"],
    ["annotate", "{m}", "{gold}"],
    ["annotate", "{m}", "{evil}"],
    ["explain", "{m}", "Ada lives in {evil}Oslo"],
    ["explain", "{m}", "Ada lives in {evil}Oslo", "--json"],
    ["explain", "{m}", "Ada", "--span", "{evil}"],
    ["explain", "{m}", "Ada", "--html", "{out}.html"],
    ["audit", "{m}", "{gold}"],
    ["audit", "{m}", "{gold}", "--json"],
    ["memory", "{m}", "list"],
    ["memory", "{m}", "list", "--json"],
    ["memory", "{m}", "search", "Ada lives", "--span", "Ada"],
    ["memory", "{m}", "relabel", "--sentence", "0", "--span", "Ada", "--label", "", "--weight", "1"],
    ["memory", "{m}", "log"],
    ["report", "{m}", "{gold}", "--out", "{out}"],
    ["vectors", "{gold}", "--out", "{out}.txt", "--size", "2", "--epochs", "1"],
    ["train", "{evil}", "--train", "{gold}", "--out", "{out}"],
    ["--verbose", "evaluate", "{m}", "{gold}"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_lets_control_characters_through(world, tmp_path: Path, nearspan_command, command: list[str]):
    model, gold = world
    names = {"m": model, "gold": gold, "evil": EVIL, "out": tmp_path / f"out{EVIL}"}
    ran = nearspan_command(*(word.format(**names) for word in command))
    assert ran.out + ran.err or (command[0], ran.code) == ("audit", 0)  # where there is no issue, there is no JSON
    assert not CONTROL.search(ran.out + ran.err)
