from pathlib import Path

import pytest

from nearspan.formats import Corpus, indexed
from nearspan.formats.markup import render
from nearspan.formats.source import Source


def read_corpus(text: str) -> Corpus:
    return indexed.read(Source(Path("cases.txt"), text))


def test_pairs_of_inclusive_indexes():
    corpus = read_corpus("Pain in arms and legs .\n0,2 ADR|0,1,4,4 ADR\n\nNone .\n\n\n")
    assert [render(document) for document in corpus] == [
        "[[Pain in](ADR#1) arms](ADR) and [legs](ADR#1) .",
        "None .",
    ]
    assert corpus.problems == ()
    assert corpus.documents[0].words == ((0, 4), (5, 7), (8, 12), (13, 16), (17, 21), (22, 23))


def test_pairs_that_follow_each_other_are_one_fragment():
    assert [render(document) for document in read_corpus("a b c\n0,0,1,2 X\n\n")] == ["[a b c](X)"]


@pytest.mark.parametrize(
    ("mentions", "kind"),
    [
        ("2,0 X", "inverted"),
        ("1,0 X", "empty"),
        ("0,0,2,1 X", "empty"),
        ("1,9 X", "out of range"),
        ("0,0 X|0,0 X", "duplicate"),
        ("0 X", "malformed"),
        ("0,0", "malformed"),
        ("X", "malformed"),
    ],
)
def test_wrong_mentions_are_listed_with_their_line(mentions: str, kind: str):
    assert [(problem.kind, problem.line) for problem in read_corpus(f"a b c\n{mentions}\n\n").problems] == [(kind, 2)]


@pytest.mark.parametrize("before", ["", "a b\n0,0 X\n\n", "a b\n\n\n", "\n\n\n", "\n0,0 X\n\n"])
def test_mentions_after_an_empty_sentence_are_listed(before: str):
    corpus = read_corpus(f"{before}\n0,0 Y|0,1 X\n\nc d\n0,0 Z\n\n")
    assert [render(document) for document in corpus][-1] == "[c](Z) d"
    assert "Y" not in " ".join(document.text for document in corpus)
    assert (corpus.problems[-1].kind, corpus.problems[-1].line) == ("malformed", before.count("\n") + 2)


def test_a_sentence_that_looks_like_mentions_is_a_sentence_in_its_place():
    corpus = read_corpus("1,5 kg\n\n\n2,5 kg\n1,1 UNIT\n\n3,5 kg\n")
    assert [render(document) for document in corpus] == ["1,5 kg", "2,5 [kg](UNIT)", "3,5 kg"]
    assert corpus.problems == ()


def test_a_line_too_many_is_listed():
    assert [(problem.kind, problem.line) for problem in read_corpus("a b\n0,0 X\nc\n\n").problems] == [("malformed", 3)]


SENTENCES = "Pain in arms and legs .\n0,2 ADR|0,1,4,4 ADR\n\nNone .\n\n\nFever\n0,0 ADR\n\n"


@pytest.mark.parametrize("blank", ["\n\n", "\n \n", "\n\n\n", "\n\n\n\n"])
def test_mentions_that_blank_lines_part_from_their_sentence_are_listed(blank: str):
    corpus = read_corpus(SENTENCES.replace("\n", blank))
    assert [document.text for document in corpus] == ["Pain in arms and legs .", "None .", "Fever"]
    assert [problem.lost for problem in corpus.problems] == [2, 1]


def test_a_sentence_that_looks_like_mentions_is_listed_where_lines_are_not_in_their_places():
    corpus = read_corpus("\n1,5 kg\n\n\n2,5 kg\n1,1 UNIT\n\n")
    assert [(problem.line, problem.lost) for problem in corpus.problems] == [(2, 1), (5, 1), (6, 1)]
    assert len(corpus) == 0


def test_a_sentence_without_a_line_for_its_mentions_is_listed():
    corpus = read_corpus("a b\n\nc d\n0,0 X\n\n")
    assert [render(document) for document in corpus] == ["a b", "[c](X) d"]
    assert [(problem.kind, problem.line) for problem in corpus.problems] == [("malformed", 2)]


def test_tabs_between_words_are_blanks_and_none_are_part_of_a_word():
    corpus = read_corpus("Pain\tin arms \t\n 0,2\tADR \n\n")
    assert ([render(document) for document in corpus], corpus.problems) == (["[Pain in arms](ADR)"], ())
