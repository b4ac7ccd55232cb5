"""The journal as the editor reads it: damage and values that no edit has are errors that name the line."""

import json
import shutil
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path

import pytest

import nearspan
from nearspan.document import Span
from nearspan.errors import EditError, ModelError
from nearspan.io.memory_files import JOURNAL, MANIFEST, Journal, Manifest
from nearspan.memory.editor import Editor
from nearspan.memory.lock import LOCK, lock_memory

TEXT = "[Zed](PERSON) left [Lima](PLACE)"


@pytest.fixture
def editor(folders, tmp_path: Path) -> Editor:
    return Editor.open(shutil.copytree(folders["instance"], tmp_path / "model"), device="cpu")


def change_line(folder: Path, old: str, new: str) -> None:
    """Change the only edit, with a chain and a manifest that fit it."""
    manifest = Manifest.read(folder / MANIFEST)
    line = (folder / JOURNAL).read_text(encoding="utf-8")
    assert old in line
    body = line[: line.rindex(', "chain"')].replace(old, new, 1).encode()
    chain = sha256(manifest.base.encode() + body).hexdigest()
    (folder / JOURNAL).write_bytes(body + f', "chain": "{chain}"}}\n'.encode())
    (folder / MANIFEST).write_text(json.dumps(asdict(replace(manifest, chain=chain))))


WRONG = {
    "not a number": ('"weight": 2.0', '"weight": NaN', "weight: .*finite"),
    "infinite": ('"weight": 2.0', '"weight": Infinity', "weight: .*finite"),
    "beyond all numbers": ('"weight": 2.0', '"weight": 1e400', "weight: .*finite"),
    "zero": ('"weight": 2.0', '"weight": 0', "weight: .*greater than 0"),
    "negative": ('"weight": 2.0', '"weight": -3', "weight: .*greater than 0"),
    "a text for a number": ('"weight": 2.0', '"weight": "2"', "weight: .*number"),
    "true for a number": ('"weight": 2.0', '"weight": true', "weight: .*number"),
    "a key that is missing": ('"count": 1, ', "", "count: Field required"),
    "a key too many": ('"count": 1, ', '"count": 1, "more": 1, ', "more: Extra"),
    "a count of another type": ('"count": 1', '"count": null', "count: .*integer"),
    "another count": ('"count": 1', '"count": 3', "line 1: .* has 1 sentences, not 3"),
    "an unknown kind": ('"kind": "add"', '"kind": "explode"', "add.*relabel"),
    "another number": ('"number": 1', '"number": 2', "edit 2 where 1 is expected"),
    "deep": ('"words": ', '"words": ' + "[" * 100_000, "recursion limit|Recursion"),
    "a span outside its text": ("[[[0, 3]]", "[[[0, 300]]", "line 1: "),
    "no JSON": ('{"number"', '"number"', "JSON"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_no_edit_has_is_an_error_that_names_the_line(editor: Editor, wrong: str):
    editor.add(TEXT, weight=2.0)
    old, new, message = WRONG[wrong]
    change_line(editor.folder, old, new)
    with pytest.raises(ModelError, match=rf"(journal\.jsonl:1|line 1)[^\n]*({message})|{message}") as raised:
        Editor.open(editor.folder, device="cpu")
    assert "1" in str(raised.value)
    with pytest.raises(ModelError):
        nearspan.load(editor.folder, device="cpu")


@pytest.mark.parametrize("weight", [float("nan"), float("inf"), 0, -1, "much", None])
def test_weights_that_are_none_are_refused(editor: Editor, weight):
    for edit in (lambda: editor.add(TEXT, weight), lambda: editor.relabel(0, Span.of(0, 3), "PLACE", weight)):
        with pytest.raises(EditError, match="a weight is a number above 0"):
            edit()
    assert editor.log() == []


@pytest.mark.parametrize("size", [0, 0.5, 0.99])
def test_a_forgotten_document_never_comes_back_with_a_journal_that_was_cut(editor: Editor, size: float):
    editor.add(TEXT)
    editor.forget("d3")
    path = editor.folder / JOURNAL
    path.write_bytes(path.read_bytes()[: int(size * path.stat().st_size)])
    with pytest.raises(ModelError, match=r"journal\.jsonl is damaged"):
        nearspan.load(editor.folder, device="cpu")
    with pytest.raises(ModelError, match=r"journal\.jsonl is damaged"):
        editor.add(TEXT)
    assert path.stat().st_size < 2000


def test_the_journal_of_another_memory_is_refused(editor: Editor, folders, documents, tmp_path: Path):
    other = Editor.open(shutil.copytree(folders["instance"], tmp_path / "other"), device="cpu")
    other.build(documents[:5])
    other.add(TEXT)
    for name in (JOURNAL, MANIFEST):
        shutil.copy(other.folder / name, editor.folder / name)
    with pytest.raises(ModelError, match=r"of another memory than memory\.jsonl and memory\.safetensors"):
        nearspan.load(editor.folder, device="cpu")


def test_an_edit_of_another_editor_is_taken_up_before_ones_own(editor: Editor):
    other = Editor.open(editor.folder, device="cpu")
    editor.add(TEXT)
    assert other.add(TEXT).number == 2
    assert editor.refresh()
    assert [edit.number for edit in editor.log()] == [1, 2]
    assert not editor.refresh()


def test_an_edit_that_was_written_and_never_acknowledged_is_taken_up_by_other_editors(editor: Editor):
    """As an editor leaves it that is killed before its manifest is in place."""
    other = Editor.open(editor.folder, device="cpu")
    before = (editor.folder / MANIFEST).read_bytes()
    editor.add(TEXT)
    (editor.folder / MANIFEST).write_bytes(before)
    assert other.remove(0).number == 2
    assert [edit.kind for edit in Editor.open(editor.folder, device="cpu").log()] == ["add", "remove"]


def test_another_editor_is_waited_for(editor: Editor):
    waiting = Editor(editor.folder, editor.model, patience=0)
    with lock_memory(editor.folder), pytest.raises(EditError, match=r"another editor has held .* for 0 s"):
        waiting.undo()


def test_a_planted_lock_is_not_followed(editor: Editor, tmp_path: Path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (editor.folder / LOCK).unlink(missing_ok=True)
    (editor.folder / LOCK).symlink_to(victim)
    with pytest.raises(EditError, match="cannot edit"):
        editor.add(TEXT)
    assert victim.read_text() == "precious"


def test_lines_have_a_chain_of_digests(editor: Editor):
    editor.add(TEXT)
    editor.undo()
    before = Journal.read(editor.folder).manifest.base
    for line in (editor.folder / JOURNAL).read_bytes().splitlines():
        body, chain = line[: line.rindex(b', "chain"')], json.loads(line)["chain"]
        assert chain == sha256(before.encode() + body).hexdigest()
        before = chain
