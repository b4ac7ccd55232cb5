"""The journal and its manifest: what was acknowledged is there, and damage is refused."""

import json
import os
import random
from pathlib import Path

import pytest
import torch

from nearspan.errors import ModelError
from nearspan.io.memory_files import (
    FILES,
    JOURNAL,
    MANIFEST,
    NEXT,
    SENTENCES,
    VECTORS,
    Journal,
    current_file,
    finish_swap,
    write_journal,
)
from nearspan.io.tensors import save_tensors


def begin(folder: Path, text: str = "{}\n") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / SENTENCES).write_text(text)
    save_tensors({"a": torch.zeros(2)}, folder / VECTORS, {"sentences": text})
    write_journal(folder)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A memory with three edits."""
    write(begin(tmp_path), 3)
    return tmp_path


def write(folder: Path, count: int) -> None:
    for number in range(1, count + 1):
        Journal.read(folder).append({"number": number, "text": f"forget {number}: \u2028 \u00fc"})


def lines_of(folder: Path) -> list[bytes]:
    return Journal.read(folder).lines


def test_lines_are_read_back_and_are_json(folder: Path):
    assert [json.loads(line)["number"] for line in lines_of(folder)] == [1, 2, 3]


def test_an_edit_writes_the_journal_and_its_manifest_alone(folder: Path):
    before = {path.name for path in folder.iterdir()}
    write(folder, 1)
    assert {path.name for path in folder.iterdir()} == before == {*FILES, JOURNAL, MANIFEST}


def test_the_manifest_knows_where_the_chain_stands(folder: Path):
    manifest = json.loads((folder / MANIFEST).read_text())
    last = json.loads(lines_of(folder)[-1])
    assert (manifest["edits"], manifest["chain"]) == (3, last["chain"])


def whole_lines(content: bytes) -> list[bytes]:
    return content.split(b"\n")[:-1]


DAMAGE = {
    "cut to nothing": lambda c: b"",
    "halved": lambda c: c[: len(c) // 2],
    "the last line cut": lambda c: c[:-5],
    "without its last line break": lambda c: c[:-1],
    "all zeros": lambda c: bytes(len(c)),
    "zeros at the end": lambda c: c[:-40] + bytes(40),
    "without its first line": lambda c: b"\n".join([*whole_lines(c)[1:], b""]),
    "without its middle line": lambda c: b"\n".join([whole_lines(c)[0], whole_lines(c)[2], b""]),
    "without its last line": lambda c: b"\n".join([*whole_lines(c)[:2], b""]),
    "lines swapped": lambda c: b"\n".join([*(whole_lines(c)[i] for i in (1, 0, 2)), b""]),
    "a line twice": lambda c: b"\n".join([*(whole_lines(c)[i] for i in (0, 1, 1, 2)), b""]),
    "one byte changed": lambda c: c.replace(b"forget 2", b"forget 9"),
    "the last byte of an edit changed": lambda c: c.replace(b'"}\n', b'"]\n'),
    "a foreign line": lambda c: c + b'{"number": 4}\n',
    "a foreign first line": lambda c: b'{"number": 0}\n' + c,
    "text": lambda c: b"some words\n" * 20,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_refused_and_the_next_edit_is_not_written_over_it(folder: Path, damage: str):
    path = folder / JOURNAL
    journal, damaged = Journal.read(folder), DAMAGE[damage](path.read_bytes())
    assert damaged != path.read_bytes()
    path.write_bytes(damaged)
    with pytest.raises(ModelError, match=r"journal\.jsonl is damaged: .* repair"):
        Journal.read(folder)
    assert path.read_bytes() == damaged
    assert len(journal.lines) == 3


@pytest.mark.parametrize("name", [JOURNAL, MANIFEST])
@pytest.mark.parametrize("content", [None, "pipe", b"", b"\0" * 50, b"[]", b"{}", b"[" * 100_000, b'{"journal": 3}'])
def test_a_journal_without_its_manifest_and_a_manifest_without_its_journal_are_refused(
    folder: Path, name: str, content
):
    (folder / name).unlink()
    if content == "pipe":
        os.mkfifo(folder / name)
    elif content is not None:
        (folder / name).write_bytes(content)
    with pytest.raises(ModelError, match=r"repair|put back"):
        Journal.read(folder)


@pytest.mark.parametrize(
    "change",
    [{"edits": -1}, {"edits": "3"}, {"edits": True}, {"chain": 3}, {"base": None}, {"base": "\ud800"}, {"more": 1}],
)
def test_a_manifest_with_other_values_is_refused(folder: Path, change: dict):
    content = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps(content | change))
    with pytest.raises(ModelError, match=r"memory\.json is damaged"):
        Journal.read(folder)


def test_the_journal_of_another_memory_is_refused(folder: Path, tmp_path: Path):
    other = begin(tmp_path / "other", "{}\n{}\n")
    write(other, 3)
    (folder / JOURNAL).write_bytes((other / JOURNAL).read_bytes())
    with pytest.raises(ModelError, match="of 3 edits only the first 0 are as they were written"):
        Journal.read(folder)


def test_an_earlier_manifest_takes_the_edits_that_are_whole(folder: Path):
    """As a crash leaves it after an edit was written, and before the manifest counts it."""
    before = (folder / MANIFEST).read_bytes()
    write(folder, 1)
    (folder / MANIFEST).write_bytes(before)
    assert len(lines_of(folder)) == 4


def test_of_a_line_that_was_not_acknowledged_a_part_is_left_out_and_the_next_edit_takes_its_place(folder: Path):
    path, manifest = folder / JOURNAL, (folder / MANIFEST).read_bytes()
    before = path.read_bytes()
    write(folder, 1)
    after = path.read_bytes()
    torn = [after[:size] for size in range(len(before), len(after))]
    torn += [before + bytes(n) + after[len(before) + n :] for n in range(1, len(after) - len(before), 7)]
    for content in torn:
        path.write_bytes(content)
        (folder / MANIFEST).write_bytes(manifest)
        assert len(lines_of(folder)) == 3
        Journal.read(folder).append({"number": 4, "text": "another"})
        assert json.loads(lines_of(folder)[3])["text"] == "another"


def test_a_full_disk_loses_nothing(folder: Path, full_disk):
    before, size = (folder / MANIFEST).read_bytes(), (folder / JOURNAL).stat().st_size
    with full_disk(size + 20), pytest.raises(OSError, match="large"):
        write(folder, 1)
    assert len(lines_of(folder)) == 3
    assert ((folder / MANIFEST).read_bytes(), (folder / JOURNAL).stat().st_size) == (before, size)


def test_where_the_manifest_cannot_be_written_the_line_goes_again(folder: Path, monkeypatch):
    size = (folder / JOURNAL).stat().st_size
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space"):
        write(folder, 1)
    assert (folder / JOURNAL).stat().st_size == size
    assert not (folder / f".{MANIFEST}.new").exists()


@pytest.mark.parametrize("name", [f".{MANIFEST}.new", JOURNAL])
def test_a_planted_link_is_not_followed(folder: Path, tmp_path: Path, name: str):
    victim = tmp_path / "victim"
    victim.write_bytes(content := (folder / JOURNAL).read_bytes())
    journal = Journal.read(folder)
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(victim)
    if name == JOURNAL:
        with pytest.raises(OSError, match="symbolic link"):
            journal.append({"number": 4})
    else:
        journal.append({"number": 4})
    assert victim.read_bytes() == content


def test_200_random_damages_are_refused_or_do_no_harm(folder: Path):
    chance, path = random.Random(5), folder / JOURNAL
    whole, manifest = path.read_bytes(), (folder / MANIFEST).read_bytes()
    expected, refused = lines_of(folder), 0
    for _ in range(200):
        content, start, end = bytearray(whole), *sorted(chance.sample(range(len(whole) + 1), 2))
        kind = chance.randrange(6)
        if kind == 0:
            del content[start:end]
        elif kind == 1:
            content[start:end] = bytes(end - start)
        elif kind == 2:
            content[start:start] = content[start:end]
        elif kind == 3:
            content[start % len(content)] ^= 1 << chance.randrange(8)
        elif kind == 4:
            content[start:start] = chance.randbytes(chance.randrange(1, 9))
        else:
            content[start:end] = bytes(reversed(content[start:end]))
        path.write_bytes(bytes(content))
        if chance.random() < 0.2:
            (folder / MANIFEST).write_bytes(manifest[: chance.randrange(len(manifest))])
        try:
            assert lines_of(folder) == expected
        except ModelError:
            refused += 1
        (folder / MANIFEST).write_bytes(manifest)
    assert refused > 190


@pytest.mark.parametrize("moved", range(5))
def test_a_memory_that_is_half_moved_to_its_place_is_found_and_settled(folder: Path, moved: int):
    """As a crash after `moved` of the four files leaves it."""
    new = begin(folder / NEXT, "new\n")
    for name in (*FILES, JOURNAL, MANIFEST)[:moved]:
        (new / name).replace(folder / name)
    assert lines_of(folder) == []
    assert current_file(folder, SENTENCES).read_text() == "new\n"
    finish_swap(folder)
    assert not new.exists()
    assert lines_of(folder) == []
    assert (folder / SENTENCES).read_text() == "new\n"
