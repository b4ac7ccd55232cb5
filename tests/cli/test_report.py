from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import nearspan
from nearspan.cli import app
from nearspan.document import Document
from nearspan.errors import ConfigError


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["report", *map(str, arguments)])


@pytest.fixture
def corpus(tmp_path: Path, documents: list[Document]) -> Path:
    path = tmp_path / "corpus.jsonl"
    nearspan.write(documents, path)
    return path


def test_the_page_and_the_numbers_are_written(tmp_path: Path, folders: dict[str, Path], corpus: Path):
    out = tmp_path / "report"
    result = run(folders["instance"], corpus, "--out", out, "--device", "cpu")
    assert result.exit_code == 0, result.output
    assert str(out / "report.html") in result.stdout
    assert sorted(path.name for path in out.iterdir()) == ["report.html", "report.json"]


@pytest.mark.parametrize("option", ["--sizes", "--occurrences"])
def test_wrong_curves_are_refused_before_any_work(tmp_path: Path, corpus: Path, option: str):
    result = run(tmp_path / "nowhere", corpus, "--out", tmp_path / "report", option, "-3")
    assert isinstance(result.exception, ConfigError)
    assert not (tmp_path / "report").exists()
