import gc
import gzip
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nearspan
from nearspan.document import Document, Entity
from nearspan.errors import CorpusError
from nearspan.formats import Stream, as_stream, jsonl, known_formats, read, source, statistics, stream
from nearspan.formats.source import Source

RECORD = '{"id": "%d", "text": "Ada wrote", "entities": [{"start": 0, "end": 3, "label": "PER"}]}\n'


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of a few lines are long ones."""
    monkeypatch.setattr(source, "SAMPLE", 64)
    monkeypatch.setattr(source, "_BLOCK", 16)


def test_documents_come_as_they_are_read(put: Callable[..., Path]):
    documents = stream(put("a.jsonl", RECORD % 1 + RECORD % 2))
    assert next(documents).id == "1"
    assert (documents.count, documents.entity_count, documents.place.line) == (1, 1, 1)
    assert [document.id for document in documents] == ["2"]
    assert (documents.format, documents.count, documents.problems) == ("jsonl", 2, ())


@pytest.mark.usefixtures("small_blocks")
def test_no_more_is_read_than_is_needed(put: Callable[..., Path], monkeypatch: pytest.MonkeyPatch):
    taken: list[int] = []
    blocks = Source.blocks

    def count(self: Source) -> Iterator[tuple[int, str]]:
        for block in blocks(self):
            taken.append(block[0])
            yield block

    monkeypatch.setattr(Source, "blocks", count)
    documents = stream(put("a.jsonl", "".join(RECORD % number for number in range(100))))
    next(documents)
    assert len(taken) == 1
    assert len(list(documents)) == 99


def test_problems_and_what_is_lost_come_with_the_documents(put: Callable[..., Path]):
    documents = stream([put("a.jsonl", RECORD % 1 + "no JSON\n"), put("b.jsonl", RECORD % 2)])
    next(documents)
    assert documents.problems == ()
    next(documents)
    [problem] = documents.problems
    assert (problem.line, problem.lost) == (2, 1)


def test_a_file_that_is_missing_is_an_error_when_its_turn_comes(put: Callable[..., Path], tmp_path: Path):
    documents = stream([put("a.jsonl", RECORD % 1), tmp_path / "none"])
    next(documents)
    with pytest.raises(CorpusError, match="none does not exist"):
        next(documents)
    with pytest.raises(CorpusError, match="does not exist"):
        stream(tmp_path / "none")


def test_a_miscount_is_an_error_at_the_end(put: Callable[..., Path], monkeypatch: pytest.MonkeyPatch):
    documents = stream(put("a.jsonl", RECORD % 1))
    monkeypatch.setattr(Source, "annotations", 7)
    assert next(documents).id == "1"
    with pytest.raises(CorpusError, match="do not add up"):
        next(documents)


def test_anything_that_yields_documents_is_a_stream(put: Callable[..., Path]):
    corpus = read(put("a.jsonl", RECORD % 1))
    for given_documents in (
        corpus,
        iter(corpus),
        [*corpus],
        put("b.jsonl", RECORD % 1),
        stream(put("c.jsonl", RECORD % 1)),
    ):
        assert as_stream(given_documents).collect().documents == corpus.documents
    with pytest.raises(CorpusError, match="found int where documents were expected"):
        list(as_stream(iter([1])))


def test_a_corpus_keeps_its_problems_and_places(put: Callable[..., Path]):
    corpus = read(put("a.jsonl", RECORD % 1 + "no JSON\n"))
    again = Stream.of(corpus).collect()
    assert (again, again.places) == (corpus, corpus.places)


def test_statistics_hold_no_document(put: Callable[..., Path]):
    path = put("a.jsonl", RECORD % 1 + RECORD % 2)
    assert statistics(stream(path)) == statistics(read(path)) == statistics(path)


def test_writing_takes_documents_as_they_come(tmp_path: Path):
    alive: list[int] = []

    def documents() -> Iterator[Document]:
        for number in range(3):
            alive.append(number)
            yield Document("Ada wrote", (Entity.of(0, 3, "PER"),), id=str(number))

    lines = map(jsonl.json_line, as_stream(documents()))
    next(lines)
    assert alive == [0]
    nearspan.write(documents(), tmp_path / "a.jsonl")
    assert [document.id for document in read(tmp_path / "a.jsonl")] == ["0", "1", "2"]


class Probe(str):
    """A text that can be watched."""


@pytest.mark.parametrize("name", [name for name, part in known_formats().items() if part.streams])
def test_no_document_is_held_while_others_are_written(tmp_path: Path, name: str):
    alive: list[weakref.ref[Probe]] = []

    def documents() -> Iterator[Document]:
        for number in range(9):
            text = Probe(f"Ada wrote {number}")
            alive.append(weakref.ref(text))
            assert sum(each() is not None for each in alive) < 4
            yield Document(text, (Entity.of(0, 3, "PER"),), id=str(number))

    gc.disable()  # which would free what holds itself too
    try:
        nearspan.write(documents(), tmp_path / "a", name)
    finally:
        gc.enable()
    assert len(read(tmp_path / "a", name)) == 9


def test_columns_are_as_many_as_the_deepest_document_needs(tmp_path: Path):
    nested = Document("Oslo city", (Entity.of(0, 4, "PLACE"), Entity.of(0, 9, "ORG")), id="2")
    nearspan.write(iter([Document("Oslo", id="1"), nested]), tmp_path / "a.conll")
    rows = [line.split("\t") for line in (tmp_path / "a.conll").read_text().splitlines() if line]
    assert {len(row) for row in rows} == {3}
    assert [document.entities for document in read(tmp_path / "a.conll")] == [(), nested.entities]


def test_nothing_is_written_where_reading_fails(put: Callable[..., Path], tmp_path: Path):
    documents = stream([put("a.jsonl", RECORD % 1), tmp_path / "none"])
    with pytest.raises(CorpusError, match="none does not exist"):
        nearspan.write(documents, tmp_path / "b.jsonl")
    assert not (tmp_path / "b.jsonl").exists()


def test_labels_are_chosen_and_unknown_ones_are_an_error_at_the_end(put: Callable[..., Path]):
    path = put("a.jsonl", RECORD % 1)
    assert stream(path).with_labels(["PER"]).collect().entity_count == 1
    with pytest.raises(CorpusError, match="no entity has the label 'PRE'; did you mean 'PER'"):
        stream(path).with_labels(["PRE"]).collect()


PIECES = st.sampled_from(
    [b"a", b"\n", b"\r\n", b"\r", b" ", b"\0", b"\xff", "\ufeff".encode(), "\u2028".encode(), b"bc d" * 9]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(PIECES, max_size=60).map(b"".join), st.booleans())
def test_a_long_file_has_the_lines_and_problems_of_a_short_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, packed: bool
):
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(data) if packed else data)
    monkeypatch.setattr(source, "SAMPLE", 1 << 20)
    whole = Source(path)
    lines = list(whole.lines)
    monkeypatch.setattr(source, "SAMPLE", 8)
    monkeypatch.setattr(source, "_BLOCK", 4)
    long = Source(path)
    blocks = list(long.blocks())
    assert [line for _, block in blocks for line in block.split("\n")] == lines
    assert [number for number, _ in blocks] == [
        1 + sum(block.count("\n") + 1 for _, block in blocks[:index]) for index in range(len(blocks))
    ]
    assert sorted(long.problems, key=str) == sorted(whole.problems, key=str)
    assert long.has_mark == whole.has_mark
