import pytest
from cassis import load_cas_from_xmi

from nearspan.document import Document, Entity, Span
from nearspan.errors import CorpusError
from nearspan.integrations.inception import Layer

from .cas import LAYER, make_cas


def read(cas, feature: str = "label", layer: str = LAYER) -> Layer:
    return Layer.read(cas.typesystem.to_xml(), cas.to_xmi(), layer, feature)


def test_a_document_has_the_words_and_sentences_of_the_cas():
    document = read(make_cas(["Zoe 😀", "Kim left"])).to_document()
    assert document.text == "Zoe 😀 Kim left"
    assert document.words == ((0, 3), (4, 5), (6, 9), (10, 14))
    assert document.sentences == ((0, 5), (6, 14))


def test_sentences_with_annotations_are_read_and_no_others():
    cas = make_cas(
        ["😀 nobody", "Ada and Kim", "Zoe left"], ("Ada", "PERSON"), ("Kim", None), ("Zoe", "X"), predicted=["Zoe"]
    )
    [sentence] = read(cas).annotated_sentences("a/")
    assert sentence == Document(
        "Ada and Kim", (Entity.of(0, 3, "PERSON"),), "a/9", ((0, 3), (4, 7), (8, 11)), ((0, 11),)
    )


def test_annotations_beyond_a_sentence_are_counted():
    layer = read(make_cas(["Ada", "Kim"], ("Ada Kim", "PERSON")))
    assert list(layer.annotated_sentences("")) == []
    assert layer.problems == ["1 annotation reaches beyond a sentence and cannot be remembered"]


def test_predictions_are_marked_with_score_and_explanation_in_utf_16():
    cas = make_cas(["😀 Ada"])
    layer = read(cas)
    linked = Entity(Span(((0, 1), (2, 3))), "PERSON", 0.5)
    document = layer.to_document().with_entities([linked, Entity.of(2, 5, "PERSON", 0.9)])
    xmi = layer.add_predictions(document, ["", "as in training"])
    assert 'begin="3" end="6"' in xmi
    [prediction] = load_cas_from_xmi(xmi, cas.typesystem).select(LAYER)
    assert (prediction.begin, prediction.end, prediction.label) == (2, 5, "PERSON")
    assert (prediction.label_score, prediction.label_score_explanation) == (0.9, "as in training")
    assert prediction.inception_internal_predicted is True


@pytest.mark.parametrize(
    ("feature", "layer", "word"),
    [("count", LAYER, "no text"), ("none", LAYER, "no text"), ("label", "none", "cannot be read")],
)
def test_a_layer_or_feature_that_cannot_hold_labels_is_refused(feature, layer, word):
    with pytest.raises(CorpusError, match=word):
        read(make_cas(["Ada"]), feature, layer)


@pytest.mark.parametrize("xmi", ["", "no XML", "<xmi/>", '<!DOCTYPE x [<!ENTITY a "b">]><x/>'])
def test_what_is_no_cas_is_refused(xmi):
    with pytest.raises(CorpusError):
        Layer.read(make_cas(["Ada"]).typesystem.to_xml(), xmi, LAYER, "label")


def test_a_document_type_in_another_encoding_is_refused():
    """In UTF-7, which the parser of a CAS knows, no `<!DOCTYPE` is to be seen."""
    xmi = (
        '<?xml version="1.0" encoding="UTF-7"?>+ADwAIQ-DOCTYPE a+AFs-+ADwAIQ-ENTITY b +ACI-c+ACIAPgBdAD4-<a>+ACY-b;</a>'
    )
    with pytest.raises(CorpusError, match="its encoding cannot be read"):
        Layer.read(make_cas(["Ada"]).typesystem.to_xml(), xmi, LAYER, "label")


@pytest.mark.parametrize("place", ['begin="0" end="99"', 'begin="-2" end="3"'])
@pytest.mark.filterwarnings("ignore:Not mapping external offset")
def test_annotations_outside_of_the_text_are_refused(place: str):
    cas = make_cas(["Ada left"], ("Ada", "PERSON"))
    xmi = cas.to_xmi().replace('begin="0" end="3" label', f"{place} label")
    with pytest.raises(CorpusError, match="of a text of 8 characters"):
        Layer.read(cas.typesystem.to_xml(), xmi, LAYER, "label")


def test_words_that_overlap_are_refused():
    cas = make_cas(["Ada left"])
    xmi = cas.to_xmi().replace('begin="0" end="3"', 'begin="0" end="6"')
    with pytest.raises(CorpusError, match="words must be in order"):
        Layer.read(cas.typesystem.to_xml(), xmi, LAYER, "label").to_document()
