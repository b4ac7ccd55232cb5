"""Reading files of synonyms."""

import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nearspan.errors import CorpusError
from nearspan.formats.synonyms import FORMATS, Synonyms, read

OBO = r"""format-version: 1.2
ontology: test

[Term]
id: T:1
name: myocardial infarction {source="x"} ! a comment
synonym: "heart attack" EXACT []
synonym: "MI" EXACT ABBREVIATION [X:1, Y:2] {kind="short"} ! more
synonym: "the \"big one\" \\ it" RELATED []
synonym: "cardiac event" BROAD []
synonym: "no scope" []

[Term]
id: T:2
name: old name
synonym: "older name" EXACT []
is_obsolete: true

[Typedef]
id: part_of
name: part of

[Term]
id: T:3
name: a\, b\: {c}
exact_synonym: "abc" []
related_synonym: "abcd" []
"""


def row(concept: str, name: str, language: str = "ENG", suppress: str = "N") -> str:
    return f"{concept}|{language}|P|L1|PF|S1|Y|A1||||SRC|PT|1|{name}|0|{suppress}||\n"


UMLS = (
    row("C0000001", "Heart attack")
    + row("C0000001", "Infarto", "SPA")
    + row("C0000001", "MI")
    + row("C0000001", "obsolete name", suppress="O")
    + row("C0000002", "Flu")
    + row("C0000001", "Myocardial infarction")
)
NOUNS = (
    "  1 This is a licence  \n"
    "00000012 10 n 02 night_watch 0 vigil a 001 @ 00000045 n 0000 | a gloss  \n"
    "00000045 10 n 01 entity 0 000 | another  \n"
    "00000099 10 n 0b a 0 b 0 c 0 d 0 e 0 f 0 g 0 h 0 i 0 j 0 k 0 000 | eleven  \n"
)
ADJECTIVES = "00000012 00 s 02 galore(ip) 0 plentiful(a) 0 000 | lots  \n"


@pytest.fixture
def write(tmp_path: Path):
    def write(text: str | bytes, name: str = "names") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def kinds(synonyms: Synonyms) -> list[tuple[str, int]]:
    return [(problem.kind, problem.line) for problem in synonyms.problems]


def test_tab_separated_names(write):
    path = write("# a comment\nheart attack\tMI\t\tmyocardial infarction\t\n\nflu\tinfluenza\r\n")
    synonyms = read(path)
    assert list(synonyms) == [("heart attack", "MI", "myocardial infarction"), ("flu", "influenza")]
    assert (synonyms.problems, synonyms.format) == ((), "tsv")


def test_a_first_column_of_identifiers_is_found_and_lines_with_the_same_are_one_concept(write):
    path = write("X:1\theart attack\nX:2\tflu\tinfluenza\nX:1\tMI\n")
    assert list(read(path)) == [("heart attack", "MI"), ("flu", "influenza")]
    assert read(path).format == "tsv with identifiers"
    assert read(path, identifiers=False).of("X:2") == ("flu", "influenza")


def test_identifiers_of_another_file_are_others(write):
    first, two = write("0001\ta\tb\n", "one"), write("0001\tx\ty\n", "two")
    assert list(read([first, two])) == [("a", "b"), ("x", "y")]


def test_names_that_look_a_bit_like_identifiers_are_names(write):
    assert read(write("TP53\tp53\nCD4\tT4\n")).of("cd4") == ("T4",)
    assert read(write("1984\tNineteen Eighty-Four\nEmma\tEmma Woodhouse\n")).of("1984") == ("Nineteen Eighty-Four",)


def test_a_line_without_a_second_name_is_kept_and_listed(write):
    synonyms = read(write("a\tb\nlonely\nc\td\n"))
    assert "lonely" in synonyms
    assert kinds(synonyms) == [("malformed", 2)]


def test_a_line_without_an_identifier_or_a_name_is_listed(write):
    synonyms = read(write("Q1\ta\tb\n\tx\nQ2\t\n"), identifiers=True)
    assert list(synonyms) == [("a", "b")]
    assert kinds(synonyms) == [("malformed", 2), ("malformed", 3)]


def test_a_later_line_without_an_identifier_keeps_its_first_name(write):
    synonyms = read(write("X:1\ta\tb\n" * 200 + "flu\tinfluenza\n"))
    assert synonyms.of("influenza") == ("flu",)
    assert kinds(synonyms) == [("malformed", 201)]


def test_obo_names_and_exact_synonyms_without_obsolete_terms(write):
    synonyms = read(write(OBO))
    assert list(synonyms) == [("myocardial infarction", "heart attack", "MI"), ("a, b: {c}", "abc")]
    assert (synonyms.problems, synonyms.format) == ((), "obo")


def test_obo_scopes_and_escapes(write):
    synonyms = read(write(OBO), scopes=["related", "EXACT"])
    assert synonyms.of("heart attack") == ("myocardial infarction", "MI", 'the "big one" \\ it', "no scope")
    assert read(write(OBO), scopes="BROAD").of("cardiac event") == ("myocardial infarction",)


def test_obo_lines_that_go_on(write):
    path = write('[Term]\nid: T:1\nname: one \\\ntwo\nsynonym: "three" EXACT []\n')
    assert read(path).of("three") == ("one two",)


def test_obo_lines_that_are_wrong_are_listed(write):
    lines = ["[Term]", "name: a", "synonym: b EXACT []", 'synonym: "c" SAME []', "nonsense", 'synonym: "d" EXACT []']
    synonyms = read(write("\n".join(lines)))
    assert list(synonyms) == [("a", "d")]
    assert kinds(synonyms) == [("malformed", 3), ("malformed", 4), ("malformed", 5)]


def test_obo_terms_of_two_files_are_united_by_their_identifier(write):
    file = write("[Term]\nid: T:1\nname: a\n", "one.obo")
    two = write("[Term]\nid: T:1\nname: b\n", "two.obo")
    assert read([file, two]).of("a") == ("b",)
    assert (read(file) + read(two)).of("a") == ("b",)


def test_umls_english_names_that_are_not_suppressed(write):
    synonyms = read(write(UMLS))
    assert list(synonyms) == [("Heart attack", "MI", "Myocardial infarction"), ("Flu",)]
    assert (synonyms.problems, synonyms.format) == ((), "umls")


def test_umls_languages(write):
    assert list(read(write(UMLS), languages="spa")) == [("Infarto",)]
    assert read(write(UMLS), languages=None).of("infarto")[0] == "Heart attack"


def test_umls_lines_that_are_wrong_are_listed(write):
    synonyms = read(write(row("C0000001", "a") + "C0000001|ENG|b\n" + row("C0000001", " ") + row("", "c")))
    assert list(synonyms) == [("a",)]
    assert kinds(synonyms) == [("malformed", 2), ("empty", 3), ("malformed", 4)]


def test_wordnet_folder(write, tmp_path: Path):
    write(NOUNS, "data.noun")
    write(gzip.compress(ADJECTIVES.encode()), "data.adj.gz")
    synonyms = read(tmp_path)
    assert list(synonyms) == [("night watch", "vigil"), ("entity",), tuple("abcdefghijk"), ("galore", "plentiful")]
    assert (synonyms.problems, synonyms.format) == ((), "wordnet")


def test_wordnet_lines_that_are_wrong_are_listed(write):
    bad = ["00000001 10 n 03 a 0 b 0 001 | too few", "00000001 10 n 00 000 | none", "0001 x", "00000001 10 n 02 a 0"]
    synonyms = read(write(NOUNS + "\n".join(bad)))
    assert kinds(synonyms) == [("malformed", 5), ("malformed", 6), ("malformed", 7), ("malformed", 8)]


@pytest.mark.parametrize("text", ["a\tb\n", OBO, UMLS, NOUNS], ids=["tsv", "obo", "umls", "wordnet"])
def test_gzip_whatever_the_name_is(write, text: str):
    assert list(read(write(gzip.compress(text.encode()), "packed"))) == list(read(write(text, "plain")))


def test_the_format_can_be_said_or_is_found_from_the_name(write):
    path = write("just one name\n")
    assert "just one name" in read(path, "tsv")
    assert "just one name" in read(write("just one name\n", "names.TSV"))
    with pytest.raises(CorpusError, match="content; name it with `format`: obo, tsv, umls, wordnet"):
        read(path)
    with pytest.raises(CorpusError, match="did you mean 'tsv'"):
        read(path, "tvs")


def test_a_byte_order_mark_is_no_part_of_a_name(write):
    assert list(read(write(b"\xef\xbb\xbfa\tb\n"))) == [("a", "b")]


def test_broken_utf8_is_listed(write):
    synonyms = read(write(b"a\tb\nc\td\xff\n"))
    assert kinds(synonyms) == [("broken UTF-8", 2)]
    assert synonyms.of("c") == ("d\ufffd",)


def test_nul_bytes_are_listed(write):
    assert kinds(read(write(b"a\tb\0\n"))) == [("NUL byte", 1)]


def test_a_file_with_nothing_of_what_was_asked_for_says_so(write):
    [problem] = read(write(UMLS), languages=["GER"]).problems
    assert (problem.kind, problem.message) == ("empty", "no name in GER in the file, read as umls")


def test_the_last_line_needs_no_end_and_long_heads_are_read_on(write):
    synonyms = read(write("\n" * 300 + "a\tb"), "tsv")
    assert list(synonyms) == [("a", "b")]
    many = read(write("\n".join(f"a{number}\tb{number}" for number in range(1000))))
    assert many.concepts == 1000


@pytest.mark.parametrize("data", [b"", b" \n\n", gzip.compress(b"", mtime=0)])
def test_an_empty_file_is_an_error(write, data: bytes):
    with pytest.raises(CorpusError, match="is empty"):
        read(write(data))


def test_what_cannot_be_read_is_an_error(write, tmp_path: Path):
    with pytest.raises(CorpusError, match="does not exist"):
        read(tmp_path / "nothing.tsv")
    with pytest.raises(CorpusError, match="folder without WordNet"):
        read(tmp_path)
    with pytest.raises(CorpusError, match="UTF-16"):
        read(write("a\tb".encode("utf-16")))
    with pytest.raises(CorpusError, match="damaged gzip"):
        read(write(gzip.compress(b"a\tb\n" * 100)[:-9]))
    with pytest.raises(CorpusError, match="cannot be read"):
        read("a\0b")
    with pytest.raises(CorpusError, match="name at least one"):
        read([])


def test_wrong_choices_are_refused(write):
    with pytest.raises(CorpusError, match="scopes are EXACT, NARROW, BROAD, RELATED; found SAME"):
        read(write("a\tb"), scopes=["same"])
    with pytest.raises(CorpusError, match="three letters, such as ENG; found EN"):
        read(write("a\tb"), languages="en")


def test_the_sample_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert read("sample").of("paracetamol") == ("acetaminophen",)
    Path("sample").write_text("a\tb\n")
    assert list(read("sample")) == [("a", "b")]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    data=st.one_of(
        st.binary(),
        st.lists(st.sampled_from([*OBO.splitlines(), *UMLS.splitlines(), *NOUNS.splitlines(), "a\tb", "\\", "|"])).map(
            lambda lines: "\n".join(lines).encode()
        ),
    ),
    format=st.sampled_from([None, *FORMATS]),
)
def test_no_content_is_more_than_an_error_of_ours(write, data: bytes, format: str | None):
    try:
        synonyms = read(write(data), format)
    except CorpusError:
        return
    assert synonyms.concepts or synonyms.problems


_NAME = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1).filter(lambda name: name[0] != "#")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.lists(_NAME, min_size=2, max_size=4), min_size=1, max_size=5))
def test_a_table_that_was_written_is_read(write, concepts: list[list[str]]):
    path = write("".join("\t".join(names) + "\n" for names in concepts))
    synonyms = read(path, "tsv", identifiers=False)
    assert list(synonyms) == list(Synonyms(concepts))
