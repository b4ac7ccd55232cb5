"""Ouchi et al. (2020): the fast forms against loops written from the paper's text."""

import math
from types import SimpleNamespace

import pytest
import torch

from nearspan.encoders import EncodedCorpus
from nearspan.heads import HeadInputs, NearestHead, Query, SoftmaxHead, Targets
from nearspan.heads.nearest import NearestSettings
from nearspan.heads.softmax import SoftmaxSettings
from nearspan.knn import (
    MemorySentence,
    Pool,
    WordTable,
    neighbour_probabilities,
    pool_probabilities,
    probabilities_over_all,
)
from nearspan.knn.prefix_products import WordScores, row_sums, window_sums
from nearspan.knn.word_sums import span_probabilities
from nearspan.model.span_vectors import corpus_vectors
from nearspan.spans import EndSums, LstmMinus, WordSums, enumerate_spans
from nearspan.spans.lstm_minus import LstmMinusSettings


def paper_minus(states, minus, plus, first, stop):
    """h_s = W [f_b - f_{a-1}, b_a - b_{b+1}, (f_a + f_b, b_a + b_b)] + c for one span, a = first, b = stop - 1."""
    half = states.shape[-1] // 2
    forward, backward = states[:, :half], states[:, half:]
    zero = torch.zeros(half)
    a, b = first, stop - 1
    before = forward[a - 1] if a > 0 else zero
    after = backward[b + 1] if b + 1 < len(states) else zero
    vector = minus.bias + minus.weight @ torch.cat([forward[b] - before, backward[a] - after])
    if plus is not None:
        vector = vector + plus @ torch.cat([forward[a] + forward[b], backward[a] + backward[b]])
    return vector


@pytest.mark.parametrize("form", ["flat", "nested"])
def test_minus_equals_the_papers_definition(form):
    torch.manual_seed(0)
    representation = LstmMinus(LstmMinusSettings(form=form, size=5), 8)
    torch.nn.init.normal_(representation.minus.bias)
    lengths = torch.tensor([4, 1, 7])
    states = torch.randn(3, 7, 8)
    for sentence, length in enumerate(lengths):
        states[sentence, length:] = 0  # as the BiLSTM leaves its padding
    candidates = enumerate_spans(lengths, max_width=3)
    vectors = representation(SimpleNamespace(states=states), candidates)
    plus = representation.plus.weight if form == "nested" else None
    for row in range(len(candidates)):
        sentence = int(candidates.sentence[row])
        words = states[sentence, : lengths[sentence]]
        expected = paper_minus(words, representation.minus, plus, int(candidates.first[row]), int(candidates.stop[row]))
        torch.testing.assert_close(vectors[row], expected, atol=1e-5, rtol=1e-5)


def test_without_its_bias_the_flat_form_is_a_sum_over_words():
    """Why there is a bias: without one "New York" can only be as much of an entity as "New" and "York" are."""
    torch.manual_seed(0)
    representation = LstmMinus(LstmMinusSettings(form="flat", size=5), 8)
    candidates = enumerate_spans(torch.tensor([2]), max_width=2)
    new, both, york = representation(SimpleNamespace(states=torch.randn(1, 2, 8)), candidates)
    torch.testing.assert_close(both, new + york)


def assert_same_gradients(gradients, vectors, neighbours, through):
    torch.testing.assert_close(gradients[0], vectors.grad, atol=1e-5, rtol=1e-4)
    if through:
        torch.testing.assert_close(gradients[1], neighbours.grad, atol=1e-5, rtol=1e-4)
    else:
        assert gradients[1] is None


def paper_probabilities(vector, pool, labels, count):
    """Equations 1 and 2, one neighbour at a time, in double precision."""
    scores = [float(vector.double() @ other.double()) for other in pool]
    highest = max(scores)
    weights = [math.exp(score - highest) for score in scores]
    total = sum(weights)
    return [sum(w for w, label in zip(weights, labels, strict=True) if label == y) / total for y in range(count)]


def nearest_head(span_size, labels, **settings):
    return NearestHead.build(
        NearestSettings(**settings), HeadInputs(labels=labels, span_size=span_size, word_size=span_size)
    )


def loss_of(head, vectors, targets, pool=None):
    """The loss of span vectors [S, H]."""
    return head.loss(SimpleNamespace(vectors=vectors), Targets(spans=targets), pool)


def one_hot_targets(labels, count):
    """Targets [S, 1 + Y] that are all of one label."""
    return torch.nn.functional.one_hot(torch.tensor(labels), count).float()


def test_label_probabilities_are_sums_of_neighbour_probabilities():
    torch.manual_seed(1)
    vectors, pool = torch.randn(9, 6), Pool(torch.randn(40, 6), torch.randint(0, 4, (40,)))
    probabilities = pool_probabilities(vectors, pool, 4)
    for row, vector in enumerate(vectors):
        expected = paper_probabilities(vector, pool.vectors, pool.labels.tolist(), 4)
        assert probabilities[row].tolist() == pytest.approx(expected, abs=1e-6)


def test_loss_is_the_negative_log_likelihood():
    torch.manual_seed(2)
    head = nearest_head(span_size=6, labels=2)
    vectors, gold = torch.randn(5, 6), [0, 1, 2, 0, 1]
    pool = Pool(torch.randn(30, 6), torch.randint(0, 3, (30,)))
    expected = -sum(
        math.log(paper_probabilities(vector, pool.vectors, pool.labels.tolist(), 3)[y])
        for vector, y in zip(vectors, gold, strict=True)
    )
    assert loss_of(head, vectors, one_hot_targets(gold, 3), pool).item() == pytest.approx(expected, rel=1e-5)


def test_drawn_nulls_stand_for_all_of_them():
    """The loss and its gradient are those of all spans on average, and exactly so where all nulls are drawn."""
    torch.manual_seed(5)
    vectors, gold = (0.5 * torch.randn(60, 6)).requires_grad_(), [0] * 50 + [1, 2] * 5
    pool = Pool(0.5 * torch.randn(300, 6), torch.tensor([0] * 250 + [1, 2] * 25))
    results = []
    for share, draws in ((1.0, 1), (0.5, 300)):
        head, vectors.grad = nearest_head(6, 2, null_share=share), None
        loss = sum(loss_of(head, vectors, one_hot_targets(gold, 3), pool) for _ in range(draws)) / draws
        loss.backward()
        results.append((loss.item(), vectors.grad.clone()))
    (loss, gradient), (estimate, estimated) = results
    assert estimate == pytest.approx(loss, rel=0.01)
    assert (gradient - estimated).norm() < 0.1 * gradient.norm()


def test_a_batch_is_compared_with_its_other_sentences_too():
    """Equation 2 over the drawn sentences and the batch's others, one span at a time; its own sentence is left out."""
    torch.manual_seed(7)
    head = nearest_head(6, 2, batch_neighbours=True)
    vectors, gold, sentence = (
        torch.randn(9, 6, requires_grad=True),
        [0, 1, 0, 0, 2, 1, 0, 0, 1],
        [0, 0, 0, 1, 1, 1, 2, 2, 2],
    )
    drawn, labels = torch.randn(5, 6), [0, 0, 1, 0, 0]
    query = SimpleNamespace(vectors=vectors, candidates=SimpleNamespace(sentence=torch.tensor(sentence)))
    loss = head.loss(query, Targets(spans=one_hot_targets(gold, 3)), Pool(drawn, torch.tensor(labels)))
    loss.backward()
    naive, constants = torch.zeros(()), vectors.detach()
    free = constants.clone().requires_grad_()
    for row, label in enumerate(gold):
        others = [other for other in range(9) if sentence[other] != sentence[row]]
        pool, pool_labels = torch.cat([constants[others], drawn]), [*(gold[other] for other in others), *labels]
        if label in pool_labels:  # label 2 is there in its own sentence alone, and adds nothing
            weights = (pool @ free[row]).softmax(0)
            naive = naive - weights[[at for at, each in enumerate(pool_labels) if each == label]].sum().log()
    naive.backward()
    torch.testing.assert_close(loss, naive)
    torch.testing.assert_close(vectors.grad, free.grad)


def test_a_sentence_that_no_other_was_drawn_for_adds_nothing():
    torch.manual_seed(3)
    head = nearest_head(6, 2, batch_neighbours=True, null_share=1e-9)
    vectors = torch.randn(4, 6, requires_grad=True)
    query = SimpleNamespace(vectors=vectors, candidates=SimpleNamespace(sentence=torch.zeros(4, dtype=torch.long)))
    loss = head.loss(
        query, Targets(spans=one_hot_targets([0, 0, 0, 1], 3)), Pool(torch.randn(3, 6), torch.zeros(3).long())
    )
    loss.backward()
    assert loss.isfinite()
    assert vectors.grad.isfinite().all()


@pytest.mark.parametrize("through", [False, True])
def test_soft_targets_weigh_the_labels_and_their_gradients(through):
    """loss = -sum_y t_y log P(y|s), over the labels that the pool has."""
    torch.manual_seed(8)
    head = nearest_head(span_size=6, labels=3)
    vectors = torch.randn(7, 6, requires_grad=True)
    neighbours = torch.randn(30, 6, requires_grad=through)
    labels, targets = torch.randint(0, 3, (30,)), torch.rand(7, 4).softmax(1)  # the pool has no label 3
    loss = loss_of(head, vectors, targets, Pool(neighbours, labels))
    loss.backward()
    gradients = [vectors.grad.clone(), neighbours.grad]
    vectors.grad = neighbours.grad = None
    weights = (vectors @ neighbours.T).softmax(1)
    naive = -sum((targets[:, y] * weights[:, labels == y].sum(1).log()).sum() for y in range(3))
    naive.backward()
    torch.testing.assert_close(loss, naive)
    assert_same_gradients(gradients, vectors, neighbours, through)


def test_hard_targets_give_the_loss_of_the_labels():
    """The surprise of one label is log(total) - log(own), and a neighbour pulls by 1 / total - 1 / own."""
    torch.manual_seed(9)
    head = nearest_head(span_size=6, labels=2)
    vectors, gold = torch.randn(8, 6, requires_grad=True), torch.randint(0, 3, (8,))
    pool = Pool(torch.randn(40, 6), torch.randint(0, 3, (40,)))
    loss = loss_of(head, vectors, one_hot_targets(gold.tolist(), 3), pool)
    loss.backward()
    with torch.no_grad():
        scores = vectors @ pool.vectors.T
        weights = (scores - scores.amax(1, keepdim=True)).exp()
        sums = weights @ pool.one_hot_labels(3)
        gold_sums, total = sums.gather(1, gold[:, None]), sums.sum(1, keepdim=True)
        pull = total.reciprocal().repeat(1, 3).scatter_add(1, gold[:, None], -gold_sums.reciprocal())
        slope = (pull[:, pool.labels] * weights) @ pool.vectors
        torch.testing.assert_close(loss, (total.log() - gold_sums.log()).sum(), atol=0, rtol=1e-6)
        torch.testing.assert_close(vectors.grad, slope, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("through", [False, True])
def test_gradients_equal_those_of_the_naive_formula(through):
    torch.manual_seed(6)
    head = nearest_head(span_size=6, labels=2)
    vectors = torch.randn(5, 6, requires_grad=True)
    neighbours = torch.randn(30, 6, requires_grad=through)
    labels, gold = torch.randint(0, 3, (30,)), [0, 1, 2, 0, 1]
    loss_of(head, vectors, one_hot_targets(gold, 3), Pool(neighbours, labels)).backward()
    gradients = [vectors.grad.clone(), neighbours.grad]
    vectors.grad = neighbours.grad = None
    weights = (vectors @ neighbours.T).softmax(1)
    naive = -sum(weights[i][labels == y].sum().log() for i, y in enumerate(gold))
    naive.backward()
    assert_same_gradients(gradients, vectors, neighbours, through)


def test_a_hopeless_span_has_a_finite_loss_and_still_learns():
    head = nearest_head(span_size=1, labels=1)
    vectors = torch.tensor([[100.0]], requires_grad=True)
    pool = Pool(torch.tensor([[5.0], [-5.0]]), torch.tensor([0, 1]))
    loss = loss_of(head, vectors, one_hot_targets([1], 2), pool)
    loss.backward()
    assert loss.item() == pytest.approx(-math.log(torch.finfo(torch.float32).tiny))
    assert vectors.grad.item() == pytest.approx(5.0)  # away from the wrong neighbour


def test_a_label_that_the_pool_lacks_adds_no_loss_and_no_gradient():
    head = nearest_head(span_size=2, labels=2)
    vectors = torch.randn(1, 2, requires_grad=True)
    pool = Pool(torch.randn(4, 2), torch.tensor([0, 0, 1, 1]))
    loss = loss_of(head, vectors, one_hot_targets([2], 3), pool)
    loss.backward()
    assert loss.item() == 0
    assert vectors.grad.abs().sum() == 0


@pytest.mark.parametrize("budget", [1, 50_000, 10**9])
@pytest.mark.parametrize("scale", [0.1, 3, 100])
def test_streaming_over_the_whole_memory_equals_the_naive_sum(budget, scale):
    torch.manual_seed(3)
    vectors = scale * torch.randn(7, 6)
    pool = Pool(3 * torch.randn(500, 6), torch.randint(0, 4, (500,)))
    probabilities = probabilities_over_all(vectors, pool, 4, budget)
    for row, vector in enumerate(vectors):
        expected = paper_probabilities(vector, pool.vectors, pool.labels.tolist(), 4)
        assert probabilities[row].tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("form", ["flat", "nested"])
def test_vectors_as_sums_over_words_are_those_of_spans(form):
    torch.manual_seed(0)
    representation = LstmMinus(LstmMinusSettings(form=form, size=5), 8)
    torch.nn.init.normal_(representation.minus.bias)
    states = torch.randn(1, 7, 8)
    spans = enumerate_spans(torch.tensor([7]), max_width=3)
    vectors, sums = representation(SimpleNamespace(states=states), spans), word_sums(representation, states)
    assert len(sums.begins) == (1 if form == "flat" else 7)
    begins = sums.begins.expand_as(sums.steps)
    for row, (first, stop) in enumerate(zip(spans.first, spans.stop, strict=True)):
        expected = begins[first] + sums.steps[first:stop].sum(0)
        torch.testing.assert_close(vectors[row], expected, atol=1e-5, rtol=1e-5)


def span_vectors(sums, length, max_width):
    """Of all spans of one sentence, by first word and in double precision."""
    begins = sums.begins.double().expand(length, -1)
    return torch.stack(
        [
            begins[first] + sums.steps[first:stop].double().sum(0)
            for first in range(length)
            for stop in range(first + 1, min(first + max_width, length) + 1)
        ]
    )


def word_sums(representation, states):
    """What a datastore keeps of a sentence with these states [1, T, H]."""
    encoder = SimpleNamespace(sentence_vectors=lambda encoded: encoded.states.mean(1))
    network = SimpleNamespace(encoder=encoder, representation=representation, span_size=representation.size)
    network.is_additive, network.metric, network.eval = True, None, representation.eval
    corpus = EncodedCorpus.of([states.shape[1]], {})
    query = Query(network, corpus.batch(torch.tensor([0])))
    query.__dict__["encoded"] = SimpleNamespace(states=states)  # as if the encoder had read it
    return corpus_vectors(network, corpus, [query])[0]


def memory_sentence(length, weight=1.0):
    return MemorySentence("d", 0, "x" * length, tuple((i, i + 1) for i in range(length)), (), weight=weight)


@pytest.mark.parametrize("form", ["flat", "nested"])
@pytest.mark.parametrize("scale", [0.3, 1.0, 3.0, 12.0, 200.0])
@pytest.mark.parametrize(("lengths", "max_width"), [([9, 1, 3, 4, 12], 3), ([2, 1], 6), ([1], 1), ([5, 4], 1)])
@torch.no_grad()
def test_sums_by_words_equal_sums_by_spans(form, scale, lengths, max_width):
    """Larger scales drive products out of float32's range, and the largest out of double precision's.

    The whole memory is asked in double precision, which is exact but for the rounding of what it is given.
    """
    torch.manual_seed(7)
    representation = LstmMinus(LstmMinusSettings(form=form, size=6), 8)
    torch.nn.init.normal_(representation.minus.bias)
    kept = [word_sums(representation, scale * torch.randn(1, length, 8)) for length in lengths]
    vectors = torch.cat([span_vectors(part, len(part), max_width) for part in kept])
    spans = enumerate_spans(torch.tensor(lengths), max_width)
    labels = torch.randint(1, 4, (len(spans),)) * (torch.rand(len(spans)) < 0.2)
    begins = kept[0].begins if form == "flat" else torch.cat([part.begins for part in kept])
    sums = WordSums(begins, torch.cat([part.steps for part in kept]))
    sentences = [memory_sentence(length) for length in lengths]
    table = WordTable.of(sums, torch.tensor(lengths)).with_entities(sentences, spans, labels)
    for words in (1, 2, 7):
        states = scale * torch.randn(1, words, 8)
        spans_of_sentence = enumerate_spans(torch.tensor([words]), max_width)
        scores = span_vectors(word_sums(representation, states), words, max_width) @ vectors.T
        expected = scores.softmax(1) @ torch.nn.functional.one_hot(labels, 4).double()
        asked, highest = representation.end_sums(states), float(scores.abs().max())
        # vectors come in float32, rounded to 2**-24 in another way by every processor: scores differ by as much of them
        for given, rounding in ((asked, 1e-6), (asked.double(), 2**-24)):
            for most in (1, 10**6):  # sentence by sentence, and all at once
                pools = map(table.pool, torch.arange(len(lengths))[None].split(most, dim=1))
                probabilities = span_probabilities(given, pools, max_width, 4)[
                    0, spans_of_sentence.first, spans_of_sentence.stop - spans_of_sentence.first - 1
                ]
                torch.testing.assert_close(probabilities.double(), expected, atol=max(1e-5, rounding * highest), rtol=0)


@pytest.mark.parametrize("score", [-3.0, -300.0, -30000.0, 300.0])
def test_sentences_whose_pools_are_shorter_or_empty_are_not_disturbed_by_the_others(score):
    """The first has an entity among its neighbours, the second none, and the third neighbours all stand apart."""
    sums = WordSums(torch.zeros(1, 1), torch.ones(4, 1))
    lengths, sentences = (
        torch.tensor([2, 1, 1]),
        [memory_sentence(2), memory_sentence(1), memory_sentence(1, weight=2.0)],
    )
    labels = torch.tensor([1, 0, 0, 0, 0])
    table = WordTable.of(sums, lengths).with_entities(sentences, enumerate_spans(lengths, 2), labels)
    asked = EndSums(torch.full((3, 1, 1), score / 2), torch.full((3, 1, 1), score / 2))
    probabilities = span_probabilities(asked, [table.pool(torch.tensor([[0], [1], [2]]))], 2, 3)[:, 0, 0]
    weights = torch.tensor([score, score, 2 * score], dtype=torch.double).softmax(0)  # of both words, of both together
    expected = [[1 - weights[0], weights[0], 0], [1, 0, 0], [1, 0, 0]]
    torch.testing.assert_close(probabilities.double(), torch.tensor(expected, dtype=torch.double), atol=1e-6, rtol=0)


def log_weights(steps, begins, gaps, max_width):
    """log2 [R, N] of the weights of all memory spans, one by one: sums over their words, begins included."""
    steps, words = steps + gaps, steps.shape[1]
    weights = [
        steps[:, a : b + 1].double().sum(1) + (0 if begins is None else begins[:, a].double())
        for a in range(words)
        for b in range(a, min(a + max_width, words))
    ]
    return torch.stack(weights, 1)


def log_sums(logarithms):
    return (logarithms * math.log(2)).logsumexp(1) / math.log(2)


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("scale", [1, 30, 300, 3000])
def test_window_sums_are_exact_in_any_range(scale, begun):
    """Small integers, so that logarithms themselves are exact."""
    torch.manual_seed(8)
    steps, begins = (scale * torch.randint(-3, 4, (5, 12)).float() for _ in range(2))
    scores, gaps = WordScores(steps, begins if begun else None), torch.zeros(5, 12)
    gaps[:, [4, 11]] = -torch.inf
    sum_of_span = row_sums(scores, gaps, max_width=3)
    torch.testing.assert_close(sum_of_span, log_sums(log_weights(*scores, gaps, 3)), atol=1e-6, rtol=1e-9)


@pytest.mark.parametrize(
    ("begun", "scale", "some_hold", "all_hold"),
    [
        (False, 1, True, True),
        (False, 14, True, False),
        (False, 300, False, False),
        (True, 1, True, True),
        (True, 9, True, False),
        (True, 300, False, False),
    ],
)
def test_window_sums_from_two_ends_are_exact_where_they_hold(begun, scale, some_hold, all_hold):
    torch.manual_seed(8)
    left, right = (
        WordScores(*(scale * torch.randint(-5, 6, (2, 5, 12)).float() if wanted else None for wanted in (True, begun)))
        for _ in range(2)
    )
    gaps = torch.zeros(2, 12)
    gaps[:, [4, 11]] = -torch.inf
    sums, held = window_sums(left, right, gaps, widths=3, max_width=3)
    holds = []
    for first, last in ((a, b) for a in range(5) for b in range(a, min(a + 3, 5))):
        both = [None if a is None else a[:, first].double() + b[:, last] for a, b in zip(left, right, strict=True)]
        sum_of_span, in_range = sums[:, first, last - first], held[:, first, last - first]
        expected = log_sums(log_weights(*both, gaps, 3))
        torch.testing.assert_close(sum_of_span[in_range], expected[in_range], atol=2e-6, rtol=0)
        holds.append(in_range)
    assert (bool(torch.cat(holds).any()), bool(torch.cat(holds).all())) == (some_hold, all_hold)


def test_padding_in_a_pool_has_no_vote():
    torch.manual_seed(4)
    vectors = torch.randn(2, 3, 6)
    full = torch.randn(2, 5, 6)
    labels = torch.tensor([[0, 1, 1, -1, -1], [2, 0, 1, 1, 0]])
    weights = neighbour_probabilities(vectors, Pool(full, labels))
    assert weights[0, :, 3:].abs().sum() == 0
    alone = neighbour_probabilities(vectors[0], Pool(full[0, :3], labels[0, :3]))
    torch.testing.assert_close(weights[0, :, :3], alone)


def test_classifier_scores_null_with_zero():
    torch.manual_seed(5)
    head = SoftmaxHead.build(SoftmaxSettings(), HeadInputs(labels=2, span_size=4, word_size=4))
    vector = torch.randn(1, 4)
    scores = [0.0, *(float((head.weight[y] @ vector[0]).detach()) for y in range(2))]
    total = sum(math.exp(score) for score in scores)
    expected = [math.exp(score) / total for score in scores]
    query = Query(network=SimpleNamespace(bottleneck=None), batch=None)
    query.vectors = vector
    assert head.predict_proba(query)[0].tolist() == pytest.approx(expected, abs=1e-6)
    assert loss_of(head, vector, one_hot_targets([1], 3)).item() == pytest.approx(-math.log(expected[1]), rel=1e-5)
