"""Repairing a journal: the edits before the damage are kept, the rest is put aside, and nothing goes unsaid."""

import shutil
from pathlib import Path

import pytest

import nearspan
from nearspan.errors import EditError, ModelError
from nearspan.io.memory_files import DAMAGED, JOURNAL, MANIFEST, VECTORS
from nearspan.memory import Editor, repair_journal


@pytest.fixture
def folder(folders, tmp_path: Path) -> Path:
    """A model with three edits, of which the last forgets a document."""
    folder = shutil.copytree(folders["instance"], tmp_path / "model")
    editor = Editor.open(folder, device="cpu")
    editor.add("[Zed](PERSON) left [Lima](PLACE)", weight=1)
    editor.remove(0)
    editor.forget("d3")
    return folder


def damage(folder: Path) -> bytes:
    """Change a byte of the last edit but one."""
    content = (folder / JOURNAL).read_bytes()
    (folder / JOURNAL).write_bytes(damaged := content.replace(b'"kind": "remove"', b'"kind": "Remove"'))
    return damaged


def test_a_whole_journal_needs_no_repair_journal(folder: Path):
    assert repair_journal(folder, lose_edits=True) == ["the journal is whole, with 3 edits: there is nothing to repair"]
    assert not (folder / DAMAGED).exists()


def test_what_would_be_lost_is_said_and_nothing_is_changed(folder: Path):
    damaged = damage(folder)
    report = "\n".join(repair_journal(folder))
    for part in (
        "only the first 1 are",
        "1 edit can be kept",
        "lost: edit 2: remove sentence 0",
        "lost: edit 3: forget 'd3'",
    ):
        assert part in report
    assert "forgotten is in the memory again" in report
    assert "--lose-edits" in report
    assert (folder / JOURNAL).read_bytes() == damaged
    with pytest.raises(ModelError):
        nearspan.load(folder, device="cpu")


def test_the_edits_before_the_damage_are_kept_and_the_rest_lies_aside(folder: Path):
    damaged = damage(folder)
    repair_journal(folder, lose_edits=True)
    assert (folder / DAMAGED).read_bytes() == damaged
    editor = Editor.open(folder, device="cpu")
    assert [edit.kind for edit in editor.log()] == ["add"]
    assert editor.sentences(document="d3")
    assert editor.forget("d3").number == 2


def test_a_build_leaves_nothing_of_what_lies_aside(folder: Path):
    damage(folder)
    repair_journal(folder, lose_edits=True)
    Editor.open(folder, device="cpu").build()
    assert not (folder / DAMAGED).exists()


@pytest.mark.parametrize("content", [None, b"", bytes(3000)])
def test_of_a_journal_that_is_gone_every_edit_is_lost(folder: Path, content):
    (folder / JOURNAL).unlink()
    if content is not None:
        (folder / JOURNAL).write_bytes(content)
    report = "\n".join(repair_journal(folder, lose_edits=True))
    assert "0 edits can be kept" in report
    assert report.count("nothing of it is left") == 3
    assert Editor.open(folder, device="cpu").log() == []


def test_without_a_manifest_there_may_have_been_more_edits(folder: Path):
    (folder / MANIFEST).unlink()
    assert any("there may have been more edits" in line for line in repair_journal(folder, lose_edits=True))
    assert len(Editor.open(folder, device="cpu").log()) == 3


def test_what_an_earlier_repair_put_aside_is_not_written_over(folder: Path):
    (folder / DAMAGED).write_text("precious")
    damage(folder)
    with pytest.raises(EditError, match="move it away first"):
        repair_journal(folder, lose_edits=True)
    assert (folder / DAMAGED).read_text() == "precious"


def test_a_memory_that_is_damaged_itself_is_not_repaired(folder: Path):
    (folder / VECTORS).unlink()
    with pytest.raises(EditError, match="damaged beside its journal, or there is none"):
        repair_journal(folder)


def test_the_command_says_it_and_does_it(folder: Path, nearspan_command):
    damage(folder)
    assert "lost: edit 3" in nearspan_command("memory", folder, "repair").out
    assert nearspan_command("memory", folder, "log").code == 2
    assert "holds 1 edit now" in nearspan_command("memory", folder, "repair", "--lose-edits").out
    assert nearspan_command("memory", folder, "log").out.startswith("1  ")
