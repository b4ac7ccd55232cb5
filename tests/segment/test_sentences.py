import gc
import weakref

from hypothesis import given
from hypothesis import strategies as st

from nearspan.document import Document
from nearspan.segment import split
from nearspan.segment.words import words

TEXTS = st.one_of(st.text(), st.text(st.sampled_from("aB1.!?…。\"')( \n\r\x00中\ud800\u0301-")))


@given(TEXTS, st.booleans())
def test_sentences_partition_the_words_found(text: str, characters: bool) -> None:
    sentences = split(Document(text), characters=characters)
    covered = [p for sentence in sentences for start, end in sentence.words for p in range(start, end)]
    assert covered == [p for p, character in enumerate(text) if not character.isspace()]
    assert [sentence.index for sentence in sentences] == list(range(len(sentences)))
    assert all(len(sentence) for sentence in sentences)


@given(TEXTS, st.lists(st.integers(0, 20), max_size=8))
def test_given_words_are_kept_whatever_the_sentences(text: str, edges: list[int]) -> None:
    given_words = tuple(words(text))
    inside = sorted({edge for edge in edges if edge <= len(text)})
    bounds = tuple(zip(inside[::2], inside[1::2], strict=False))
    for sentences in (None, (), bounds):
        document = Document(text, words=given_words, sentences=sentences)
        assert tuple(word for sentence in split(document) for word in sentence.words) == given_words


def test_given_sentences_are_kept() -> None:
    document = Document("a b. C d", sentences=((0, 1), (2, 8)))
    assert [sentence.text for sentence in split(document)] == ["a", "b. C d"]


def test_words_outside_the_given_sentences_are_not_lost() -> None:
    document = Document("zero one two three", sentences=((5, 8),))
    assert [sentence.text for sentence in split(document)] == ["zero", "one", "two three"]


def test_a_found_word_ends_where_a_given_sentence_ends() -> None:
    assert [s.tokens for s in split(Document("abcd", sentences=((0, 2), (2, 4))))] == [["ab"], ["cd"]]


def test_a_given_word_belongs_to_the_sentence_in_which_it_begins() -> None:
    document = Document("abcd e", words=((0, 4), (5, 6)), sentences=((0, 2), (2, 6)))
    assert [sentence.tokens for sentence in split(document)] == [["abcd"], ["e"]]


def test_nothing_but_whitespace_has_no_sentence() -> None:
    assert split(Document(" \n\n ")) == split(Document("")) == []


def test_many_sentences() -> None:
    assert len(split(Document("It is so. " * 5_000))) == 5_000


def test_a_document_is_let_go_with_its_last_sentence() -> None:
    class Text(str):
        """A text that can be watched."""

    gc.disable()  # which would free cycles too
    try:
        sentences = split(Document(text := Text("Who? He left.")))
        watched = weakref.ref(text)
        del text, sentences[0]
        assert watched() == "Who? He left."
        del sentences
        assert watched() is None
    finally:
        gc.enable()
