"""Outputs: never over what is read, over other files only where that is asked for."""

import os
import sys
from pathlib import Path

import pytest

from nearspan.errors import CorpusError
from nearspan.io.outputs import check_outputs

READ = "is among the files that are read, and would be lost"
THERE = "exists already: name another file, or say `force`"


@pytest.fixture
def gold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "gold.jsonl"
    path.write_text("{}\n")
    return path


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("spelling", ["same", "relative", "detour", "symbolic link", "hard link", "linked folder"])
def test_what_is_read_is_never_written_over(gold: Path, spelling: str, force: bool):
    other = gold.with_name("other.jsonl")
    if spelling == "symbolic link":
        other.symlink_to(gold)
    elif spelling == "hard link":
        os.link(gold, other)
    elif spelling == "linked folder":
        (gold.parent / "folder").symlink_to(gold.parent)
    names = {"same": gold, "relative": Path(gold.name), "detour": gold.parent / ".." / gold.parent.name / gold.name}
    names["linked folder"] = gold.parent / "folder" / gold.name
    with pytest.raises(CorpusError, match=READ):
        check_outputs([names.get(spelling, other)], [gold], force=force)


def test_a_file_of_a_folder_that_is_read_is_read(gold: Path):
    with pytest.raises(CorpusError, match=READ):
        check_outputs([gold], [gold.parent], force=True)
    check_outputs([gold.with_name("new.jsonl")], [gold.parent])


def test_a_file_that_is_there_needs_force(gold: Path):
    with pytest.raises(CorpusError, match=THERE):
        check_outputs([gold])
    check_outputs([gold], force=True)


def test_nothing_is_lost_with_an_empty_file_a_page_of_ours_and_no_file(gold: Path):
    gold.write_text("")
    page = gold.with_name("page.html")
    page.write_text("<!doctype html>\n<html><head><title>Evidence · nearspan</title>", encoding="utf-8")
    check_outputs([gold, page, gold.with_name("new.jsonl"), None])


def test_a_page_of_somebody_else_needs_force(gold: Path):
    page = gold.with_name("page.html")
    page.write_text("<!doctype html>\n<html><head><title>Thesis</title>", encoding="utf-8")
    with pytest.raises(CorpusError, match=THERE):
        check_outputs([page])


def test_pipes_and_devices_are_written_to(gold: Path):
    pipe = gold.with_name("pipe")
    os.mkfifo(pipe)
    check_outputs([pipe, Path("/dev/null"), Path("/dev/stdout"), Path("/dev/stderr")], [gold, pipe])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc/self/fd")
def test_an_open_file_is_not_replaced_but_may_not_be_read(gold: Path):
    with gold.open("ab") as stream:
        path = Path(f"/proc/self/fd/{stream.fileno()}")
        check_outputs([path])
        with pytest.raises(CorpusError, match=READ):
            check_outputs([path], [gold])


def test_two_outputs_are_two_files(tmp_path: Path):
    with pytest.raises(CorpusError, match="written twice"):
        check_outputs([tmp_path / "a.html", tmp_path / ".." / tmp_path.name / "a.html"])
