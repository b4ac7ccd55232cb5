import os
from collections.abc import Iterator
from errno import EACCES, ENOSPC, EPERM
from pathlib import Path

import pytest

from nearspan.document import Document
from nearspan.errors import CorpusError
from nearspan.formats import write
from nearspan.io.atomic import write_file


def full_disk(*_: object) -> None:
    raise OSError(ENOSPC, "No space left on device")


def test_a_full_disk_is_an_error_and_the_old_file_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "a.jsonl"
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(CorpusError, match="No space left"):
        write([Document("new")], path, force=True)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_interrupted_write_leaves_nothing_behind(tmp_path: Path):
    def pieces() -> Iterator[str]:
        yield "half"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_file(tmp_path / "a", pieces())
    assert list(tmp_path.iterdir()) == []


def test_a_lone_surrogate_cannot_be_written(tmp_path: Path):
    with pytest.raises(CorpusError, match=r"U\+D800"):
        write([Document("\ud800")], tmp_path / "a.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_an_error(tmp_path: Path):
    with pytest.raises(CorpusError, match="there is no folder"):
        write([Document("a")], tmp_path / "no" / "a.jsonl")


def test_a_folder_is_not_replaced_by_a_file(tmp_path: Path):
    with pytest.raises(CorpusError, match="is a folder"):
        write([Document("a")], tmp_path, "jsonl")


def test_a_link_stays_a_link(tmp_path: Path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_file(tmp_path / "link", ["new"])
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_what_only_its_owner_may_read_stays_so(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    path.touch(0o600)

    def pieces() -> Iterator[str]:
        assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}  # while it is written too
        yield "new"

    write_file(path, pieces())
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_folder_that_only_its_owner_may_read_stays_so(tmp_path: Path):
    path = tmp_path / "brat"
    path.mkdir(0o700)
    write([Document("new")], path, "brat")
    assert path.stat().st_mode & 0o777 == 0o700


def test_a_mode_that_cannot_be_set_is_let_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(EPERM, "Operation not permitted")

    path = tmp_path / "a"
    path.touch()
    monkeypatch.setattr(os, "chmod", refuse)
    write_file(path, ["new"])
    assert path.read_text() == "new"


def test_a_device_is_written_to_directly():
    write_file(Path(os.devnull), ["gone"])
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize("name", ["x" * 300 + ".jsonl", "x" * 300, "loop.jsonl", "loop"])
@pytest.mark.parametrize("format", [None, "jsonl", "brat"])
def test_a_target_that_cannot_be_reached_is_an_error(tmp_path: Path, name: str, format: str | None):
    for link in ("loop.jsonl", "loop"):
        (tmp_path / link).symlink_to(link)
    with pytest.raises(CorpusError, match=r"cannot be written: (File name too long|Too many levels)"):
        write([Document("a")], tmp_path / name, format)
    assert {path.name for path in tmp_path.iterdir()} == {"loop.jsonl", "loop"}


@pytest.mark.parametrize("format", [None, "jsonl", "brat"])
def test_a_target_in_a_closed_folder_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str | None):
    def closed(*_: object, **__: object) -> None:
        raise PermissionError(EACCES, "Permission denied")

    monkeypatch.setattr(Path, "stat", closed)
    with pytest.raises(CorpusError, match="cannot be written: Permission denied"):
        write([Document("a")], tmp_path / "a.jsonl", format)


@pytest.mark.parametrize("name", ["北" * 80 + ".jsonl", "北" * 80])
def test_a_long_name_in_wide_characters_can_be_written(tmp_path: Path, name: str):
    write([Document("a")], tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("number", ["987654", "9" * 20])
def test_a_file_that_is_not_open_cannot_be_written(number: str):
    with pytest.raises(CorpusError, match="cannot be written"):
        write_file(Path("/dev/fd") / number, ["one"])


def test_an_open_file_is_written_to_where_it_stands(tmp_path: Path):
    """As by `nearspan convert a.jsonl /dev/stdout >> log`: what others wrote to it stays, and so does the file."""
    log = tmp_path / "log.jsonl"
    log.write_text("before\n")
    with log.open("ab", buffering=0) as stream:
        inode = log.stat().st_ino
        for text in ("one\n", "two\n"):
            write_file(Path(f"/dev/fd/{stream.fileno()}"), [text])
        (tmp_path / "link").symlink_to(f"/proc/self/fd/{stream.fileno()}")
        write_file(tmp_path / "link", ["three\n"])
        stream.write(b"after\n")
    assert log.read_text() == "before\none\ntwo\nthree\nafter\n"
    assert log.stat().st_ino == inode
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "log.jsonl"]
