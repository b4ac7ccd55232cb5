"""The comparison of spans with a memory: what is quicker says the same."""

from dataclasses import replace

import pytest
import torch

import nearspan
from nearspan.config import Recipe
from nearspan.heads import Query
from nearspan.knn import word_sums
from nearspan.knn.datastore import label_spans
from nearspan.knn.word_table import WordTable
from nearspan.model import Model
from nearspan.spans import AllSpans
from nearspan.training.data import TrainingData


@pytest.fixture(params=["flat", "nested"])
def model(request, tiny, documents) -> Model:
    """An instance model that learned nothing yet, with a memory."""
    return made(tiny("instance", f"representation.form={request.param}", "head.neighbours=9"), documents)


def made(recipe: Recipe, documents: list[nearspan.Document]) -> Model:
    data = TrainingData.of(documents, recipe, recipe.splitter())
    torch.manual_seed(3)
    model = Model.from_corpus(recipe, data.sentences, data.labels)
    model.network.eval()
    model.build_datastore(data.labelled_sentences)
    return model


def predict_proba(model: Model, documents: list[nearspan.Document], scale: float, *, entities: bool) -> torch.Tensor:
    """P(y|s) of the spans that the model remembers, as if the vectors that ask were `scale` times as large."""
    with torch.no_grad():
        return model.network.predict_proba(scaled_query(model, documents, scale), entities_only=entities)


def scaled_query(model: Model, documents: list[nearspan.Document], scale: float) -> Query:
    sentences = [sentence for document in documents for sentence in model.split(document)]
    query = Query(model.network, model.encode(sentences).batch(torch.arange(len(sentences))), model.datastore)
    query.encoded.states.mul_(scale)
    return query


@pytest.mark.parametrize("scale", [1, 100, 1000, 10_000])
@pytest.mark.parametrize("few", [1, 3, 8])
def test_entities_are_the_same_where_only_they_matter(model, documents, monkeypatch, scale: float, few: int):
    """Larger scales drive sums out of float32's range, and the largest out of double precision's."""
    monkeypatch.setattr(word_sums, "FEW", few)
    monkeypatch.setattr(word_sums, "GROUP", 3)
    whole, quick = (predict_proba(model, documents, scale, entities=entities) for entities in (False, True))
    assert torch.equal(quick.argmax(1), whole.argmax(1))
    settled, are_entities = quick[:, 0] == 1, whole.argmax(1) > 0
    torch.testing.assert_close(
        quick[are_entities | ~settled], whole[are_entities | ~settled], atol=1e-5 + 1e-6 * scale, rtol=0
    )
    assert are_entities.any() == (scale > 1)
    if scale < 1000 and few > 1:
        assert (whole[settled, 0] < 1).any()  # some were not weighed to the end


def test_sentences_apart_are_weighed_as_ever(model, documents, monkeypatch):
    """They have no words and entities in the pools that say which spans are null."""
    monkeypatch.setattr(word_sums, "FEW", 3)
    memory = model.datastore
    memory.sentences[0] = replace(memory.sentences[0], weight=2.0)
    model.datastore = memory.with_vectors(memory.vectors, memory.sentence_vectors)
    whole, quick = (predict_proba(model, documents, 100, entities=entities) for entities in (False, True))
    assert torch.equal(quick, whole)


def test_a_memory_without_entities_has_null_for_all_spans(model, documents):
    memory = model.datastore
    model.datastore = replace(memory, labels=torch.zeros_like(memory.labels)).with_vectors(
        memory.vectors, memory.sentence_vectors
    )
    quick = predict_proba(model, documents, 100, entities=True)
    assert torch.equal(quick, torch.eye(model.network.labels)[:1].expand_as(quick))


def test_what_might_not_fit_into_the_budget_is_weighed_as_ever(model, documents):
    quick = predict_proba(model, documents, 100, entities=True)
    model.network.head.budget = 2**14
    whole, small = (predict_proba(model, documents, 100, entities=entities) for entities in (False, True))
    assert torch.equal(small, whole)
    assert not torch.equal(quick, whole)


@pytest.mark.parametrize(("entities", "small"), [(False, 2**16), (True, 2**19)])
def test_fewer_sentences_are_compared_at_once_where_the_budget_is_small(
    model, documents, monkeypatch, entities: bool, small: int
):
    """With all words of their neighbours, that is; all spans may be entities."""
    sizes, pool = {small: [], 2**29: []}, WordTable.pool

    def note(table, sentences, named=None):
        sizes[model.network.head.budget] += [len(sentences)] if named is None else []
        return pool(table, sentences, named)

    monkeypatch.setattr(WordTable, "pool", note)
    monkeypatch.setattr(word_sums, "SURE", 0.0)
    for budget in sizes:
        model.network.head.budget = budget
        predict_proba(model, documents, 100, entities=entities)
    assert sizes[2**29] == [len(documents)]
    assert max(sizes[small]) < len(documents) / 2


def test_which_spans_are_null_for_sure_does_not_depend_on_the_company(model, documents, monkeypatch):
    """Sentences whose neighbours have fewer entities than others' are filled up."""
    monkeypatch.setattr(word_sums, "FEW", 3)
    together = predict_proba(model, documents, 100, entities=True)[:, 0] == 1
    monkeypatch.setattr(word_sums, "CELLS", 1)
    alone = predict_proba(model, documents, 100, entities=True)[:, 0] == 1
    assert together.any()
    assert torch.equal(alone, together)


@pytest.mark.parametrize("scale", [1, 100])
@pytest.mark.parametrize("apart", [0, 2, 100])
def test_a_sentence_alone_is_weighed_as_in_a_batch(model, documents, scale: float, apart: int):
    """Some of its neighbours stand apart, or all of them, so that no words are left."""
    memory = model.datastore
    memory.sentences[:apart] = [replace(remembered, weight=2.0) for remembered in memory.sentences[:apart]]
    model.datastore = memory.with_vectors(memory.vectors, memory.sentence_vectors)
    together = predict_proba(model, documents, scale, entities=False)
    alone = torch.cat([predict_proba(model, [document], scale, entities=False) for document in documents])
    torch.testing.assert_close(alone, together, atol=1e-5 * scale, rtol=0)


@pytest.mark.parametrize("apart", [0, 2])
@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize(("form", "scale"), [("flat", 900), ("nested", 300)])
@torch.no_grad()
def test_the_whole_memory_is_exact_where_scores_are_large(tiny, documents, form, scale, together: bool, apart: int):
    """As those of trained weights are: single precision would be 1e-5 to 1e-4 off."""
    settings = (f"representation.form={form}", "representation.size=32", "head.search=whole")
    model = made(tiny("instance", *settings), documents)
    memory = model.datastore
    memory.sentences[:apart] = [replace(remembered, weight=3.0) for remembered in memory.sentences[:apart]]
    lengths = torch.tensor([len(remembered.words) for remembered in memory.sentences])
    _, _, weights = label_spans(memory.sentences, model.labels[1:], AllSpans(memory.max_width).candidates(lengths))
    model.datastore = memory = replace(memory, log_weights=weights).with_vectors(
        memory.vectors, memory.sentence_vectors
    )
    network, largest, furthest = model.network, 0.0, 0.0
    for some in [documents] if together else [[document] for document in documents]:
        query = scaled_query(model, some, scale)
        candidates = query.candidates
        ends = query.network.representation.end_sums(query.encoded.states).double()
        sentence = candidates.sentence
        asked = ends.left[sentence, candidates.first] + ends.right[sentence, candidates.stop - 1]
        scores = asked @ memory.rows(slice(None)).double().T
        expected = torch.zeros(len(scores), network.head.labels, dtype=torch.double)
        expected.index_add_(1, memory.labels, (scores + weights).softmax(1))
        probabilities = network.predict_proba(query)
        largest = max(largest, float(scores.abs().max()))
        furthest = max(furthest, float((probabilities.double() - expected).abs().max()))
    assert 300 < largest < 1000
    assert furthest < 1e-5
