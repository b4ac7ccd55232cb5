"""What words recalled, as evidence; and a CRF's evidence for spans of any width."""

import json

import pytest
import torch

import nearspan
from nearspan.document import Span
from nearspan.model import Model

SETTINGS = ("encoder.sentence_context.size=3", "head.dropout=0.0", "training.epochs=15", "training.learning_rate=0.5")


@pytest.fixture(scope="module")
def folder(tiny, documents, tmp_path_factory):
    out = tmp_path_factory.mktemp("hire") / "model"
    nearspan.train(tiny("hire", *SETTINGS), documents, out=out, device="cpu")
    return out


@pytest.fixture
def hire(folder) -> Model:
    return nearspan.load(folder, device="cpu")


def test_each_word_shows_where_training_has_it(hire: Model, documents):
    evidence = hire.explain_span("Ada Zorro lives", Span.of(0, 9), k=2)
    ada, zorro = evidence.recalled
    assert evidence.strength == "attended"
    assert evidence.neighbours == {}
    assert (ada.text, ada.weight) == ("Ada", pytest.approx(0.3))
    occurrences = sum("Ada" in document.text for document in documents)
    assert [near.weight for near in ada.neighbours] == pytest.approx(
        [1 / occurrences] * 2
    )  # keys of one word are equal
    assert ada.unlisted == pytest.approx(1 - 2 / occurrences)
    assert {(near.text, near.label) for near in ada.neighbours} == {("Ada", "PERSON")}
    assert (zorro.text, zorro.weight, zorro.neighbours, zorro.unlisted) == ("Zorro", 0, [], 0)


def test_words_that_are_no_entity_say_so(hire: Model):
    [lives] = hire.explain_span("Zorro lives here", Span.of(6, 11)).recalled
    assert {near.label for near in lives.neighbours} == {""}
    assert all(near.sentence[near.span.start : near.span.end] == "lives" for near in lives.neighbours)


def test_a_span_of_unknown_words_has_look_alikes_instead(hire: Model):
    evidence = hire.explain_span("Zorro Qwx", Span.of(0, 5))
    assert evidence.strength == "nearest"
    assert evidence.neighbours
    assert [word.weight for word in evidence.recalled] == [0]


def test_the_evidence_is_json(hire: Model):
    content = json.loads(json.dumps(hire.explain_span("Ada lives", Span.of(0, 3), 1).to_dict()))
    assert content["strength"] == "attended"
    assert content["recalled"][0]["weight"] == pytest.approx(0.3)
    assert content["recalled"][0]["neighbours"][0]["label"] == "PERSON"


def test_occurrences_that_the_memory_no_longer_holds_are_not_listed(hire: Model, documents):
    hire.build_datastore(hire.label_documents(documents[8:9]))  # Nobody lives here
    [ada] = hire.explain_span("Ada lives", Span.of(0, 3)).recalled
    assert (ada.neighbours, ada.weight, ada.unlisted) == ([], pytest.approx(0.3), 1.0)


def recalled_sentences(model: Model) -> list[tuple[str, str, str]]:
    """Where `Ada` is recalled from."""
    [ada] = model.explain_span("Ada lives", Span.of(0, 3), k=9).recalled
    return sorted((near.document, near.sentence, near.label) for near in ada.neighbours)


def test_occurrences_are_found_whatever_the_numbers_of_their_sentences(hire: Model, documents):
    before = recalled_sentences(hire)
    labelled = hire.label_documents(documents[::-1])
    hire.build_datastore(labelled)
    assert recalled_sentences(hire) == before
    [ada, *_] = hire.explain_span("Ada lives", Span.of(0, 3)).recalled[0].neighbours
    assert hire.datastore.sentences[ada.sentence_id].text == ada.sentence


def test_another_sentence_under_the_same_number_is_never_shown(hire: Model, documents):
    other = [nearspan.markup("[Ada](PLACE) fell", id="new"), *documents[1:]]
    before, labelled = recalled_sentences(hire), hire.label_documents(other)
    hire.build_datastore(labelled)
    assert recalled_sentences(hire) == [word for word in before if word[0] != "d0"]


def test_entities_wider_than_any_candidate_are_found_scored_and_explained(hire: Model):
    head = hire.network.head
    text = "one two three four five six seven eight"
    with torch.no_grad():  # one entity over everything
        head.emissions.weight.zero_()
        head.emissions.bias.zero_()
        head.emissions.bias[2] = 50.0
    [document] = hire.pipe([text])
    [entity] = document.entities
    assert entity.span.text(text) == text
    assert entity.score == pytest.approx(1.0)
    [evidence] = hire.explain(text)
    assert (evidence.label, evidence.probabilities[evidence.label]) == (entity.label, pytest.approx(1.0))
    assert evidence.strength == "nearest"
    assert evidence.neighbours == {}


def test_the_instance_head_stays_exact_and_tells_what_was_recalled_too(tiny, documents, tmp_path):
    recipe = tiny("instance", "encoder.word_memory.weight=0.5")
    model = nearspan.train(recipe, documents, out=tmp_path / "model", device="cpu").model
    evidence = model.explain_span("Ada lives", Span.of(0, 3))
    assert evidence.strength == "exact"
    assert evidence.recalled[0].weight == pytest.approx(0.5)
