"""The network: a sentence's probabilities do not depend on its batch, and equal the paper's sums."""

from dataclasses import replace

import pytest
import torch

import nearspan
from nearspan.document import Document
from nearspan.errors import ConfigError
from nearspan.heads import Query, nearest
from nearspan.knn import nearest_sentences
from nearspan.model import Model
from nearspan.segment import LabelledSpan, split
from nearspan.spans import SpanLabels
from nearspan.training.data import TrainingData

TEXTS = (
    "Ada lives in Oslo",
    "Bob",
    "Eve Moon left New York for Rome in the rain with Bob Stone and Ada",
    "unseen words here",
    "Paris is far",
)


def query(model: Model, *texts: str) -> Query:
    """Some texts, of a sentence each, as the head is asked about them."""
    corpus = model.encode([sentence for text in texts for sentence in split(Document(text))])
    return Query(model.network, corpus.batch(torch.arange(len(texts))), model.datastore)


@torch.inference_mode()
def one_by_one(model: Model) -> torch.Tensor:
    return torch.cat([model.network.predict_proba(query(model, text)) for text in TEXTS])


@pytest.mark.parametrize("search", ["nearest", "whole"])
@pytest.mark.parametrize("budget", [1, 2**30])
@torch.inference_mode()
def test_a_batch_equals_its_sentences_one_by_one(instance: Model, search: str, budget: int):
    instance.set_search(search)
    instance.network.head.budget = budget
    together = query(instance, *TEXTS)
    probabilities = instance.network.predict_proba(together)
    torch.testing.assert_close(probabilities, one_by_one(instance), atol=1e-5, rtol=1e-4)
    assert len(together.candidates) == len(probabilities)


@torch.inference_mode()
def test_a_batch_is_searched_for_once_and_again_in_another_datastore(instance: Model, monkeypatch):
    searched = []
    monkeypatch.setattr(
        nearest, "nearest_sentences", lambda store, *rest: searched.append(store) or nearest_sentences(store, *rest)
    )
    asked, head = query(instance, *TEXTS), instance.network.head
    for row in (0, 1):
        head.contributions(asked, row)
    instance.network.predict_proba(asked)
    assert searched == [instance.datastore]
    other = replace(instance.datastore)
    head.contributions(asked.with_datastore(other), 0)
    assert [store is other for store in searched] == [False, True]


@torch.inference_mode()
def test_a_classifier_batch_equals_its_sentences_one_by_one(classifier: Model):
    probabilities = classifier.network.predict_proba(query(classifier, *TEXTS))
    torch.testing.assert_close(probabilities, one_by_one(classifier), atol=1e-5, rtol=1e-4)


def span_labels(model: Model, data: TrainingData) -> SpanLabels:
    return model.network.suggester.span_labels(torch.tensor(data.lengths), data.numbered_entities())


def equation_2(vector: torch.Tensor, rows: list[int], model: Model) -> list[float]:
    memory = model.datastore
    weights = torch.stack([vector.double() @ vectors for vectors in memory.rows(torch.tensor(rows)).double()]).softmax(
        0
    )
    totals = [0.0] * len(model.labels)
    for weight, row in zip(weights.tolist(), rows, strict=True):
        totals[int(memory.labels[row])] += weight
    return totals


@pytest.fixture(params=["words", "spans"])
def kept(instance: Model, request) -> Model:
    """The model with a memory that is kept by words, and by spans as for vectors that do not add up."""
    if request.param == "spans":
        memory = instance.datastore
        instance.datastore = replace(memory, vectors=memory.rows(torch.arange(len(memory))))
    assert isinstance(instance.datastore.vectors, torch.Tensor) == (request.param == "spans")
    return instance


@torch.inference_mode()
def test_the_whole_search_is_equation_2_over_all_spans_of_the_memory(kept: Model):
    kept.set_search("whole")
    asked = query(kept, *TEXTS)
    probabilities, vectors = kept.network.predict_proba(asked), asked.vectors
    for row in range(0, len(vectors), 3):
        expected = equation_2(vectors[row], list(range(len(kept.datastore))), kept)
        assert probabilities[row].tolist() == pytest.approx(expected, abs=1e-5)


@torch.inference_mode()
def test_the_nearest_search_is_equation_2_over_the_nearest_sentences(kept: Model):
    memory, count = kept.datastore, kept.recipe.head.neighbours
    for text in TEXTS:
        asked = query(kept, text)
        probabilities, vectors, batch = kept.network.predict_proba(asked), asked.vectors, asked.batch
        mean = kept.network.encoder.features["vectors"](batch, batch.corpus.features["vectors"])[0].mean(0)
        cosine = torch.nn.functional.cosine_similarity(memory.sentence_vectors, mean[None]).tolist()
        nearest = sorted(range(len(cosine)), key=lambda m: -cosine[m])[:count]
        rows = [row for row in range(len(memory)) if int(memory.sentence[row]) in nearest]
        for row in range(0, len(vectors), 3):
            assert probabilities[row].tolist() == pytest.approx(equation_2(vectors[row], rows, kept), abs=1e-5)


@torch.inference_mode()
def test_the_memory_holds_what_the_network_sees(kept: Model, documents):
    """Span vectors of the memory are those of its sentences read one at a time."""
    for number, document in enumerate(documents):
        [sentence] = split(document)
        vectors = Query(kept.network, kept.encode([sentence]).batch(torch.tensor([0]))).vectors
        start, count = int(kept.datastore.starts[number]), int(kept.datastore.counts[number])
        torch.testing.assert_close(kept.datastore.rows(slice(start, start + count)), vectors, atol=1e-5, rtol=1e-4)


def test_gradient_through_neighbours_is_an_option(tiny, documents):
    from nearspan.model.network import LabelledBatch

    data = TrainingData.of(documents, tiny("instance"), split)
    losses = {}
    for through in ("false", "true"):
        torch.manual_seed(0)
        recipe = tiny("instance", f"head.through_neighbours={through}", "encoder.bilstm.dropout=0.0")
        model = Model.from_corpus(recipe, data.sentences, data.labels)
        corpus, labels = model.encode(data.sentences), span_labels(model, data)
        batches = [LabelledBatch(corpus.batch(torch.tensor(ids)), labels) for ids in ([0, 1], [2, 3, 4])]
        loss = model.network(*batches)
        loss.backward()
        losses[through] = (loss.item(), model.network.representation.minus.weight.grad.clone())
    assert losses["true"][0] == pytest.approx(losses["false"][0], rel=1e-5)
    assert not torch.allclose(losses["true"][1], losses["false"][1])


def test_the_loss_has_that_of_the_fragment_linker_in_it(tiny):
    from nearspan.model.network import LabelledBatch

    recipe, broken = tiny("classifier"), [nearspan.markup("[pain](ADR#1) in arms and [legs](ADR#1)")]
    data = TrainingData.of(broken, recipe, split)
    fragments = data.fragments
    model = Model.from_corpus(recipe, data.sentences, data.labels, linked=fragments.names)
    network, batch = model.network.eval(), model.encode(data.sentences).batch(torch.tensor([0]))
    labelled = LabelledBatch(batch, span_labels(model, data), fragments=fragments)
    linked = network(labelled) - network(replace(labelled, fragments=None))
    query = Query(network, batch)
    gold = fragments.batch(batch.ids, query.candidates)
    expected = network.fragment_linker.loss(query.vectors, query.candidates, gold)
    assert linked.item() == pytest.approx(expected.item(), rel=1e-5)
    assert linked.item() > 0


@pytest.mark.parametrize("part", ["sentence_context.size=3", "word_memory.weight=0.5"])
def test_context_and_memory_need_a_bilstm(tiny, documents, part: str):
    data = TrainingData.of(documents, tiny("classifier"), split)
    recipe = tiny("classifier", "representation.kind=endpoint_mean", "encoder.bilstm=none", f"encoder.{part}")
    with pytest.raises(ConfigError, match=r"encoder\.bilstm"):
        Model.from_corpus(recipe, data.sentences, data.labels, entities=data.entities)


@pytest.mark.parametrize(
    "settings",
    [[], ["encoder.bilstm=none", "representation.kind=endpoint_mean"], ["encoder.sentence_context.size=3"]],
)
def test_an_encoder_needs_something_to_read_words_by(tiny, documents, settings: list[str]):
    data = TrainingData.of(documents, tiny("classifier"), split)
    recipe = tiny("classifier", *settings, "encoder.vectors=none", "encoder.characters=none")
    with pytest.raises(ConfigError, match=r"needs something to read: set encoder\.vectors .*, encoder\.characters or"):
        Model.from_corpus(recipe, data.sentences, data.labels, entities=data.entities)


def test_label_vectors_need_contiguous_entities(tiny, tmp_path):
    broken = [nearspan.markup("[pain](ADR#1) in arms and [legs](ADR#1)")]
    settings = ("encoder.sentence_context.size=3", "training.epochs=1")
    with pytest.raises(ConfigError, match=r"set encoder\.sentence_context\.pooling to mean"):
        nearspan.train(tiny("classifier", *settings), broken, out=tmp_path / "a", device="cpu")
    mean = tiny("classifier", *settings, "encoder.sentence_context.pooling=mean")
    assert nearspan.train(mean, broken, out=tmp_path / "b", device="cpu").model.labels == ["", "ADR"]


@torch.inference_mode()
def test_a_crfs_candidates_and_predictions_do_not_depend_on_the_batch(tiny, documents):
    torch.manual_seed(0)
    data = TrainingData.of(documents, tiny("hire"), split)
    model = Model.from_corpus(tiny("hire"), data.sentences, data.labels, entities=data.entities)
    torch.nn.init.normal_(model.network.head.emissions.weight)
    asked = query(model, *TEXTS)
    torch.testing.assert_close(model.network.predict_proba(asked), one_by_one(model), atol=1e-5, rtol=1e-4)
    for text, spans in zip(TEXTS, model.network.predict(asked), strict=True):
        [alone] = model.network.predict(query(model, text))
        assert [(g.first, g.stop, g.label) for g in spans] == [(g.first, g.stop, g.label) for g in alone]
        assert [g.score for g in spans] == pytest.approx([g.score for g in alone], abs=1e-5)


@pytest.mark.parametrize("name", ["instance", "classifier"])
def test_smoothing_is_an_objective_of_any_head(tiny, documents, name: str):
    from nearspan.model.network import LabelledBatch
    from nearspan.training.data import TrainingData

    data = TrainingData.of(documents, tiny("instance"), split)
    losses = []
    for settings in ([], ["losses.boundary_smoothing.epsilon=0.0"], ["losses.boundary_smoothing.epsilon=0.9"]):
        torch.manual_seed(0)
        model = Model.from_corpus(tiny(name, *settings, "encoder.bilstm.dropout=0.0"), data.sentences, data.labels)
        corpus, labels = model.encode(data.sentences), span_labels(model, data)
        batches = [LabelledBatch(corpus.batch(torch.tensor(ids)), labels) for ids in ([0, 1], [2, 3, 4])]
        losses.append(model.network(*batches).item())
    assert losses[1] == pytest.approx(losses[0], rel=1e-6)
    assert losses[2] != pytest.approx(losses[0], rel=1e-3)


@torch.inference_mode()
def test_of_what_the_memory_cannot_hold_the_head_alone_speaks_with_its_part(classifier: Model, monkeypatch):
    """An entity wider than a candidate has nobody in the memory for it, as if P_knn were 0."""
    classifier.interpolate(0.25)
    wide = LabelledSpan.of(0, 9, 1, 0.8)
    monkeypatch.setattr(classifier.network.head, "predict_beyond_candidates", lambda _: [[wide]])
    [spans] = classifier.network.predict(query(classifier, TEXTS[2]))
    assert [span.score for span in spans if span.stop - span.first == 9] == [pytest.approx(0.6)]


def test_the_loss_of_a_batch_is_the_mean_over_its_sentences(tiny, documents):
    from nearspan.model.network import LabelledBatch

    data = TrainingData.of(documents, tiny("classifier"), split)
    torch.manual_seed(0)
    model = Model.from_corpus(tiny("classifier", "encoder.bilstm.dropout=0.0"), data.sentences, data.labels)
    corpus, labels = model.encode(data.sentences), span_labels(model, data)
    both, first, second = (
        model.network(LabelledBatch(corpus.batch(torch.tensor(ids)), labels)).item() for ids in ([0, 1], [0], [1])
    )
    assert both == pytest.approx((first + second) / 2, rel=1e-5)


@torch.inference_mode()
def test_all_probabilities_are_told_unless_only_entities_matter(instance: Model, documents):
    asked = query(instance, *(document.text for document in documents))
    whole = instance.network.predict_proba(asked)
    assert torch.equal(whole, instance.network.predict_proba(asked, entities_only=False))
    assert not torch.equal(whole, instance.network.predict_proba(asked, entities_only=True))


@torch.inference_mode()
@pytest.mark.parametrize("search", ["nearest", "whole"])
def test_a_removed_span_is_no_part_of_a_probability(instance: Model, search: str):
    instance.set_search(search)
    instance.datastore.labels[0] = -1
    contributions = instance.network.head.contributions(query(instance, TEXTS[0]), 0)
    assert 0 not in contributions.rows.tolist()
    assert contributions.weights.sum().item() == pytest.approx(1)
