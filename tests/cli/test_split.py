from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from nearspan.cli.split import split
from nearspan.errors import ConfigError, CorpusError
from nearspan.formats import read

app = typer.Typer()
app.command()(split)
app.callback()(lambda: None)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["split", *map(str, arguments)])


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "all.conll"
    path.write_text("".join(f"-DOCSTART- {number} O\n\nAda B-PER\nslept O\n\n" for number in range(20)))
    return path


def test_without_parts_there_are_three_in_the_format_of_the_source(source: Path):
    result = run(source)
    assert result.exit_code == 0
    assert [len(read(source.with_name(f"{name}.conll"))) for name in ("train", "dev", "test")] == [16, 2, 2]
    assert "PER" in result.stdout


def test_a_part_has_the_format_of_its_ending_and_may_take_the_rest(source: Path):
    assert run(source, "train.jsonl", "sub=5").exit_code == 0
    assert (read("train.jsonl").format, len(read("train.jsonl")), len(read("sub.conll"))) == ("jsonl", 15, 5)


def test_nothing_is_written_over(source: Path):
    source.with_name("dev.conll").write_text("Ada O\n")
    result = run(source)
    assert "dev.conll exists already" in str(result.exception)
    assert not source.with_name("train.conll").exists()
    assert run(source, "--force").exit_code == 0
    assert isinstance(run(source, "all=0.5", "other=0.5", "--force").exception, CorpusError)


def test_a_part_that_cannot_be_written_is_said_before_any_is(source: Path):
    result = run(source, "train=0.5", "dev.xyz=0.5")
    assert "the ending of dev.xyz names no format" in str(result.exception)
    assert not source.with_name("train.conll").exists()


def test_a_size_that_is_no_number_is_said(source: Path):
    result = run(source, "train=most", "dev=0.1")
    assert isinstance(result.exception, ConfigError)
    assert "give FILE=SIZE" in str(result.exception)


def test_a_label_that_is_not_in_every_part_is_said(source: Path):
    source.write_text(source.read_text().replace("Ada B-PER", "Ada B-RARE", 1))
    assert "not in every part: RARE" in run(source).stdout
