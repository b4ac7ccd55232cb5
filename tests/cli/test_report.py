from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import nearspan
from nearspan.cli import app
from nearspan.cli.report import parse_occurrences, parse_sizes
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


def test_the_papers_have_a_page_of_their_own(tmp_path: Path, folders: dict[str, Path], corpus: Path):
    out = tmp_path / "report"
    result = run(folders["instance"], corpus, "--out", out, "--papers", "--device", "cpu")
    assert result.exit_code == 0, result.output
    names = ["papers.html", "papers.json", "report.html", "report.json"]
    assert sorted(path.name for path in out.iterdir()) == names
    assert "corpus.jsonl" in (out / "papers.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("option", ["--sizes", "--occurrences"])
def test_wrong_curves_are_refused_before_any_work(tmp_path: Path, corpus: Path, option: str):
    result = run(tmp_path / "nowhere", corpus, "--out", tmp_path / "report", "--papers", option, "-3")
    assert isinstance(result.exception, ConfigError)
    assert option in str(result.exception)
    assert not (tmp_path / "report").exists()


@pytest.mark.parametrize("option", ["--sizes", "--occurrences", "--train", "--dev"])
def test_options_of_the_curves_need_papers(tmp_path: Path, corpus: Path, option: str):
    value = corpus if option in ("--train", "--dev") else "1"
    result = run(tmp_path / "nowhere", corpus, "--out", tmp_path / "report", option, value)
    assert isinstance(result.exception, ConfigError)
    assert str(result.exception) == f"{option}: for the curves of the papers, which come with --papers: add it"


@pytest.mark.parametrize("text", ["", "1/0", "two", "0", "2", "-1/2", "1e-400", "1/2000000"])
def test_wrong_sizes_are_refused(text: str):
    with pytest.raises(ConfigError, match="--sizes"):
        parse_sizes(text)


@pytest.mark.parametrize("text", ["x", "1.5", ",", "all"])
def test_wrong_numbers_are_refused(text: str):
    with pytest.raises(ConfigError, match="--occurrences"):
        parse_occurrences(text)
