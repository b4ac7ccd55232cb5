from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from nearspan.cli.convert import convert
from nearspan.document import Document, Entity, Span
from nearspan.errors import ConfigError, CorpusError
from nearspan.formats import read, write
from nearspan.formats.markup import parse

app = typer.Typer()
app.command()(convert)
app.callback()(lambda: None)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["convert", *map(str, arguments)])


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.conll"
    path.write_text("Ada B-PER\nslept Q\nlong O\n")
    return path


@pytest.mark.parametrize("name", ["out.jsonl", "out.conll", "out"])
def test_the_ending_says_the_format(source: Path, name: str):
    target = source.with_name(name)
    result = run(source, target)
    assert result.exit_code == 0
    assert "1 documents with 1 entities" in result.stdout
    assert [len(document.entities) for document in read(target)] == [1]


def test_formats_can_be_said(source: Path):
    target = source.with_name("out.txt")
    assert run(source, target, "--from", "conll", "--to", "pubtator").exit_code == 0
    assert read(target).format == "pubtator"


def test_problems_and_changes_are_listed_on_stderr(source: Path):
    result = run(source, source.with_name("out"))
    assert "in.conll:2: unknown tag" in result.stderr
    assert "changed: brat keeps" in result.stderr
    assert "unknown tag" not in result.stdout


def test_what_does_not_fit_is_an_error_and_writes_nothing(tmp_path: Path):
    source = tmp_path / "in.jsonl"
    source.write_text('{"text": "a b c", "entities": [{"fragments": [[0, 1], [4, 5]], "label": "X"}]}\n')
    assert isinstance(run(source, tmp_path / "out.conll").exception, CorpusError)
    assert not (tmp_path / "out.conll").exists()


@pytest.fixture
def apart(tmp_path: Path) -> Path:
    path = tmp_path / "apart.jsonl"
    write([parse("[pain in](S#1) [[arms](B)](C) and [legs](S#1) and [eyes](B)")], path)
    return path


def test_the_error_says_how_entities_that_do_not_fit_can_be_written(apart: Path):
    message = str(run(apart, apart.with_name("out.conll")).exception)
    assert "'pain in legs' is discontinuous, which CoNLL columns cannot hold" in message
    assert "say with --drop or --flatten what becomes of such entities" in message


def test_discontinuous_entities_can_be_dropped(apart: Path):
    target = apart.with_name("out.conll")
    result = run(apart, target, "--drop")
    assert "out.conll: changed: entities left out: discontinuous: 1" in result.stderr
    assert "1 documents with 3 entities written" in result.stdout
    assert [entity.text for entity in read(target)[0].entities] == ["arms", "arms", "eyes"]
    assert run(apart, apart.with_name("all.jsonl"), "--drop").exit_code == 0
    assert read(apart.with_name("all.jsonl")).entity_count == 4


def test_entities_can_be_flattened(apart: Path):
    target = apart.with_name("out.conll")
    result = run(apart, target, "--flatten")
    assert "changed: entities left out: they share words with a wider one: 2" in result.stderr
    assert "changed: discontinuous entities made contiguous: 1" in result.stderr
    assert "1 documents with 2 entities written" in result.stdout
    assert {len(line.split("\t")) for line in target.read_text().splitlines() if line} == {2}
    assert [entity.text for entity in read(target)[0].entities] == ["pain in arms and legs", "eyes"]


def test_of_two_labels_the_first_or_the_likelier_is_kept(tmp_path: Path):
    two = (Entity.of(0, 4, "A", score=0.2), Entity.of(0, 4, "B", score=0.7))
    changes = write([Document("Oslo", two)], tmp_path / "a.jsonl", unfit="flatten")
    assert [change.lost for change in changes] == [1]
    assert [entity.label for entity in read(tmp_path / "a.jsonl")[0].entities] == ["B"]


def test_drop_and_flatten_exclude_each_other(apart: Path):
    assert isinstance(run(apart, apart.with_name("out.conll"), "--drop", "--flatten").exception, ConfigError)


def test_labels_can_be_chosen(source: Path):
    source.write_text("Ada B-PER\nin O\nOslo B-LOC\n")
    target = source.with_name("out.jsonl")
    assert run(source, target, "--labels", "LOC").exit_code == 0
    assert [entity.label for document in read(target) for entity in document.entities] == ["LOC"]


def test_a_label_that_no_entity_has_is_named(source: Path):
    result = run(source, source.with_name("out.jsonl"), "--labels", "PERS")
    assert isinstance(result.exception, CorpusError)
    assert "did you mean 'PER'?" in str(result.exception)
    assert not source.with_name("out.jsonl").exists()


def test_attributes_stay_with_flattened_entities_and_are_counted_where_a_format_has_none(tmp_path: Path):
    entity = Entity(Span(((0, 1), (2, 4))), "X", attributes={"concept": "C1"})
    write([Document("Oslo", (entity,))], tmp_path / "a.jsonl", unfit="flatten")
    assert read(tmp_path / "a.jsonl")[0].entities[0].attributes == {"concept": "C1"}
    for name in ("a.conll", "a.pubtator"):
        changes = write(read(tmp_path / "a.jsonl"), tmp_path / name)
        assert any("entities whose attributes are not kept: 1" in str(change) for change in changes)
