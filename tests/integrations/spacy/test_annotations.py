"""spaCy's documents as ours, and entities as its spans."""

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc

from nearspan.document import Document, Entity, Span
from nearspan.integrations.spacy.annotations import discontinuous, set_entities, to_document, word_tokens
from nearspan.segment import split

NLP = spacy.blank("en")
TEXTS = st.text(st.sampled_from("aB é\n\t 1.,'-(\U0001f600\u3000東\u00ad\u200b"), max_size=40)


def entities(*spans: tuple[int, int, str, float]) -> list[Entity]:
    return [Entity.of(*span) for span in spans]


def test_tokens_are_the_words_but_for_whitespace():
    document = to_document(NLP("Don't go  there.\n"))
    assert [document.text[a:b] for a, b in document.words] == ["Do", "n't", "go", "there", "."]
    assert document.sentences is None


def test_sentences_are_taken_where_there_are_any():
    doc = Doc(NLP.vocab, words=["Ada", "left", "Bob", "ran"], sent_starts=[True, False, True, False])
    assert to_document(doc).sentences == ((0, 8), (9, 16))


def test_an_empty_text_has_no_words():
    assert to_document(NLP("")) == Document("", words=(), sentences=())


@given(TEXTS)
def test_every_run_of_words_is_a_span_of_tokens(text: str):
    """So no entity that a model finds in a document's words is lost or moved."""
    doc = NLP.make_doc(text)
    sentences = split(to_document(doc))
    runs = [sentence.span(i, j + 1) for sentence in sentences for i in range(len(sentence)) for j in range(i, i + 1)]
    runs += [sentence.span(0, len(sentence)) for sentence in sentences]
    set_entities(doc, [Entity(span, "X", 0.5) for span in runs], "nearspan", False, False)
    spans = doc.spans["nearspan"]
    assert [(span.start_char, span.end_char) for span in spans] == [(run.start, run.end) for run in runs]
    assert sum(len(sentence) for sentence in sentences) == len(word_tokens(doc))


def test_nested_entities_keep_their_scores():
    doc = NLP("the bank of Rome")
    set_entities(doc, entities((4, 16, "ORG", 0.7), (12, 16, "PLACE", 0.9)), "nearspan", True, False)
    assert [(span.text, span.label_) for span in doc.spans["nearspan"]] == [("bank of Rome", "ORG"), ("Rome", "PLACE")]
    assert doc.spans["nearspan"].attrs["scores"].tolist() == [0.7, 0.9]


@pytest.mark.parametrize(
    ("spans", "flat"),
    [
        ([(4, 16, "ORG", 0.7), (12, 16, "PLACE", 0.9)], [("bank of Rome", "ORG")]),  # the longest
        ([(12, 16, "ORG", 0.7), (12, 16, "PLACE", 0.9)], [("Rome", "PLACE")]),  # the likeliest of those as long
        ([(4, 11, "A", 0.5), (9, 16, "B", 0.6)], [("of Rome", "B")]),
        ([(0, 3, "A", 0.5), (12, 16, "B", 0.6)], [("the", "A"), ("Rome", "B")]),
    ],
)
def test_of_overlapping_entities_one_is_in_ents(spans, flat):
    doc = NLP("the bank of Rome")
    set_entities(doc, entities(*spans), "nearspan", True, False)
    assert [(span.text, span.label_) for span in doc.ents] == flat
    assert len(doc.spans["nearspan"]) == 2


def test_ents_that_are_there_stay():
    doc = NLP("the bank of Rome")
    doc.ents = [doc.char_span(12, 16, label="CITY")]
    set_entities(doc, entities((4, 16, "ORG", 0.7), (0, 3, "X", 0.6)), "nearspan", True, False)
    assert [(span.text, span.label_) for span in doc.ents] == [("the", "X"), ("Rome", "CITY")]


def test_ents_can_be_left_alone():
    doc = NLP("the bank of Rome")
    set_entities(doc, entities((4, 16, "ORG", 0.7)), "mine", False, False)
    assert (list(doc.ents), len(doc.spans["mine"])) == ([], 1)


def test_discontinuous_entities_are_groups_of_fragments():
    doc = NLP("pain in arms and legs")
    pain = [Entity(Span(((0, 7), (17, 21))), "ADR", 0.8), Entity.of(0, 12, "ADR", 0.9)]
    set_entities(doc, pain, "nearspan", True, True)
    assert [span.text for span in doc.spans["nearspan"]] == ["pain in arms"]
    fragments = doc.spans["nearspan_fragments"]
    assert [(span.text, span.label_, span.id_) for span in fragments] == [("pain in", "ADR", "0"), ("legs", "ADR", "0")]
    assert fragments.attrs["scores"].tolist() == [0.8, 0.8]
    assert [[span.text for span in entity] for entity in discontinuous(doc)] == [["pain in", "legs"]]
    assert [span.text for span in doc.ents] == ["pain in arms"]


def test_discontinuous_entities_survive_a_file():
    doc = NLP("pain in arms and legs")
    set_entities(doc, [Entity(Span(((0, 7), (17, 21))), "ADR", 0.8)], "nearspan", True, True)
    again = Doc(NLP.vocab).from_bytes(doc.to_bytes())
    assert [[span.text for span in entity] for entity in discontinuous(again)] == [["pain in", "legs"]]
    assert again.spans["nearspan_fragments"].attrs["scores"].tolist() == [0.8, 0.8]
