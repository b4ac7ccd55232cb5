"""No annotation is lost: those in the file are those read and those listed as problems, or nothing is read."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nearspan import registry
from nearspan.document import Document, Entity
from nearspan.errors import CorpusError
from nearspan.formats import Corpus, Format, Problem, read
from nearspan.formats.draft import Draft
from nearspan.formats.markup import render
from nearspan.formats.source import Source

Put = Callable[..., Path]

# The same two entities in every format.
SAMPLES = {
    "conll": "Ada\tB-PER\nsaw\tO\nOslo\tB-LOC\n",
    "jsonl": '{"text": "Ada saw Oslo", "entities": [[0, 3, "PER"], [8, 12, "LOC"]]}\n',
    "pubtator": "1|t|Ada saw Oslo\n1\t0\t3\tAda\tPER\n1\t8\t12\tOslo\tLOC\n",
    "indexed": "Ada saw Oslo\n0,0 PER|2,2 LOC\n\n",
    "brat": "T1\tPER 0 3\tAda\nT2\tLOC 8 12\tOslo\n",
}


def sample(put: Put, name: str, change: Callable[[str], str] = str) -> Path:
    put("a.txt", "Ada saw Oslo")
    return put("a.ann" if name == "brat" else "data", change(SAMPLES[name]))


@pytest.mark.parametrize("name", SAMPLES)
def test_an_entity_that_goes_missing_after_it_was_met_stops_the_reader(
    put: Put, name: str, monkeypatch: pytest.MonkeyPatch
):
    path = sample(put, name)
    whole = Draft.document
    monkeypatch.setattr(Draft, "document", lambda draft: whole(draft).with_entities(whole(draft).entities[:1]))
    with pytest.raises(CorpusError, match=rf"{path} holds 2 annotations, of which 1 were read and 0 listed"):
        read(path, name)


@pytest.mark.parametrize("name", sorted(SAMPLES.keys() - {"conll"}))  # where each tag has its word
def test_problems_that_go_missing_stop_the_reader(put: Put, name: str, monkeypatch: pytest.MonkeyPatch):
    path = sample(put, name, lambda text: text.replace("12", "99").replace("2,2", "2,9"))
    monkeypatch.setattr(Source, "add_problem", lambda *_, **__: None)
    with pytest.raises(CorpusError, match="2 annotations, of which 1 were read and 0 listed"):
        read(path, name)


@pytest.fixture
def outside() -> Iterator[Callable[..., None]]:
    before = dict(registry._parts["format"])

    def register(**options: object) -> None:
        def read(source: Source) -> Corpus:
            source.count(options.get("count", 0))
            lost = Problem("malformed", "", source.name, lost=options.get("lost", 0))
            return Corpus((Document("Ada", (Entity.of(0, 3, "PER"),)),), (lost,), "outside")

        registry.register("format", Format("outside", read, lambda source: False))

    yield register
    registry._parts["format"].clear()
    registry._parts["format"].update(before)


def test_the_reader_of_another_package_is_stopped_as_well(put: Put, outside: Callable[..., None]):
    outside(count=1234, lost=2)
    with pytest.raises(CorpusError, match=r"holds 1,234 annotations, of which 1 were read and 2 .*of outside has"):
        read(put("a", "x"), "outside")


def test_a_reader_that_does_not_count_is_stopped(put: Put, outside: Callable[..., None]):
    outside()
    with pytest.raises(CorpusError, match="holds 0 annotations, of which 1 were read"):
        read(put("a", "x"), "outside")


def test_a_reader_whose_sums_agree_goes_on(put: Put, outside: Callable[..., None]):
    outside(count=3, lost=2)
    assert read(put("a", "x"), "outside").entity_count == 1


@pytest.mark.parametrize(
    ("name", "content", "lost"),
    [
        ("conll", "a\tB-X\tB-X\nb\tI-X\tI-X\nc\tO\tB-Y\n", 1),
        ("jsonl", '{"text": "a", "entities": [[0, 1, "X"], [0, 9, "X"], [1, 0, "X"], [0, 0, "X"], 7, [0, 1, " "]]}', 5),
        ("jsonl", '{"body": "a", "entities": [[0, 1, "X"], [0, 9, "X"]]}', 2),
        ("jsonl", '{"tokens": ["a", ""], "entities": [[1, 0, "X"], [0, 9, "X"], [1, 2, "X"], [0, 1, "X"], {}]}', 4),
        ("pubtator", "1|t|a\n1\t0\t1\ta\tX\n1\t0\t1\n1\t0\t9\ta\tX\n2\t0\t1\ta\tX\n\n1\t0\t1\ta\tX\n1\tz\n", 4),
        ("indexed", "a\n0,0 X|0,9 X|1,0 X|nonsense|0,0 X\n0,0 X|0,0 Y\n\n0,0 X\nb\n0,0 X\n\n", 8),
        ("brat", "T1\tX 0 3\tAda\nT2\tX 0 99\tAda\nT3 X\nT4\tX 3 0\tAda\nR1\n", 3),
    ],
)
def test_what_is_not_read_is_counted_in_its_problem(put: Put, name: str, content: str, lost: int):
    corpus = read(sample(put, name, lambda _: content), name)
    assert sum(problem.lost for problem in corpus.problems) == lost


def test_annotations_without_a_text_are_counted(put: Put):
    sample(put, "brat")
    corpus = read(put("b.ann", "T1\tX 0 1\ta\nT2\tX 0 1\ta\nR1\tRel Arg1:T1 Arg2:T2\n").parent, "brat")
    assert (corpus.entity_count, [problem.lost for problem in corpus.problems]) == (2, [2])


CHANGES: dict[str, Callable[[str], str]] = {
    "blank line after each": lambda text: text.replace("\n", "\n\n"),
    "two blank lines after each": lambda text: text.replace("\n", "\n\n\n"),
    "blank lines twice": lambda text: text.replace("\n\n", "\n\n\n"),
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "CR": lambda text: text.replace("\n", "\r"),
    "blanks at line ends": lambda text: text.replace("\n", "  \n"),
    "tabs at line ends": lambda text: text.replace("\n", "\t\n"),
    "blanks before lines": lambda text: "".join(f" {line}\n" for line in text.splitlines()),
    "tabs for blanks": lambda text: text.replace(" ", "\t"),
    "blanks for tabs": lambda text: text.replace("\t", " "),
    "a mark": lambda text: "\ufeff" + text,
    "two marks": lambda text: "\ufeff\ufeff" + text,
    "no last newline": lambda text: text.rstrip("\n"),
    "first and last column swapped": lambda text: "".join(
        "\t".join([cells[-1], *cells[1:-1], cells[0]]) + "\n" for cells in map(str.split, text.splitlines()) if cells
    ),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", SAMPLES)
def test_another_spelling_is_read_right_or_listed(put: Put, name: str, change: str):
    corpus = read(sample(put, name, CHANGES[change]), name)
    right = [" ".join(render(document).split()) for document in corpus] == ["[Ada](PER) saw [Oslo](LOC)"]
    assert right or corpus.problems
