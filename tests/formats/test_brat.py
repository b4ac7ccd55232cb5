from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearspan.document import Document, Entity, Span
from nearspan.errors import CorpusError
from nearspan.formats import Corpus, read, write
from nearspan.formats.markup import parse, render

Put = Callable[..., Path]


def pair(put: Put, text: str | bytes, annotations: str | bytes) -> Corpus:
    put("a.txt", text)
    return read(put("a.ann", annotations).parent, "brat")


def test_a_pair_of_files(put: Put):
    corpus = pair(put, "Ada wrote", "T1\tPER 0 3\tAda\n")
    assert [render(document) for document in corpus] == ["[Ada](PER) wrote"]
    assert (corpus.documents[0].id, corpus.problems) == ("a", ())


@pytest.mark.parametrize("name", ["a.txt", "a.ann"])
def test_either_file_names_the_pair(put: Put, name: str):
    folder = put("a.txt", "Ada wrote").parent
    put("a.ann", "T1\tPER 0 3\tAda\n")
    assert [render(document) for document in read(folder / name)] == ["[Ada](PER) wrote"]


def test_fragments_make_a_discontinuous_entity(put: Put):
    corpus = pair(put, "pain in arms and legs", "T1\tADR 0 7;17 21\tpain in legs\n")
    assert [render(document) for document in corpus] == ["[pain in](ADR#1) arms and [legs](ADR#1)"]


def test_fragments_in_another_order_are_the_same_entity(put: Put):
    corpus = pair(put, "feet are swollen", "T1\tADR 9 16;0 4\tswollen feet\n")
    assert corpus.documents[0].entities == (Entity(Span(((0, 4), (9, 16))), "ADR"),)
    assert corpus.problems == ()


def test_other_annotations_are_left_out(put: Put):
    others = [
        "R1\tRel Arg1:T1 Arg2:T1",
        "E1\tX:T1",
        "A1\tNeg T1",
        "A2\tLevel T1 high",
        "M1\tSpeculation E1",
        "E2\tX:T1 Theme:T1 Theme2:E1 ",
        "R2\tRel Arg1:T1 Arg2:T1\t",
        "N2\tReference T1 Wikidata:NULL\tno data",
        "N1\tRef T1 w:1",
        "#1\tNote T1\thm",
        "*\tEq T1 T1",
    ]
    lines = "\n".join(["T1\tX 0 1\ta", *others, "", ""])
    corpus = pair(put, "a", lines)
    assert len(corpus.documents[0].entities) == 1
    assert [(problem.kind, problem.message, problem.lost) for problem in corpus.problems] == [
        ("left out", f"{what}: {count}", 0)
        for what, count in [("relations", 2), ("events", 2), ("modifications", 1), ("equivalences", 1)]
    ]


def test_what_is_said_of_an_annotation_becomes_its_attributes(put: Put, tmp_path: Path):
    lines = [
        "A1\tNegation T1",  # before what it speaks of
        "T1\tDRUG 0 7\tAspirin",
        "A2\tConfidence T1 High",
        "N1\tReference T1 MESH:D001241\tAspirin",
        "#1\tAnnotatorNotes T1\tis it a brand?",
        "#2\tAnnotatorNotes T1\tno",
    ]
    corpus = pair(put, "Aspirin", "\n".join(lines))
    expected = {
        "Negation": True,
        "Confidence": "High",
        "identifier": "MESH:D001241",
        "name": "Aspirin",
        "AnnotatorNotes": ["is it a brand?", "no"],
    }
    assert corpus.documents[0].entities[0].attributes.to_dict() == expected
    assert write(corpus[:], tmp_path / "out", "brat") == ()
    assert read(tmp_path / "out").documents[0].entities[0].attributes.to_dict() == expected


def test_what_is_said_of_no_annotation_is_counted(put: Put):
    corpus = pair(put, "a", "T1\tX 0 1\ta\nA1\tNegation T2\n#1\tNote R1\thm\n")
    assert [problem.message for problem in corpus.problems] == [
        "notes on what is not read: 1",
        "attributes, normalisations and notes of what is not read: 1",
    ]


def test_attributes_that_no_line_can_hold_are_reported(tmp_path: Path):
    entity = Entity(Span.of(0, 1), "X", attributes={"note": "two\nlines"})
    [change] = write([Document("a", (entity,))], tmp_path / "out", "brat")
    assert change.message == "entities whose attributes are not kept: 1"


def test_a_newline_inside_a_fragment_is_a_blank_in_the_annotation(put: Put):
    assert pair(put, "New\nYork", "T1\tLOC 0 8\tNew York\n").problems == ()


def test_crlf_in_the_text_does_not_move_offsets(put: Put):
    corpus = pair(put, "a\r\nb\r\nOslo", "T1\tLOC 6 10\tOslo\r\n")
    assert corpus.documents[0].text == "a\r\nb\r\nOslo"
    assert corpus.problems == ()


def test_offsets_counted_with_crlf_as_one_character_are_understood(put: Put):
    corpus = pair(put, "a\r\nb\r\nOslo", "T1\tLOC 4 8\tOslo\n")
    assert [render(document) for document in corpus] == ["a\nb\n[Oslo](LOC)"]
    assert corpus.problems == ()


@pytest.mark.parametrize(("start", "text"), [(0, "Oslo"), (1, "\ufeffOslo")])
def test_a_byte_order_mark_counts_only_where_the_annotations_count_it(put: Put, start: int, text: str):
    corpus = pair(put, b"\xef\xbb\xbfOslo", f"T1\tLOC {start} {start + 4}\tOslo\n")
    assert (corpus.documents[0].text, corpus.problems) == (text, ())


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("T1\tPER 0 3\tEve", "misaligned"),
        ("T1\tPER 3 0\tAda", "inverted"),
        ("T1\tPER 3 3\t", "empty"),
        ("T1\tPER 6 99\twrote", "out of range"),
        ("T1\tPER -3 3\tAda", "out of range"),
        ("T1\tPER 0 3;8 99\tAda", "out of range"),
        ("T1\tPER 0\tAda", "malformed"),
        ("T1\t0 3\tAda", "malformed"),
        ("T1 PER 0 3 Ada", "malformed"),
        ("T1\tPER 0 " + "9" * 5000 + "\tAda", "malformed"),
        ("?", "malformed"),
        ("ADR 0 3\tAda", "malformed"),
        ("R1\tPER 0 3\tAda", "malformed"),
        ("R1\tRel Arg1:T1", "malformed"),
        ("E1\tPER 0 3\tAda", "malformed"),
        ("R1\tRel" + " a:b:c:d:e" * 40 + " bad", "malformed"),
        ("E1\tRel:T1" + " a:b:c:d:e" * 40 + " bad", "malformed"),
        ("A1\tPER 0 3\tAda", "malformed"),
        ("M1", "malformed"),
        ("N1\tPER 0 3\tAda", "malformed"),
        ("#1\tPER 0 3\tAda", "malformed"),
        ("* PER 0 3 Ada", "malformed"),
    ],
)
def test_wrong_annotations_are_listed_with_file_and_line(put: Put, line: str, kind: str):
    corpus = pair(put, "Ada wrote", f"T9\tX 4 9\twrote\n{line}\n")
    [problem] = corpus.problems
    assert (problem.kind, problem.line, Path(problem.path).name) == (kind, 2, "a.ann")
    assert len(corpus.documents[0].entities) == (2 if kind == "misaligned" else 1)


def test_the_same_annotation_twice_is_a_duplicate(put: Put):
    corpus = pair(put, "Ada", "T1\tPER 0 3\tAda\nT2\tPER 0 3\tAda\n")
    assert [(problem.kind, problem.line) for problem in corpus.problems] == [("duplicate", 2)]


def test_a_duplicate_with_another_text_is_listed_as_both(put: Put):
    corpus = pair(put, "Ada", "T1\tPER 0 3\tAda\nT2\tPER 0 3\tEve\n")
    assert [(problem.kind, problem.line) for problem in corpus.problems] == [("misaligned", 2), ("duplicate", 2)]


def test_broken_utf8_is_listed_in_either_file(put: Put):
    corpus = pair(put, b"caf\xe9 Oslo", b"T1\tLOC 5 9\tOslo\n#1\tNote T1\t\xff\n")
    assert [render(document) for document in corpus] == ["caf\ufffd [Oslo](LOC)"]
    places = [(problem.kind, Path(problem.path).name, problem.line) for problem in corpus.problems]
    assert places == [("broken UTF-8", "a.txt", 1), ("broken UTF-8", "a.ann", 2)]


def test_folders_are_read_in_depth_and_in_order(put: Put):
    for name in ("10", "9", "sub/1"):
        put(f"corpus/{name}.txt", name)
        folder = put(f"corpus/{name}.ann", "")
    corpus = read(folder.parents[1])
    assert [document.id for document in corpus] == ["9", "10", "sub/1"]


def test_texts_may_lie_in_a_sibling_folder(put: Put):
    put("text/a.txt", "Ada")
    folder = put("original/a.ann", "T1\tPER 0 3\tAda\n").parent
    assert [render(document) for document in read(folder)] == ["[Ada](PER)"]


def test_a_missing_half_is_listed(put: Put):
    put("a.txt", "a")
    put("a.ann", "")
    put("b.txt", "b")
    corpus = read(put("c.ann", "T1\tX 0 1\tc\n").parent)
    assert {(problem.kind, Path(problem.path).name) for problem in corpus.problems} == {
        ("no annotations", "b.txt"),
        ("missing text", "c.ann"),
    }


def test_a_single_annotation_file_without_text_is_an_error(put: Put):
    with pytest.raises(CorpusError, match=r"c\.txt does not exist"):
        read(put("c.ann", "T1\tX 0 1\tc\n"))


def test_a_folder_without_annotations_is_an_error(put: Put):
    with pytest.raises(CorpusError, match=r"without \.ann files"):
        read(put("a.conll", "a O\n").parent)


def test_names_are_safe_and_unique(tmp_path: Path):
    ids = ["../x", "/etc/passwd", "a", "A", "a", "", "b\0?", "c/d"]
    write([Document("t", id=id) for id in ids], tmp_path / "out", "brat")
    assert all(tmp_path / "out" in file.parents for file in tmp_path.rglob("*.txt"))
    assert len(read(tmp_path / "out")) == len(ids)


def test_a_folder_with_files_is_not_touched(tmp_path: Path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(CorpusError, match="exists already"):
        write([Document("a")], tmp_path, "brat")
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]


def test_nothing_is_left_of_a_folder_that_could_not_be_written(tmp_path: Path):
    with pytest.raises(CorpusError, match="surrogate"):
        write([Document("a"), Document("\ud800")], tmp_path / "out", "brat")
    assert list(tmp_path.iterdir()) == []


def test_lost_words_are_reported(tmp_path: Path):
    changes = write([Document("a", words=((0, 1),))], tmp_path / "out", "brat")
    assert [change.kind for change in changes] == ["changed"]


def changes(tmp_path: Path, *ids: str) -> list[str]:
    problems = write([Document("a", id=id) for id in ids], tmp_path / "out", "brat")
    assert {change.kind for change in problems} <= {"changed"}
    return [change.message for change in problems]


def test_ids_that_are_not_kept_are_reported(tmp_path: Path):
    assert changes(tmp_path, "", "a", "a b", "b?") == ["document ids not kept: 2"]
    assert [document.id for document in read(tmp_path / "out")] == ["_", "a", "a_b", "b_"]


def test_an_order_that_is_not_kept_is_reported(tmp_path: Path):
    [message] = changes(tmp_path, "10", "9", "1/x")
    assert message.startswith("the order of the documents was not kept")
    assert [document.id for document in read(tmp_path / "out")] == ["1/x", "9", "10"]


def test_labels_that_brat_cannot_hold_are_refused(tmp_path: Path):
    with pytest.raises(CorpusError, match="label"):
        write([Document("a", (Entity.of(0, 1, "a\tb"),))], tmp_path / "out", "brat")


unicode_text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
label = st.from_regex(r"[^\W_](?:[\w -]*\w)?", fullmatch=True)


@st.composite
def annotated(draw: st.DrawFn) -> Document:
    text = draw(unicode_text | st.just("one\r\ntwo three\nfour"))
    edges = st.lists(st.integers(0, len(text)), min_size=2, max_size=6, unique=True).map(sorted)
    entities = {
        Entity(Span(tuple(zip(points[: len(points) // 2 * 2 : 2], points[1::2], strict=True))), draw(label))
        for points in draw(st.lists(edges, max_size=4))
    }
    return Document(text, tuple(sorted(entities)))


@given(st.lists(annotated(), min_size=1, max_size=3))
def test_written_and_read_again_is_equal(tmp_path_factory, documents: list[Document]):
    named = [Document(each.text, each.entities, str(number)) for number, each in enumerate(documents)]
    path = tmp_path_factory.mktemp("brat") / "out"
    assert write(named, path) == ()
    again = read(path)
    assert again.documents == tuple(named)
    assert {problem.kind for problem in again.problems} <= {"NUL byte", "byte order mark"}


def test_an_empty_folder_is_written_into(tmp_path: Path):
    write([parse("[Ada](PER)")], tmp_path)
    assert (tmp_path / "_.ann").read_text() == "T1\tPER 0 3\tAda\n"


def test_scores_that_are_not_kept_are_reported(tmp_path: Path):
    document = Document("Ada", (Entity.of(0, 3, "PER", 0.5),), id="a")
    assert [change.message for change in write([document], tmp_path / "out", "brat")] == ["scores not kept: 1"]


def test_links_that_are_not_read_are_listed(tmp_path: Path):
    write([Document("Ada", id="a")], tmp_path / "in", "brat")
    (tmp_path / "in" / "b.ann").symlink_to("nowhere")
    (tmp_path / "in" / "again").symlink_to(tmp_path / "in")
    corpus = read(tmp_path / "in")
    assert [document.id for document in corpus] == ["a"]
    assert sorted((Path(problem.path).name, problem.message) for problem in corpus.problems) == [
        ("again", "it is a link to a folder; not read"),
        ("b.ann", "it is a link to nothing; not read"),
    ]


def test_endings_in_capitals_are_read(put: Put):
    put("a.TXT", "Ada wrote")
    put("b.txt", "Bob slept")
    folder = put("a.ANN", "T1\tPER 0 3\tAda\n").parent
    put("b.ann", "T1\tPER 0 3\tBob\n")
    corpus = read(folder)
    assert [render(document) for document in corpus] == ["[Ada](PER) wrote", "[Bob](PER) slept"]
    assert [document.id for document in corpus] == ["a", "b"]
    assert not corpus.problems
    for name in ("a.TXT", "a.ANN"):
        assert [render(document) for document in read(folder / name)] == ["[Ada](PER) wrote"]


def test_an_id_whose_folder_would_be_a_file_is_written(tmp_path: Path):
    ids = ["x", "x.txt/b", "x.ann/b", "X.TXT/c", "d/" * 3000 + "e"]
    problems = write([Document("t", id=id) for id in ids], tmp_path / "out", "brat")
    assert [document.id for document in read(tmp_path / "out")][-3:] == ["x", "x.ann_/b", "x.txt_/b"]
    assert len(read(tmp_path / "out")) == len(ids)
    assert "document ids not kept: 4" in [problem.message for problem in problems]


def test_a_pair_has_endings_of_the_same_case(put: Put):
    if put("C.txt", "x").parent.joinpath("c.txt").exists():
        pytest.skip("this system does not tell capitals apart")
    put("C.txt", "x").unlink()
    put("c.txt", "Ada wrote")
    put("c.TXT", "Bob wrote")
    put("c.ann", "T1\tPER 0 3\tAda\n")
    corpus = read(put("c.ANN", "T1\tPER 0 3\tBob\n").parent)
    assert sorted(render(document) for document in corpus) == ["[Ada](PER) wrote", "[Bob](PER) wrote"]
    assert not corpus.problems


def test_endings_of_mixed_case_are_read(put: Put):
    put("b.tXt", "Bob slept")
    folder = put("b.ann", "T1\tPER 0 3\tBob\n").parent
    for path in (folder, folder / "b.ann", folder / "b.tXt"):
        assert [render(document) for document in read(path)] == ["[Bob](PER) slept"]
