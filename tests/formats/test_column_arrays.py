"""Long column files are read as arrays; what comes of them is what comes of the same lines one by one."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nearspan
from nearspan.document import Document
from nearspan.formats import Corpus, read, source, statistics, stream
from nearspan.formats.column_piece import Piece

BEGIN = "EU NNP B-ORG\nrejects VBZ O\n\nAda NN B-PER\nLovelace NN I-PER\nwrote VBD O\n\n" * 4


def read_both(path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Corpus, Corpus]:
    """As a long file, and as a short one."""
    monkeypatch.setattr(source, "SAMPLE", len(BEGIN) // 2)
    monkeypatch.setattr(source, "_BLOCK", 64)
    long = read(path)
    monkeypatch.setattr(source, "SAMPLE", 1 << 20)
    return long, read(path)


def assert_equal(long: Corpus, short: Corpus) -> None:
    assert [document.text for document in long] == [document.text for document in short]
    assert long == short
    assert [(place.line, place.entities) for place in long.places] == [
        (place.line, dict(place.entities)) for place in short.places
    ]
    assert statistics(long) == statistics(short)


TAGS = st.sampled_from(["O"] * 6 + ["B-PER", "I-PER", "B-LOC", "I-LOC", "S-ORG", "E-LOC"])
ODD = st.sampled_from(["X", "B-PER,I-LOC", "B- PER", "O O"])
WORD = st.sampled_from(["Ada", "東京", "naïve", "😀", "#1", "x"])
LINE = st.builds("{} NN {}".format, WORD, TAGS)
ODD_LINE = st.one_of(
    st.builds("{} NN {}".format, WORD, ODD), st.builds("{}  NN  O".format, WORD), WORD, st.just("# a comment")
)
SENTENCE = st.lists(LINE, min_size=1, max_size=4).map("\n".join)
DOCSTART = st.sampled_from(
    ["-DOCSTART- -X- O", "-DOCSTART- a b", "-DOCSTART-", "-DOCSTART- id\tB-PER", "-DOCSTART-s X O"]
)
REGULAR = st.lists(st.one_of(SENTENCE, SENTENCE, DOCSTART), max_size=12)
ANY = st.lists(st.one_of(SENTENCE, SENTENCE, DOCSTART, st.lists(st.one_of(LINE, ODD_LINE), min_size=1).map("\n".join)))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(parts=st.one_of(REGULAR, ANY), tabs=st.booleans(), gap=st.sampled_from(["\n\n", "\n\n\n", "\n \n", "\r\n\r\n"]))
def test_arrays_are_what_lines_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: list[str], tabs: bool, gap: str
):
    text = BEGIN + gap.join(parts) + "\n"
    path = tmp_path / "file"
    path.write_text(text.replace(" ", "\t") if tabs else text, encoding="utf-8", newline="")
    assert_equal(*read_both(path, monkeypatch))


def test_regular_blocks_make_no_objects(put: Callable[..., Path], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(source, "SAMPLE", len(BEGIN) // 2)
    documents = list(stream(put("a.conll", BEGIN)))
    assert [type(document.contents) for document in documents] == [Piece]
    monkeypatch.setattr(Piece, "words", lambda *_: pytest.fail("words were made"))
    assert statistics(stream(put("a.conll", BEGIN)))["tokens"] == 20


def test_a_sentence_that_is_longer_than_a_block_is_whole(put: Callable[..., Path], monkeypatch: pytest.MonkeyPatch):
    path = put("a.conll", BEGIN + "Ada NN B-PER\n" * 200)
    assert_equal(*read_both(path, monkeypatch))


def test_a_document_that_is_partly_irregular_is_one_document(put: Callable[..., Path], monkeypatch: pytest.MonkeyPatch):
    irregular = "Bo  NN  B-PER\n\n" + "Cy NN B-PER\n\n" * 30
    path = put("a.conll", BEGIN + irregular)
    long, short = read_both(path, monkeypatch)
    assert len(long) == 1
    assert_equal(long, short)


def test_a_tag_sequence_is_judged_by_the_first_entities(put: Callable[..., Path], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("nearspan.formats.tags._FIRST_ENTITIES", 3)
    path = put("a.conll", BEGIN * 3 + "wrong NN I-PER\n\n" + BEGIN)
    long, _ = read_both(path, monkeypatch)
    [problem] = long.problems
    assert (problem.kind, problem.line) == ("bad sequence", 1 + BEGIN.count("\n") * 3)


def test_other_formats_are_written_of_it(put: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    long, short = read_both(put("a.conll", BEGIN), monkeypatch)
    nearspan.write(long, tmp_path / "b.jsonl")
    assert read(tmp_path / "b.jsonl").documents == short.documents
    assert isinstance(long[0], Document)
