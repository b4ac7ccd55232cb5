"""Heads: what a pool or a weight makes of a span. The equations themselves are checked in tests/parity."""

from types import SimpleNamespace

import pytest
import torch

from nearspan.document import Document
from nearspan.encoders import EncodedCorpus
from nearspan.errors import ModelError
from nearspan.heads import Head, HeadInputs, NearestHead, Query, SoftmaxHead, Targets
from nearspan.heads.nearest import NearestSettings
from nearspan.heads.softmax import ScoreHead, SoftmaxSettings
from nearspan.knn import Pool, pool_probabilities, probabilities_over_all
from nearspan.model import Model
from nearspan.spans import AllSpans, Representation

INPUTS = HeadInputs(labels=3, span_size=6, word_size=6)


def query_of(vectors: torch.Tensor) -> Query:
    """A query with span vectors alone."""
    query = Query(network=SimpleNamespace(bottleneck=None), batch=None)
    query.vectors = vectors
    return query


def test_probabilities_add_up_to_one():
    torch.manual_seed(0)
    vectors = 50 * torch.randn(9, 6)
    pool = Pool(torch.randn(30, 6), torch.randint(0, 4, (30,)))
    softmax = SoftmaxHead.build(SoftmaxSettings(), INPUTS).predict_proba(query_of(vectors))
    for probabilities in (softmax, pool_probabilities(vectors, pool, 4)):
        torch.testing.assert_close(probabilities.sum(1), torch.ones(9))
        assert probabilities.shape == (9, 4)


def test_span_vectors_of_another_size_than_the_representation_says_are_refused():
    class Wide(Representation):
        size = 3

        def forward(self, encoded, candidates):
            return torch.zeros(len(candidates.first), 5)

    network = SimpleNamespace(encoder=lambda _: None, suggester=AllSpans(1), representation=Wide())
    batch = EncodedCorpus.of([2], {}).batch(torch.tensor([0]))
    with pytest.raises(ValueError, match=r"Wide gave span vectors \[2, 5\], expected \[2, 3\]"):
        _ = Query(network, batch).representations


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Head().loss(None, Targets()), "Head has no `loss`"),
        (lambda: Head().predict_proba(None), "Head has no `predict_proba`"),
        (lambda: Representation()(None, None), "Representation has no `forward`"),
    ],
)
def test_a_method_that_a_part_lacks_is_named(call, message: str):
    with pytest.raises(NotImplementedError, match=message):
        call()


class Nullless(ScoreHead):
    def scores(self, vectors):
        return vectors[:, :3]


def test_scores_without_a_column_for_null_are_refused_with_both_shapes():
    expected = r"Nullless\.scores gives \[2, 3\] where \[2, 4\] is expected: .* null"
    with pytest.raises(ModelError, match=expected):
        Nullless().loss(query_of(torch.randn(2, 6)), Targets(torch.eye(4)[:2]))


def test_probabilities_without_a_column_for_null_are_refused_with_both_shapes(instance: Model):
    instance.network.head = Nullless()
    query = Query(instance.network, instance.encode(instance.split(Document("Ada"))).batch(torch.tensor([0])))
    with pytest.raises(ModelError, match=r"Nullless\.predict_proba gives \[1, 2\] where \[1, 3\] is expected"):
        instance.network.predict_proba(query.with_vectors(torch.zeros(1, 2)))


def test_the_nearest_head_says_what_it_lacks():
    head = NearestHead.build(NearestSettings(), INPUTS)
    with pytest.raises(ValueError, match="pool"):
        head.loss(query_of(torch.randn(1, 6)), Targets(torch.eye(4)[:1]))
    with pytest.raises(ModelError, match=r"model\.memory\.build"):
        head.predict_proba(query_of(torch.randn(1, 6)))


def test_the_nearest_head_has_no_weights():
    assert list(NearestHead.build(NearestSettings(), INPUTS).parameters()) == []


def test_the_nearest_heads_budget_is_in_megabytes():
    assert NearestHead.build(NearestSettings(budget_mb=3), INPUTS).budget == 3 * 1024 * 1024


def test_the_nearest_head_compares_with_the_sentences_that_it_is_given(instance: Model, documents):
    batch = instance.encode(instance.split(documents[0])).batch(torch.tensor([0]))
    query = Query(instance.network, batch, instance.datastore, torch.tensor([[3, 5]]))
    with torch.no_grad():
        contributions = instance.network.head.contributions(query, 0)
    assert instance.datastore.sentence[contributions.rows].unique().tolist() == [3, 5]


def test_a_classifier_learns_one_vector_a_label_and_nothing_else_unless_asked():
    head = SoftmaxHead.build(SoftmaxSettings(), INPUTS)
    assert {name: tuple(weight.shape) for name, weight in head.named_parameters()} == {"weight": (3, 6)}


def test_a_classifier_may_learn_null_and_biases():
    head = SoftmaxHead.build(SoftmaxSettings(null="learned", bias=True), INPUTS)
    assert {name: tuple(weight.shape) for name, weight in head.named_parameters()} == {"weight": (4, 6), "bias": (4,)}
    assert head.bias.tolist() == [0, 0, 0, 0]
    head = SoftmaxHead.build(SoftmaxSettings(bias=True), INPUTS)
    assert {name: tuple(weight.shape) for name, weight in head.named_parameters()} == {"weight": (3, 6), "bias": (3,)}
    torch.nn.init.ones_(head.bias)
    assert head.scores(torch.zeros(1, 6)).tolist() == [[0, 1, 1, 1]]


@pytest.mark.parametrize("budget", [1, 3000, 10**8])
@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_streaming_is_exact_for_any_budget_and_scale(budget: int, scale: float):
    torch.manual_seed(0)
    vectors, pool = scale * torch.randn(20, 6), Pool(torch.randn(97, 6), torch.randint(0, 3, (97,)))
    probabilities = probabilities_over_all(vectors, pool, 3, budget)
    weights = (vectors.double() @ pool.vectors.double().T).softmax(1)
    expected = torch.stack([weights[:, pool.labels == label].sum(1) for label in range(3)], 1)
    torch.testing.assert_close(probabilities, expected.float(), atol=1e-7, rtol=1e-6)


def test_streaming_of_no_spans():
    probabilities = probabilities_over_all(
        torch.empty(0, 6), Pool(torch.randn(5, 6), torch.zeros(5, dtype=torch.long)), 2, 9
    )
    assert probabilities.shape == (0, 2)


def removed_by_loop(vectors, pool, labels):
    """Equations 1 and 2 over the spans that are still there; null where none is."""
    probabilities = torch.zeros(len(vectors), labels)
    there = [row for row in range(len(pool.labels)) if pool.labels[row] >= 0]
    for number, vector in enumerate(vectors):
        weights = torch.stack([vector @ pool.vectors[row] for row in there]).softmax(0) if there else ()
        for row, weight in zip(there, weights, strict=True):
            probabilities[number, pool.labels[row]] += weight
        probabilities[number, 0] += not there
    return probabilities


@pytest.mark.parametrize("gone", [0, 1, 17, 30])
@pytest.mark.parametrize("budget", [1, 10**6])
def test_removed_spans_vote_for_nothing(gone: int, budget: int):
    generator = torch.Generator().manual_seed(gone)
    labels = torch.randint(0, 3, (30,), generator=generator)
    labels[torch.randperm(30, generator=generator)[:gone]] = -1
    pool = Pool(torch.randn(30, 6, generator=generator), labels)
    vectors = torch.randn(5, 6, generator=generator)
    expected = removed_by_loop(vectors, pool, 3)
    torch.testing.assert_close(probabilities_over_all(vectors, pool, 3, budget), expected)
    torch.testing.assert_close(pool_probabilities(vectors, pool, 3), expected)


def test_a_head_asks_for_nothing_that_it_does_not_name():
    head = Head()
    assert (head.reads_words, head.multilabel, head.uses_datastore, head.sums_inner_products) == (False,) * 4
    assert (head.has_null, head.training_neighbours, head.trains_neighbours) == (True, 0, False)
