"""Evidence: what is listed adds up to what was said."""

import json
import math

import pytest

from nearspan.document import Document, Span
from nearspan.errors import ModelError, NearspanError
from nearspan.model import Model

TEXTS = (
    "Ada lives in Oslo",
    "Bob Stone met Eve Moon in New York. They went to Rome!",
    "Zed and Ada like unseen Paris",
)
EVERYTHING = 10**6


def close(value: float):
    return pytest.approx(value, abs=1e-5)


@pytest.mark.parametrize("search", ["nearest", "whole"])
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("count", [1, 5, EVERYTHING])
def test_listed_and_unlisted_add_up_to_every_labels_probability(instance: Model, search: str, text: str, count: int):
    explained = instance.set_search(search).explain(text, count)
    assert explained
    for evidence in explained:
        assert evidence.strength == "exact"
        assert sum(evidence.probabilities.values()) == pytest.approx(1, abs=1e-12)
        for label, probability in evidence.probabilities.items():
            group = evidence.neighbours.get(label, [])
            listed = math.fsum(near.weight for near in group)
            assert listed + evidence.unlisted.get(label, 0.0) == pytest.approx(probability, abs=1e-12)
            assert evidence.unlisted.get(label, 0.0) >= 0
            assert len(group) <= count
            if count == EVERYTHING:  # nothing can be left unlisted
                assert listed == pytest.approx(probability, abs=1e-12)


def test_neighbours_of_a_label_come_heaviest_first_and_labels_most_probable_first(instance: Model):
    for evidence in instance.explain(TEXTS[1], 5):
        values = list(evidence.probabilities.values())
        assert values == sorted(values, reverse=True)
        assert evidence.label == next(iter(evidence.probabilities))
        for label, group in evidence.neighbours.items():
            assert {near.label for near in group} == {label}
            weights = [near.weight for near in group]
            assert weights == sorted(weights, reverse=True)


@pytest.mark.parametrize("text", TEXTS)
def test_the_probability_is_the_score_of_annotate(instance: Model, classifier: Model, text: str):
    for model in (instance, classifier):
        [annotated] = model.pipe([text])
        explained = model.explain(text)
        assert [span.span for span in explained] == [entity.span for entity in annotated.entities]
        for explained_entity, entity in zip(explained, annotated.entities, strict=True):
            assert explained_entity.label == entity.label
            assert explained_entity.probabilities[explained_entity.label] == close(entity.score)
            assert explained_entity.text == entity.span.text(text)


def test_neighbours_are_training_spans_with_their_places(instance: Model, documents):
    texts = {document.id: document for document in documents}
    for evidence in instance.explain(TEXTS[0], 10):
        for group in evidence.neighbours.values():
            for near in group:
                assert near.sentence == texts[near.document].text
                assert near.text == near.span.text(near.sentence)
                gold = {entity.span: entity.label for entity in texts[near.document].entities}
                assert near.label == gold.get(near.span, "")


def test_any_span_can_be_asked_about(instance: Model):
    evidence = instance.explain_span("Ada lives in Oslo", Span.of(4, 12))
    assert evidence.text == "lives in"
    assert evidence.label == ""
    assert sum(evidence.probabilities.values()) == close(1)
    assert evidence.neighbours[""]


@pytest.mark.parametrize(
    "span",
    [Span.of(0, 2), Span.of(1, 3), Span.of(3, 4), Span.of(0, 4), Span.of(13, 99)],
)
def test_a_span_that_is_not_whole_words_is_refused(instance: Model, span: Span):
    with pytest.raises(NearspanError, match="not a run of whole words inside one sentence"):
        instance.explain_span("Ada lives in Oslo", span)


def test_a_span_over_two_sentences_is_refused(instance: Model):
    with pytest.raises(NearspanError, match="inside one sentence"):
        instance.explain_span("Ada left. Bob stayed.", Span.of(4, 13))


def test_a_span_wider_than_the_model_considers_is_refused(instance: Model):
    text = "Ada lives in Oslo with Bob and Eve"
    with pytest.raises(NearspanError, match=r"has 8 words; .* at most 6 \(suggester\.max_width\)"):
        instance.explain_span(text, Span.of(0, len(text)))


def test_a_classifier_shows_look_alikes_by_cosine(classifier: Model):
    for evidence in classifier.explain(TEXTS[0], 4):
        assert evidence.strength == "nearest"
        assert evidence.unlisted == {}
        weights = [near.weight for group in evidence.neighbours.values() for near in group]
        assert len(weights) == 4
        assert all(-1.00001 <= weight <= 1.00001 for weight in weights)


def test_a_training_span_is_its_own_nearest_look_alike(classifier: Model, documents):
    evidence = classifier.explain_span(documents[0], documents[0].entities[0].span, 1)
    [[near]] = evidence.neighbours.values()
    assert (near.document, near.text) == ("d0", "Ada")
    assert near.weight == close(1)


def test_without_a_memory_there_is_no_evidence(classifier: Model):
    classifier.datastore = None
    with pytest.raises(ModelError, match=r"no memory to take evidence from"):
        classifier.explain_span("Ada", Span.of(0, 3))


def test_a_text_without_entities_has_no_evidence(instance: Model):
    for text in ("", "   \n", "The rain fell on 21 March"):
        assert instance.explain(text) == []


def test_documents_keep_their_own_words(instance: Model):
    document = Document("Ada-Oslo", words=((0, 3), (3, 4), (4, 8)))
    assert instance.explain_span(document, Span.of(4, 8)).text == "Oslo"


def test_evidence_is_json(instance: Model):
    for evidence in instance.explain(TEXTS[0], 2):
        content = json.loads(json.dumps(evidence.to_dict()))
        assert set(content) == {
            "text",
            "start",
            "end",
            "fragments",
            "label",
            "score",
            "stranger",
            "strength",
            "probabilities",
            "neighbours",
            "unlisted",
            "against",
            "counter_evidence",
            "weight",
            "knn_probabilities",
            "recalled",
            "identifiers",
            "linked",
        }
        assert set(content["probabilities"]) == {"null", "PERSON", "PLACE"}
        near = content["neighbours"]["null"][0]
        assert near["label"] is None
        assert near["sentence"][near["fragments"][0][0] : near["fragments"][-1][1]] == near["text"]


@pytest.mark.parametrize("search", ["nearest", "whole"])
def test_what_speaks_against_a_label_has_another_one_and_comes_heaviest_first(instance: Model, search: str):
    for evidence in instance.set_search(search).explain(TEXTS[1], 4):
        weights = [near.weight for near in evidence.against]
        assert len(weights) == 4
        assert weights == sorted(weights, reverse=True)
        assert evidence.label not in {near.label for near in evidence.against}
        best = max(group[0].weight for label, group in evidence.neighbours.items() if label != evidence.label)
        assert weights[0] == close(best)


def test_a_classifier_shows_the_nearest_spans_with_other_labels(classifier: Model):
    for evidence in classifier.explain(TEXTS[0], 4):
        assert len(evidence.against) == 4
        assert evidence.label not in {near.label for near in evidence.against}
        everything = classifier.explain_span(TEXTS[0], evidence.span, EVERYTHING).neighbours
        others = [near.weight for label, group in everything.items() if label != evidence.label for near in group]
        assert evidence.against[0].weight == close(max(others))
        assert (evidence.weight, evidence.counter_evidence, evidence.knn_probabilities) == (0, None, {})


def test_the_memorys_share_in_a_voted_decision_is_said(classifier: Model):
    alone = classifier.explain_span(TEXTS[0], Span.of(0, 3))
    mixed = classifier.interpolate(0.4).explain_span(TEXTS[0], Span.of(0, 3))
    assert (mixed.weight, mixed.strength) == (0.4, "nearest")
    assert sum(mixed.knn_probabilities.values()) == close(1)
    for label, probability in mixed.probabilities.items():
        assert probability == close(0.6 * alone.probabilities[label] + 0.4 * mixed.knn_probabilities[label])
