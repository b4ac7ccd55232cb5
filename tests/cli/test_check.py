import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from nearspan.cli.check import check
from nearspan.errors import CorpusError

app = typer.Typer()
app.command()(check)
app.callback()(lambda: None)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["check", *map(str, arguments)])


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.conll"
    path.write_text("-DOCSTART- -X- O O\n\nAda N N B-PER\nslept N N O\n\n")
    return path


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    path = tmp_path / "bad.conll"
    path.write_text("Ada B-PER\nslept Q-PER\nlong O\n")
    return path


def test_one_json_object_on_stdout(good: Path):
    result = run(good, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {
        "format": "conll",
        "documents": 1,
        "docstarts": 1,
        "sentences": 2,
        "tokens": 2,
        "entities": 1,
        "types": {"PER": 1},
        "nested": 0,
        "overlapping": 0,
        "discontinuous": 0,
        "widths": {"1": 1},
        "lost": 0,
        "problems": [],
    }


def test_the_table_says_that_docstarts_are_counted(good: Path):
    result = run(good)
    assert result.exit_code == 0
    assert "1 -DOCSTART- lines" in " ".join(result.stdout.split())
    assert "PER" in result.stdout
    assert "█" in result.stdout


def test_problems_are_listed_with_file_and_line(bad: Path):
    result = run(bad)
    assert f"{bad}:2: unknown tag: 'Q-PER'" in result.stdout


def test_problems_in_json(bad: Path):
    [problem] = json.loads(run(bad, "--json").stdout)["problems"]
    assert (problem["kind"], problem["file"], problem["line"]) == ("unknown tag", str(bad), 2)
    assert set(problem) == {"kind", "message", "file", "line"}


def test_lost_annotations_are_counted_and_exit_with_1(good: Path, bad: Path):
    assert run(good).exit_code == 0
    result = run(bad)
    assert result.exit_code == 1
    assert "annotations that could not be read" in result.stdout
    assert run(bad, "--json").exit_code == 1


def test_strict_exits_with_1_only_if_there_are_problems(good: Path):
    assert run(good, "--strict").exit_code == 0
    good.write_text("Ada B-PER\nslept O\n\nin O\nOslo I-LOC\n")  # kept, but listed
    assert run(good).exit_code == 0
    assert run(good, "--strict").exit_code == 1


def test_the_list_of_problems_is_capped(good: Path):
    good.write_text("Ada B-PER\nslept O\n\n" * 30 + "Ada I-PER\nslept O\n\n" * 25)
    result = run(good)
    assert result.stdout.count("bad sequence") == 20
    assert "and 5 more problems: --all lists them" in result.stdout
    assert run(good, "--all").stdout.count("bad sequence") == 25
    assert len(json.loads(run(good, "--json").stdout)["problems"]) == 25


def test_several_files_are_counted_together(good: Path, bad: Path):
    assert json.loads(run(good, bad, "--json").stdout)["documents"] == 2


def test_columns_and_format_can_be_said(good: Path):
    result = run(good, "--format", "conll", "--columns=-1", "--json")
    assert json.loads(result.stdout)["types"] == {"PER": 1}
    assert isinstance(run(good, "--columns", "x").exception, CorpusError)


def test_markup_in_the_data_is_not_read_as_style(tmp_path: Path):
    path = tmp_path / "odd.conll"
    path.write_text("[red]x[/blue] B-[/bold]\ny [/oops]\nz O\n")
    result = run(path)
    assert "[/oops]" in result.stdout
    assert "[/bold]" in result.stdout


def test_a_missing_file_is_a_corpus_error(tmp_path: Path):
    assert isinstance(run(tmp_path / "nothing").exception, CorpusError)


@pytest.fixture
def names(tmp_path: Path) -> Path:
    path = tmp_path / "names.tsv"
    path.write_text("Ada\tAda Lovelace\nlonely\n")
    return path


def test_synonyms_in_json_beside_the_other_keys(good: Path, names: Path):
    content = json.loads(run(good, "--synonyms", names, "--json").stdout)
    synonyms = content.pop("synonyms")
    assert content == json.loads(run(good, "--json").stdout)
    assert (synonyms["entities"], synonyms["covered"], synonyms["concepts"], synonyms["names"]) == (1, 1, 2, 3)
    assert synonyms["labels"]["PER"]["unknown"] == []
    assert synonyms["problems"][0]["line"] == 2


def test_synonyms_as_a_table_with_unknown_ones_and_problems(bad: Path, names: Path):
    result = run(bad, "--synonyms", names, "--synonyms", "sample")
    assert "100%" in result.stdout
    assert f"{names}:2: malformed" in result.stdout
    names.write_text("[/red]\tb\n")
    assert "unknown PER: Ada" in run(bad, "--synonyms", names).stdout


def test_problems_in_synonyms_count_for_strict(good: Path, names: Path):
    assert run(good, "--synonyms", names, "--strict").exit_code == 1
    assert run(good, "--synonyms", "sample", "--strict").exit_code == 0


def test_the_format_of_synonyms_can_be_said(good: Path, names: Path):
    assert run(good, "--synonyms", names, "--synonyms-format", "tsv").exit_code == 0
    assert isinstance(run(good, "--synonyms", names, "--synonyms-format", "x").exception, CorpusError)
    assert isinstance(run(good, "--synonyms", "nothing").exception, CorpusError)


def test_emoji_names_are_printed_as_they_are(tmp_path: Path):
    path = tmp_path / "a.conll"
    path.write_text("Ada O\n" * 98 + "Ada B-:key:\nAda Q\n")
    result = run(path)
    assert "a.conll:100: unknown tag" in result.stdout
    assert ":key:" in result.stdout
