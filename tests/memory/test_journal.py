"""The journal: whole lines only, whatever a crash leaves; one memory's edits are no other's."""

import json
from pathlib import Path

import pytest

from nearspan.errors import EditError, ModelError
from nearspan.knn.storage import FILES, JOURNAL, NEXT, SENTENCES
from nearspan.memory.edits import Edit
from nearspan.memory.journal import LOCK, Journal, finish_swap


def edit(number: int, summary: str = "forget 'd'") -> Edit:
    return Edit(number, "2024-01-01T00:00:00+00:00", "forget", summary, {"sentences": [number]}, ("gone: ü\u2028",))


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    (tmp_path / SENTENCES).write_text("{}\n")
    return Journal(tmp_path)


def written(journal: Journal, count: int) -> list[Edit]:
    edits = [edit(number) for number in range(1, count + 1)]
    for one in edits:
        with journal.locked():
            journal.append(one)
    return edits


def test_edits_are_read_back(journal: Journal):
    assert journal.read() == []
    assert journal.read() == written(journal, 0)
    assert written(journal, 3) == journal.read()


def test_an_edit_writes_only_the_journal(journal: Journal):
    written(journal, 2)
    assert {path.name for path in journal.folder.iterdir()} - {LOCK} == {SENTENCES, JOURNAL}
    assert (journal.folder / SENTENCES).read_text() == "{}\n"


def test_cut_at_any_byte_the_earlier_edits_are_there_and_the_next_writer_mends_it(journal: Journal):
    edits = written(journal, 2)
    path = journal.folder / JOURNAL
    before = path.read_bytes()
    with journal.locked():
        journal.append(edit(3))
    after = path.read_bytes()
    assert after.startswith(before)
    for size in range(len(before), len(after)):  # a crash while the third edit is written
        path.write_bytes(after[:size])
        assert journal.read() == edits
        if size % 10 == 0:
            with journal.locked():
                journal.append(edit(3, "another"))
            assert journal.read() == [*edits, edit(3, "another")]
    path.write_bytes(after)
    assert journal.read() == [*edits, edit(3)]


def test_cut_anywhere_it_holds_a_beginning_of_its_edits(journal: Journal):
    edits = written(journal, 3)
    whole = (journal.folder / JOURNAL).read_bytes()
    for size in range(len(whole)):
        (journal.folder / JOURNAL).write_bytes(whole[:size])
        found = journal.read()
        assert found == edits[: len(found)]
        assert len(found) == max(0, whole[:size].count(b"\n") - 1)


def test_a_journal_of_another_memory_is_none_of_this(journal: Journal):
    written(journal, 2)
    (journal.folder / SENTENCES).write_text('{"other": 1}\n')
    assert journal.read() == []
    with journal.locked():
        journal.append(edit(1, "new"))
    assert journal.read() == [edit(1, "new")]


@pytest.mark.parametrize("line", ["nonsense", "{}", '{"number": 1}', '{"number": 1, "time": "", "kind": "explode"}'])
def test_a_damaged_line_is_a_clear_error(journal: Journal, line: str):
    written(journal, 1)
    with (journal.folder / JOURNAL).open("a") as file:
        file.write(line + "\n")
    with pytest.raises(ModelError, match="damaged"):
        journal.read()


def test_a_journal_of_another_format_is_a_clear_error(journal: Journal):
    (journal.folder / JOURNAL).write_text(json.dumps({"journal": 99, "base": ""}) + "\n")
    with pytest.raises(ModelError, match="format 99"):
        journal.read()


def test_a_full_disk_loses_nothing(journal: Journal, full_disk):
    edits = written(journal, 2)
    size = (journal.folder / JOURNAL).stat().st_size
    with full_disk(size + 20), pytest.raises(EditError, match="cannot edit"), journal.locked():
        journal.append(edit(3))
    assert journal.read() == edits
    assert (journal.folder / JOURNAL).stat().st_size == size


def test_another_editor_is_waited_for(journal: Journal):
    other = Journal(journal.folder, patience=0)
    with journal.locked(), pytest.raises(EditError, match=r"another editor has held .* for 0 s"), other.locked():
        pass


def test_the_state_changes_with_each_edit_and_with_nothing_else(journal: Journal):
    seen = [journal.state()]
    for number in (1, 2):
        with journal.locked():
            journal.append(edit(number))
        assert journal.state() not in seen
        assert journal.state() == journal.state()
        journal.read()
        seen.append(journal.state())


@pytest.mark.parametrize("moved", range(4))
def test_a_memory_that_is_half_moved_to_its_place_is_found_and_settled(journal: Journal, moved: int):
    """As a crash after `moved` of the three files leaves it."""
    names = [*FILES, JOURNAL]
    written(journal, 2)
    (journal.folder / NEXT).mkdir()
    for place, name in enumerate(names):
        folder = journal.folder if place < moved else journal.folder / NEXT
        (folder / name).write_text("new\n" if name != JOURNAL else "")
    assert journal.read() == []
    finish_swap(journal.folder)
    assert not (journal.folder / NEXT).exists()
    assert [(journal.folder / name).read_text() for name in FILES] == ["new\n"] * 2
    assert journal.read() == []


def test_a_journal_that_cannot_be_read_is_a_clear_error(journal: Journal):
    (journal.folder / JOURNAL).mkdir()
    with pytest.raises(ModelError, match=r"cannot read .*journal\.jsonl: Is a directory"):
        journal.read()
