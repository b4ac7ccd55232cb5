"""Long files of plain JSON lines are read as blocks, and what is read and counted is what a short file gives."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from nearspan.formats import read, source, statistics, stream
from nearspan.formats.plain_block import PlainBlock
from nearspan.formats.source import Source

CHARACTERS = "abAB  01.,.'-_=*~!?#()[]{}\"<>:;/\\&%$@^`|\té一 \n"


@pytest.fixture
def long_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "SAMPLE", 200)
    monkeypatch.setattr(source, "_BLOCK", 600)


def records(seed: int) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    made: list[dict[str, Any]] = []
    for number in range(40):
        text = "".join(chance.choices(CHARACTERS if seed % 2 else "ab AB. ", k=chance.randint(0, 50)))
        places = sorted(sorted(chance.sample(range(51), 2)) for _ in range(chance.randint(0, 3)))
        entities = [{"start": a, "end": b, "label": chance.choice("XY")} for a, b in places if b <= len(text)]
        made.append({"id": str(number), "text": text, "entities": entities})
    return made


def lines(*values: Any) -> str:
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)


@pytest.mark.parametrize("seed", range(6))
def test_a_long_file_gives_what_a_short_one_does(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a").write_text(lines(*records(seed)))
    short = read(tmp_path / "a")
    expected = statistics(short)
    monkeypatch.setattr(source, "SAMPLE", 200)
    monkeypatch.setattr(source, "_BLOCK", 600)
    assert read(tmp_path / "a").documents == short.documents
    counts = statistics(tmp_path / "a")
    assert sorted(map(str, counts.pop("problems"))) == sorted(map(str, expected.pop("problems")))
    assert counts == expected


def block(*values: str) -> PlainBlock | None:
    return PlainBlock.of(Source(Path("a.jsonl"), ""), "\n".join(values), 5, 2)


ADA = '{"text": "Ada: so", "entities": [{"start": 0, "end": 3, "label": "PER"}]}'


def test_documents_without_ids_are_called_by_their_numbers():
    made = block(ADA, ADA)
    assert made is not None
    placed = list(made)
    assert [(document.id, place().line) for document, place in placed] == [("a.jsonl#2", 5), ("a.jsonl#3", 6)]


@pytest.mark.parametrize(
    "line",
    [
        '{"text": "Ada: so", "text": "Ada", "entities": []}',
        '{"text": "Ada: so", "text" : "Ada", "entities": []}',
        '{"text": "Ada: so", "entities": [{"start": 0, "end": 3, "end": 2, "label": "PER"}]}',
        '{"text": "Ada", "entities": [{"start": 0, "end": 4, "label": "PER"}]}',
        '{"text": "Ada", "entities": [{"start": 1, "end": 2, "label": "X"}, {"start": 0, "end": 3, "label": "X"}]}',
        '{"text": "Ada", "entities": [{"start": 0, "end": 3, "label": " X"}]}',
        '{"text": "Ada", "entities": [{"start": 0.0, "end": 3, "label": "X"}]}',
        '{"text": "Ada", "entities": [{"start": false, "end": 3, "label": "X"}]}',
        '{"text": "Ada", "entities": [{"start": 0, "end": 3, "label": "X", "note": 1}]}',
        '{"text": "Ada", "entities": []} {}',
        '{"text": "Ada", "entities": []}x',
        '{"text": "\\ud800", "entities": []}',
        '{"text": "Ada", "spans": []}',
        "[]",
        "",
    ],
)
def test_a_line_that_is_not_plain_is_left_to_the_other_reader(line: str):
    assert block(ADA) is not None
    assert block(ADA, line) is None


@pytest.mark.usefixtures("long_files")
def test_a_stream_of_some_labels_is_not_counted_by_blocks(tmp_path: Path):
    (tmp_path / "a").write_text(lines(*records(0)))
    assert set(statistics(stream(tmp_path / "a").with_labels(["X"]))["types"]) == {"X"}
