"""A format of another package: registered by name, then known wherever corpora are read and written."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nearspan import registry
from nearspan.errors import ConfigError, CorpusError
from nearspan.formats import Corpus, Format, Problem, known_formats, read, statistics, write
from nearspan.formats.markup import parse, render
from nearspan.formats.source import Source
from nearspan.io.atomic import write_file


def detect_markup(source: Source) -> bool:
    return source.text.startswith("#markup")


def read_markup(source: Source) -> Corpus:
    lines = source.text.splitlines()[1:]
    source.count(source.text.count("]("))
    return Corpus(tuple(parse(line, str(number)) for number, line in enumerate(lines, 1)), (), "markup")


def write_markup(corpus: Corpus, path: Path) -> list[Problem]:
    write_file(path, ["#markup\n", *(render(document) + "\n" for document in corpus)])
    return [Problem("changed", "ids not kept", str(path))]


MARKUP = Format("markup", read_markup, detect_markup, write_markup, endings=(".mark", ".jsonl"))


@pytest.fixture(autouse=True)
def outside() -> Iterator[None]:
    before = dict(registry._parts["format"])
    registry.register("format", MARKUP)
    yield
    registry._parts["format"].clear()
    registry._parts["format"].update(before)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "news.txt"
    path.write_text("#markup\n[Ada](PER) wrote\nfrom [Oslo](LOC)\n")
    return path


@pytest.mark.parametrize("name", [None, "markup"])
def test_it_is_read_by_content_and_by_name(corpus: Path, name: str | None):
    back = read(corpus, name)
    assert back.format == "markup"
    assert [render(document) for document in back] == ["[Ada](PER) wrote", "from [Oslo](LOC)"]


@pytest.mark.parametrize(("name", "format"), [("out.mark", None), ("out.txt", "markup")])
def test_it_is_written_by_ending_and_by_name(corpus: Path, tmp_path: Path, name: str, format: str | None):
    problems = write(read(corpus), tmp_path / name, format)
    assert [problem.message for problem in problems] == ["ids not kept"]
    assert (tmp_path / name).read_text() == corpus.read_text()


def test_it_can_be_checked(corpus: Path):
    assert statistics(corpus)["types"] == {"PER": 1, "LOC": 1}


def test_it_is_asked_before_ours(tmp_path: Path):
    greedy = Format("greedy", read_markup, lambda source: "[" in source.text)
    registry.register("format", greedy)
    assert list(known_formats())[:2] == ["markup", "greedy"]
    (tmp_path / "a").write_text('{"text": "a", "entities": []}\n')
    assert read(tmp_path / "a").format == "markup"


def test_an_ending_of_ours_stays_ours(tmp_path: Path):
    write([parse("[Ada](PER) wrote")], tmp_path / "a.jsonl")
    assert read(tmp_path / "a.jsonl").format == "jsonl"


def test_errors_list_it(corpus: Path, tmp_path: Path):
    with pytest.raises(CorpusError, match="did you mean 'markup'"):
        read(corpus, "markups")
    with pytest.raises(CorpusError, match=f"known: {', '.join(sorted(known_formats()))}"):
        read(corpus, "xyz")
    (tmp_path / "plain").write_text("just some text")
    assert next(iter(known_formats())) == "markup"
    with pytest.raises(CorpusError, match=f"`format`: {', '.join(known_formats())}"):
        read(tmp_path / "plain")


def test_a_format_for_folders_gets_the_folder(tmp_path: Path):
    def detect(source: Source) -> bool:
        return (source.path / "index.mark").is_file()

    def read_folder(source: Source) -> Corpus:
        return read_markup(Source(source.path / "index.mark", folder=source))

    registry.register("format", Format("marks", read_folder, detect, folder=True))
    (tmp_path / "marks").mkdir()
    (tmp_path / "marks" / "index.mark").write_text("#markup\n[Ada](PER) wrote\n")
    assert render(read(tmp_path / "marks")[0]) == "[Ada](PER) wrote"


def test_a_name_that_is_taken_is_refused():
    with pytest.raises(ConfigError, match=r"a format named 'conll' is registered already, by nearspan\.formats\.conll"):
        registry.register("format", Format("conll", read_markup, detect_markup))
