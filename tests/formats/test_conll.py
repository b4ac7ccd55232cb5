from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearspan.document import Document, Entity
from nearspan.errors import CorpusError
from nearspan.formats import Corpus, conll, read, write
from nearspan.formats.files import read_source
from nearspan.formats.markup import parse, render
from nearspan.formats.source import Source


def read_corpus(text: str, **options) -> Corpus:
    return read_source(Source(Path("news.conll"), text), "conll", **options)


def to_markup(text: str, **options) -> list[str]:
    """The documents in markup: text and entities at one glance."""
    return [render(document) for document in read_corpus(text, **options)]


def kinds(text: str) -> list[tuple[str, int]]:
    return [(problem.kind, problem.line) for problem in read_corpus(text).problems]


def test_words_are_joined_by_blanks_and_sentences_by_newlines():
    [document] = read_corpus("Ada B-PER\nwrote O\n\nShe O\nslept O\n")
    assert document.text == "Ada wrote\nShe slept"
    assert document.words == ((0, 3), (4, 9), (10, 13), (14, 19))
    assert document.sentences == ((0, 9), (10, 19))
    assert document.entities == (Entity.of(0, 3, "PER"),)


def test_a_character_in_a_line_as_in_msra_keeps_neighbours_apart():
    rows = [("中", "B-LOC"), ("美", "B-LOC"), ("两", "O"), ("国", "O"), ("Ａ", "B-ORG"), ("Ｂ", "I-ORG"), ("９", "O")]
    text = "".join(f"{character}\t{tag}\n" for character, tag in rows)
    assert to_markup(text) == ["[中](LOC) [美](LOC) 两 国 [Ａ Ｂ](ORG) ９"]


@pytest.mark.parametrize(
    "tags",
    ["I-PER I-PER B-PER O", "B-PER I-PER B-PER O", "B-PER E-PER S-PER O", "B-PER L-PER U-PER O"],
)
def test_the_scheme_is_found_from_the_tags(tags: str):
    lines = "\n".join(f"{word}\t{tag}" for word, tag in zip("abcd", tags.split(), strict=True))
    assert to_markup(lines) == ["[a b](PER) [c](PER) d"]
    assert kinds(lines) == []


def test_bmes():
    assert to_markup("a B-X\nb M-X\nc E-X\nd S-Y\n") == ["[a b c](X) [d](Y)"]


def test_inside_after_outside_is_kept_and_listed_in_iob2():
    text = "a B-X\nb O\nc I-X\nd O\ne B-X\n"
    assert to_markup(text) == ["[a](X) b [c](X) d [e](X)"]
    assert kinds(text) == [("bad sequence", 3)]


def test_an_entity_that_is_not_closed_is_kept_and_listed_in_bioes():
    text = "a B-X\nb O\nc S-X\nd B-X\ne E-X\n"
    assert to_markup(text) == ["[a](X) b [c](X) [d e](X)"]
    assert kinds(text) == [("bad sequence", 1)]


def test_part_of_speech_and_chunks_are_no_layers():
    assert to_markup("EU NNP I-NP I-ORG\nrejects VBZ I-VP O\n") == ["[EU](ORG) rejects"]


def test_all_columns_after_the_word_are_layers():
    assert to_markup("of\tO\tB-ORG\nOslo\tB-PLACE\tI-ORG\nnow\tO\tO\n") == ["[of [Oslo](PLACE)](ORG) now"]


def test_one_wrong_tag_does_not_hide_a_layer():
    text = "of\tX\tB-ORG\nOslo\tB-PLACE\tI-ORG\nnow\tO\tO\n"
    assert to_markup(text) == ["[of [Oslo](PLACE)](ORG) now"]
    assert kinds(text) == [("unknown tag", 1)]


def test_columns_say_which_hold_labels():
    text = "EU NNP I-NP I-ORG\nrejects VBZ I-VP O\n"
    assert to_markup(text, columns=[2]) == ["[EU](NP) [rejects](VP)"]
    assert to_markup(text, columns=[-2, -1]) == ["[[EU](ORG)](NP) [rejects](VP)"]
    with pytest.raises(CorpusError, match="column 9 cannot hold labels"):
        read_corpus(text, columns=[9])


def test_numbered_words_and_comments_are_understood():
    text = "# source\n1\tOslo\tB-LOC\tO\n2\tis\tO\tO\n\n# id 7 domain=en\n1\tSo\tO\tO\n"
    assert to_markup(text) == ["[Oslo](LOC) is\nSo"]
    assert kinds(text) == []


NUMBERED = "1\tAda\tB-PER\tO\n2\tlives\tO\tO\n3\tin\tO\tO\n4\tOslo\tB-LOC\tO\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (NUMBERED.replace("3\tin", "5\tin"), 3),
        (NUMBERED.replace("3\tin", "\n3\tin"), 4),
        (NUMBERED.replace("3\tin", "3.\tin"), 3),
        (NUMBERED.replace("3\tin", "\tin"), 3),
        (NUMBERED.replace("2\tlives", "1\tlives"), 2),
        (NUMBERED.replace("1\tAda", "0\tAda"), 1),
    ],
)
@pytest.mark.parametrize("others", [0, 2])
def test_a_wrong_word_number_is_listed_and_costs_no_entity(text: str, line: int, others: int):
    corpus = read_corpus(text + f"\n{NUMBERED}" * others)
    assert " ".join(corpus.documents[0].text.split()) == " ".join(["Ada lives in Oslo"] * (others + 1))
    assert [entity.label for entity in corpus.documents[0].entities] == ["PER", "LOC"] * (others + 1)
    assert [(problem.kind, problem.line) for problem in corpus.problems] == [("malformed", line)]


def test_a_range_of_word_numbers_is_listed_and_its_word_kept():
    text = "1\tAda\tB-PER\tO\n2-3\tzum\tO\tO\n2\tzu\tO\tO\n3\tdem\tO\tO\n4\tHaus\tO\tO\n"
    assert to_markup(text) == ["[Ada](PER) zum zu dem Haus"]
    assert kinds(text) == [("malformed", 2)]


def test_a_numbered_line_with_too_few_columns_is_listed_once():
    text = NUMBERED.replace("2\tlives\tO\tO", "2\tlives\tO")
    assert to_markup(text) == ["[Ada](PER) lives in [Oslo](LOC)"]
    assert kinds(text) == [("malformed", 2)]


def test_numbers_that_do_not_count_are_words():
    assert to_markup("1 CD O\nOslo NNP B-LOC\n\n1 CD B-NUM\n7 CD B-NUM\n") == ["1 [Oslo](LOC)\n[1](NUM) [7](NUM)"]


def test_a_hash_with_a_tag_is_a_word():
    assert to_markup("# O\nOslo B-LOC\n") == ["# [Oslo](LOC)"]


@pytest.mark.parametrize("line", ["#1\tB_ORG", "#\tB_ORG", "#1 B_ORG"])
def test_a_hash_with_the_columns_of_a_word_is_a_word(line: str):
    text = f"{line}\nOslo\tB-LOC\n\nBergen\tB-LOC\n"
    assert [document.text for document in read_corpus(text)] == [f"{line.split()[0]} Oslo\nBergen"]
    assert kinds(text) == [("unknown tag", 1)]


def test_a_comment_may_have_as_many_words_as_there_are_columns():
    assert to_markup("# source\nOslo B-LOC\n") == ["[Oslo](LOC)"]


def test_docstart_begins_a_document():
    corpus = read_corpus("-DOCSTART- -X- O O\n\na N N B-X\n\n-DOCSTART- -X- O O\n\nb N N O\n")
    assert [document.text for document in corpus] == ["a", "b"]
    assert [document.id for document in corpus] == ["news.conll#1", "news.conll#2"]
    assert corpus.docstarts == 2


def test_blanks_before_docstart_and_before_words_do_not_matter():
    corpus = read_corpus(" -DOCSTART- one O\n\n a O\n\n -DOCSTART- two O\n\n b B-X\n")
    assert [(document.id, render(document)) for document in corpus] == [("one O", "a"), ("two O", "[b](X)")]
    assert corpus.problems == ()


def test_docstart_may_name_its_document():
    assert [document.id for document in read_corpus("-DOCSTART- (1 EU)\na O\n")] == ["(1 EU)"]


@pytest.mark.parametrize(
    "line", ["-DOCSTART-\tB-PER", "-DOCSTART-\tB-PER\tO", "-DOCSTART- x\tB_PER", "-DOCSTART- B-PER"]
)
def test_a_tag_at_docstart_is_listed(line: str):
    assert kinds(f"a\tO\n\n{line}\n\nb\tO\n") == [("unknown tag", 3)]


def test_a_word_that_begins_like_docstart_is_a_word():
    assert to_markup("-DOCSTART-foo\tI-PER\nleft\tO\n") == ["[-DOCSTART-foo](PER) left"]


def test_a_document_without_sentences_is_kept():
    assert [document.text for document in read_corpus("-DOCSTART- O\n\n-DOCSTART- O\n\nb O\n")] == ["", "b"]


def test_the_same_entity_in_two_layers_is_a_duplicate():
    text = "Oslo\tB-LOC\tB-LOC\n"
    assert to_markup(text) == ["[Oslo](LOC)"]
    assert kinds(text) == [("duplicate", 1)]


@pytest.mark.parametrize("space", ["\u00a0", "\u2028", "\u0085", "\x0b", "\x1c", "\u3000", "\r"])
def test_other_white_space_is_part_of_a_word(space: str):
    [document] = read_corpus(f"a{space}b B-X\n{space}x O\n")
    assert document.text == f"a{space}b {space}x"
    assert document.words == ((0, 3), (4, 6))


def test_unknown_tags_are_listed_and_read_as_outside():
    text = "a B-X\nb Q-X\nc O\n"
    assert to_markup(text) == ["[a](X) b c"]
    assert kinds(text) == [("unknown tag", 2)]


def test_several_tags_of_a_word_are_several_entities():
    assert to_markup("Ada B-group,B-person\nLee I-person\nand O\nEve B-person|B-group\n") == [
        "[[Ada](group) Lee](person) and [[Eve](person)](group)"
    ]
    assert kinds("Ada B-group,B-person\nLee I-person\n") == []


def test_a_tag_that_goes_on_stays_with_its_label():
    text = "a B-X,B-Y\nb I-Y,I-X\nc I-Y\nd I-X,B-Z\n"
    assert [(entity.label, entity.text) for entity in read_corpus(text)[0].entities] == [
        ("X", "a b"),
        ("Y", "a b c"),
        ("X", "d"),
        ("Z", "d"),
    ]
    assert kinds(text) == [("bad sequence", 4)]


def test_a_comma_in_a_label_is_part_of_it():
    assert to_markup("a B-x,y\n") == ["[a](x,y)"]


def test_a_label_that_would_be_read_as_two_is_not_written(tmp_path: Path):
    with pytest.raises(CorpusError, match=r"the label 'X,B-Y' would be read as several"):
        write(Corpus((Document("a", (Entity.of(0, 1, "X,B-Y"),)),)), tmp_path / "a.conll")


def test_labels_without_a_prefix_are_read_and_said():
    text = "Ada PERSON\nLovelace PERSON\nsaw O\nOslo CITY\nagain O\nand O\nso O\n"
    assert to_markup(text) == ["[Ada Lovelace](PERSON) saw [Oslo](CITY) again and so"]
    [problem] = read_corpus(text).problems
    assert str(problem) == (
        "news.conll:1: no prefix: labels without B- or I-: words in a row with the same label are read as one entity"
    )


@pytest.mark.parametrize("tag", ["B_PER", "PER-B", "Q-PER", "B/PER"])
def test_tags_of_an_unknown_scheme_are_lost_and_said(tag: str):
    corpus = read_corpus(f"Ada {tag}\nslept O\nlong O\n")
    assert [(problem.kind, problem.lost) for problem in corpus.problems] == [("unknown tag", 1)]
    assert corpus.entity_count == 0


def test_lines_with_too_few_or_too_many_columns_are_listed():
    text = "a N B-X\nb B-Y\nc\nd N N O\ne N O\nf N O\n"
    assert to_markup(text) == ["[a](X) [b](Y) c d e f"]
    assert kinds(text) == [("malformed", 2), ("malformed", 3), ("malformed", 4)]


def test_a_line_without_a_word_keeps_its_entity():
    assert to_markup("\tB-X\na\tO\n") == ["[\ufffd](X) a"]
    assert kinds("\tB-X\na\tO\n") == [("malformed", 1)]


@pytest.mark.parametrize("blanks", ["\n", "\n\n", " \n"])
def test_blank_lines_between_all_words_are_listed(blanks: str):
    assert kinds(f"Ada I-PER\n{blanks}Lovelace I-PER\n{blanks}wrote O\n{blanks}") == [("malformed", 1)]


def test_sentences_of_one_word_are_not_listed():
    assert kinds("Ada B-PER\n\nOslo B-LOC\n\nso O\n") == []
    assert kinds("Ada I-PER\n\nLovelace I-PER\nwrote O\n") == []


@pytest.mark.parametrize("word", [" Ada", "Ada "])
def test_a_blank_at_the_end_of_a_word_is_kept_and_listed(word: str):
    assert to_markup(f"{word}\tB-PER\nwrote\tO\n") == [f"[{word}](PER) wrote"]
    assert kinds(f"{word}\tB-PER\nwrote\tO\n") == [("malformed", 1)]


def test_crlf_is_a_line_end():
    assert to_markup("a B-X\r\n\r\nb O\r\n") == ["[a](X)\nb"]


@pytest.mark.parametrize("end", ["\r\r\n", "\r \r\n", "\r\t\n"])
def test_carriage_returns_before_a_line_end_are_no_part_of_a_label(end: str):
    text = f"-DOCSTART-\tO{end}{end}a\tB-X\nc\tB-X{end}"
    assert to_markup(text) == ["[a](X) [c](X)"]
    assert kinds(text) == [("malformed", 1), ("malformed", 2), ("malformed", 4)]


def test_the_format_is_found_where_two_carriage_returns_end_each_line():
    assert conll.detect(Source(Path("news.conll"), "a\tB-X\r\r\nc\tO\r\r\n"))


def test_a_carriage_return_ends_lines_where_there_is_no_newline():
    assert to_markup("a B-X\r\rb O\rc Q-X\r") == ["[a](X)\nb c"]
    assert kinds("a B-X\r\rb O\rc Q-X\r") == [("unknown tag", 4)]


def test_problems_of_bytes_are_listed_with_their_line_where_carriage_returns_end_lines(put):
    corpus = read(put("old.conll", b"a\tB-X\rb\0\tO\rc\xff\tO\r"))
    assert [(problem.kind, problem.line) for problem in corpus.problems] == [("NUL byte", 2), ("broken UTF-8", 3)]
    assert [render(document) for document in corpus] == ["[a](X) b\0 c\ufffd"]


def write_text(tmp_path: Path, *documents: Document) -> str:
    path = tmp_path / "out.conll"
    write(documents, path)
    return path.read_text()


def test_layers_are_written_innermost_first(tmp_path: Path):
    document = parse("[University of [Oslo](PLACE)](ORG) opened")
    lines = ["University\tO\tB-ORG", "of\tO\tI-ORG", "Oslo\tB-PLACE\tI-ORG", "opened\tO\tO", "", ""]
    assert write_text(tmp_path, document) == "\n".join(lines)


def test_entities_that_overlap_like_links_of_a_chain_need_two_layers(tmp_path: Path):
    document = Document("a b c d e", tuple(Entity.of(2 * i, 2 * i + 3, "X") for i in range(4)))
    lines = ["a\tB-X\tO", "b\tI-X\tB-X", "c\tB-X\tI-X", "d\tI-X\tB-X", "e\tO\tI-X", "", ""]
    assert write_text(tmp_path, document) == "\n".join(lines)
    assert set(read(tmp_path / "out.conll").documents[0].entities) == set(document.entities)


def test_docstart_is_written_between_documents(tmp_path: Path):
    text = write_text(tmp_path, Document("a", id="one"), Document("b"))
    assert text == "-DOCSTART- one\tO\n\na\tO\n\n-DOCSTART-\tO\n\nb\tO\n\n"


def test_a_word_is_cut_where_an_entity_ends(tmp_path: Path):
    changes = write([parse("an [HIV](VIRUS)positive test")], tmp_path / "out.conll")
    assert [document.text for document in read(tmp_path / "out.conll")] == ["an HIV positive test"]
    assert [change.message for change in changes] == ["words cut where an entity begins or ends inside them: 1"]


def test_sentences_that_share_an_entity_are_joined(tmp_path: Path):
    document = Document("a b", (Entity.of(0, 3, "X"),), words=((0, 1), (2, 3)), sentences=((0, 1), (2, 3)))
    changes = write([document], tmp_path / "out.conll")
    assert (tmp_path / "out.conll").read_text() == "a\tB-X\nb\tI-X\n\n"
    assert changes[0].kind == "changed"


def changes(tmp_path: Path, *documents: Document) -> list[str]:
    return [change.message for change in write(documents, tmp_path / "out.conll")]


def test_entities_that_differ_by_a_blank_alone_are_written_once_and_listed(tmp_path: Path):
    document = Document("Ada wrote", (Entity.of(0, 3, "PER"), Entity.of(0, 4, "PER"), Entity.of(0, 4, "X")))
    assert changes(tmp_path, document) == [
        "entities left out, as others have their words and label: 1",
        "entities cut to their words, as they begin or end between words: 2",
    ]
    assert (tmp_path / "out.conll").read_text() == "Ada\tB-PER\tB-X\nwrote\tO\tO\n\n"


def test_blanks_that_are_not_kept_are_listed_once(tmp_path: Path):
    [message] = changes(tmp_path, Document("Ada  wrote"), Document("Ada slept."), Document("Ada sang"))
    assert message.startswith("documents whose blanks")
    assert message.endswith(": 2")


@pytest.mark.parametrize("id", ["news-1", "O"])
def test_the_id_of_a_single_document_is_listed_as_not_kept(tmp_path: Path, id: str):
    assert changes(tmp_path, Document("Ada", id=id)) == ["document ids not kept: 1"]


def test_ids_that_docstart_cannot_hold_are_listed(tmp_path: Path):
    documents = [Document("a", id=id) for id in ("1", "two  blanks", "-X-", "")]
    assert changes(tmp_path, *documents) == ["document ids not kept: 2"]


def test_a_discontinuous_entity_is_refused_and_the_old_file_stays(tmp_path: Path):
    path = tmp_path / "out.conll"
    path.write_text("old")
    with pytest.raises(CorpusError, match=r"discontinuous.*jsonl or brat"):
        write([parse("ok"), parse("[pain](S#1) in [legs](S#1)")], path, force=True)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("label", ["a\tb", "a\n", " a", "", "a\xa0", "\u200ba", "a\0"])
def test_labels_that_columns_cannot_hold_are_refused(tmp_path: Path, label: str):
    with pytest.raises(CorpusError, match="label"):
        write([Document("a", (Entity.of(0, 1, label),))], tmp_path / "out.conll")


@pytest.mark.parametrize("word", ["a\tb", "a\nb", "-DOCSTART-"])
def test_words_that_columns_cannot_hold_are_refused(tmp_path: Path, word: str):
    with pytest.raises(CorpusError, match="word"):
        write([Document(word, words=((0, len(word)),))], tmp_path / "out.conll")


def test_a_word_that_becomes_docstart_when_it_is_cut_is_refused(tmp_path: Path):
    document = Document("X-DOCSTART- foo", (Entity.of(0, 1, "A"),), words=((0, 11), (12, 15)))
    with pytest.raises(CorpusError, match="begins with -DOCSTART-"):
        write([document], tmp_path / "out.conll")
    assert list(tmp_path.iterdir()) == []


word = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\r\n "), min_size=1, max_size=6)
label = st.from_regex(r"[^\W_](?:[\w -]*\w)?", fullmatch=True)


@st.composite
def columned(draw: st.DrawFn) -> Document:
    lines: list[str] = []
    words: list[tuple[int, int]] = []
    sentences: list[tuple[int, int]] = []
    entities: set[Entity] = set()
    start = 0
    for tokens in draw(st.lists(st.lists(word, min_size=1, max_size=6), max_size=4)):
        first = len(words)
        for token in tokens:
            words.append((start, start + len(token)))
            start += len(token) + 1
        sentences.append((words[first][0], words[-1][1]))
        lines.append(" ".join(tokens))
        for _ in range(draw(st.integers(0, 4))):
            i = draw(st.integers(first, len(words) - 1))
            j = draw(st.integers(i, len(words) - 1))
            entities.add(Entity.of(words[i][0], words[j][1], draw(label)))
    id = draw(st.from_regex(r"[a-z]{1,5}#[0-9]", fullmatch=True))
    return Document("\n".join(lines), tuple(sorted(entities)), id, tuple(words), tuple(sentences))


@given(st.lists(columned(), min_size=2, max_size=3))
def test_written_and_read_again_is_equal(tmp_path_factory, documents: list[Document]):
    path = tmp_path_factory.mktemp("conll") / "out.conll"
    assert write(documents, path) == ()
    again = read(path, "conll")
    assert again.documents == tuple(documents)
    assert {problem.kind for problem in again.problems} <= {"NUL byte", "byte order mark"}


def test_entities_and_text_between_words_are_listed(tmp_path: Path):
    document = Document("a xx b", (Entity.of(0, 4, "P", 0.5),), words=((0, 1), (5, 6)))
    assert changes(tmp_path, document) == [
        "entities cut to their words, as they begin or end between words: 1",
        "documents with text that is in none of their words, which was not kept: 1",
        "scores not kept: 1",
    ]


@pytest.mark.parametrize("depth", [64, 65])
def test_more_layers_than_are_read_are_not_written(tmp_path: Path, depth: int):
    document = Document("Ada", tuple(Entity.of(0, 3, f"L{number}") for number in range(depth)), id="deep")
    if depth > 64:
        with pytest.raises(CorpusError, match="'deep': its entities need 65 layers, more than 64"):
            write([document], tmp_path / "out.conll")
        assert not (tmp_path / "out.conll").exists()
    else:
        write([document], tmp_path / "out.conll")
        assert set(read(tmp_path / "out.conll").documents[0].entities) == set(document.entities)
