from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from nearspan.cli.convert import convert
from nearspan.errors import CorpusError
from nearspan.formats import read

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
