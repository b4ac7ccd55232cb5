"""The CRF head equals brute force over all sequences of tags: partition, best sequence, probabilities of segments."""

from itertools import pairwise, product
from types import SimpleNamespace

import pytest
import torch

from nearspan.heads import HeadInputs, Targets
from nearspan.heads.crf import CrfHead, CrfSettings, bioes_tags, entities_of, grammar
from nearspan.segment import LabelledSpan

LENGTHS = (4, 1, 3)


def made(size: int, labels: int) -> CrfHead:
    """A head over word states of a size."""
    return CrfHead.build(CrfSettings(dropout=0.0), HeadInputs(labels, span_size=1, word_size=size))


def query_of(states: torch.Tensor, mask: torch.Tensor) -> SimpleNamespace:
    """A query with word states alone."""
    return SimpleNamespace(word_states=states, batch=SimpleNamespace(mask=mask))


@pytest.fixture(params=[1, 2])
def head(request) -> CrfHead:
    torch.manual_seed(request.param)
    head = made(6, request.param)
    for parameter in (head.transitions, head.first, head.last, head.emissions.bias):
        torch.nn.init.normal_(parameter)
    return head.eval()


def test_what_is_learned_is_saved_and_the_grammar_is_not(head: CrfHead):
    assert set(head.state_dict()) == {"emissions.weight", "emissions.bias", "transitions", "first", "last"}


@pytest.fixture
def batch() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(9)
    mask = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]
    return torch.randn(len(LENGTHS), max(LENGTHS), 6), mask


def well_formed(tags: tuple[int, ...]) -> bool:
    """BIOES as one reads it: B and I go on with I or E of their label, and nothing else does."""
    inside = 0
    for tag in tags:
        label, place = (0, "O") if tag == 0 else ((tag - 1) // 4 + 1, "BIES"[(tag - 1) % 4])
        if inside and (place not in "IE" or label != inside):
            return False
        if not inside and place in "IE":
            return False
        inside = label if place in "BI" else 0
    return not inside


def sequences(head: CrfHead, states: torch.Tensor) -> dict[tuple[int, ...], float]:
    """The score of every well-formed sequence of tags of one sentence [T, H]: equation 2."""
    emissions = head.emissions(states).tolist()
    steps, first, last = head.transitions.tolist(), head.first.tolist(), head.last.tolist()
    scores = {}
    for tags in product(range(len(first)), repeat=len(states)):
        if well_formed(tags):
            score = first[tags[0]] + last[tags[-1]] + sum(emissions[i][tag] for i, tag in enumerate(tags))
            scores[tags] = score + sum(steps[tags[i]][tags[i + 1]] for i in range(len(tags) - 1))
    return scores


@torch.no_grad()
def test_the_partition_is_the_sum_over_all_sequences(head: CrfHead, batch):
    chain = head.chain(query_of(*batch))
    total = chain.partition(chain.forward_scores())
    for states, length, logarithm in zip(batch[0], LENGTHS, total.tolist(), strict=True):
        scores = torch.tensor(list(sequences(head, states[:length]).values()))
        assert logarithm == pytest.approx(float(scores.logsumexp(0)), abs=1e-4)


@pytest.mark.parametrize("words", [1, 2, 3, 4, 5, 9])
def test_words_taken_in_pairs_have_the_same_partition_and_gradient(head: CrfHead, words: int):
    torch.manual_seed(words)
    mask = torch.arange(words) < torch.tensor([[words], [1], [(words + 1) // 2]])
    states = torch.randn(3, words, 6)
    weights = [head.emissions.weight, head.transitions, head.first, head.last]
    results = []
    for partition in (lambda chain: chain.pairwise_partition(), lambda chain: chain.partition(chain.forward_scores())):
        total = partition(head.chain(query_of(states, mask)))
        results.append([total, *torch.autograd.grad(total.sum(), weights, materialize_grads=True)])
    for in_pairs, word_by_word in zip(*results, strict=True):
        torch.testing.assert_close(in_pairs, word_by_word, rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_the_loss_is_the_surprise_of_the_gold_tags_summed_over_sentences(head: CrfHead, batch):
    last = LabelledSpan.of(1, 3, head.emissions.out_features // 4)
    entities = [[LabelledSpan.of(0, 3, 1)], [], [LabelledSpan.of(0, 1, 1), last]]
    flat = bioes_tags(LENGTHS, entities).tolist()
    gold = [tuple(flat[:4]), tuple(flat[4:5]), tuple(flat[5:])]
    padded = torch.zeros(3, 4, dtype=torch.long)
    expected = 0.0
    for row, (tags, states) in enumerate(zip(gold, batch[0], strict=True)):
        padded[row, : len(tags)] = torch.tensor(tags)
        scores = sequences(head, states[: len(tags)])
        expected += float(torch.tensor(list(scores.values())).logsumexp(0)) - scores[tags]
    assert float(head.loss(query_of(*batch), Targets(words=padded))) == pytest.approx(expected, abs=1e-4)


@torch.no_grad()
def test_viterbi_finds_the_best_sequence(head: CrfHead, batch):
    best = head.chain(query_of(*batch)).best().tolist()
    for tags, states, length in zip(best, batch[0], LENGTHS, strict=True):
        scores = sequences(head, states[:length])
        assert tuple(tags[:length]) == max(scores, key=scores.__getitem__)
        assert tags[length:] == [0] * (len(tags) - length)


def entities_in(tags: tuple[int, ...]) -> set[tuple[int, int, int]]:
    spans, first = set(), 0
    for place, tag in enumerate(tags):
        if tag and (tag - 1) % 4 in (0, 3):
            first = place
        if tag and (tag - 1) % 4 in (2, 3):
            spans.add((first, place + 1, (tag - 1) // 4 + 1))
    return spans


@torch.no_grad()
def test_a_segments_probability_is_that_of_all_sequences_that_hold_it(head: CrfHead, batch):
    labels = head.emissions.out_features // 4
    spans = [(m, a, b) for m, n in enumerate(LENGTHS) for a in range(n) for b in range(a + 1, n + 1)]
    probabilities = head.predict_proba_of(query_of(*batch), *torch.tensor(spans).T)
    for (sentence, first, stop), row in zip(spans, probabilities.tolist(), strict=True):
        scores = sequences(head, batch[0][sentence, : LENGTHS[sentence]])
        weights = torch.tensor(list(scores.values()), dtype=torch.double).softmax(0).tolist()
        for label in range(1, labels + 1):
            held = [(first, stop, label) in entities_in(tags) for tags in scores]
            expected = sum(weight for weight, has in zip(weights, held, strict=True) if has)
            assert row[label] == pytest.approx(expected, abs=1e-6)
        assert sum(row) == pytest.approx(1)


@torch.no_grad()
def test_entities_are_those_of_the_best_tags_with_their_probabilities(head: CrfHead, batch):
    entities, scores = head._best_entities(query_of(*batch))
    best = head.chain(query_of(*batch)).best().tolist()
    expected = [(m, *entity) for m, tags in enumerate(best) for entity in sorted(entities_in(tuple(tags)))]
    assert [tuple(span) for span in entities.tolist()] == expected
    for (sentence, first, stop, label), score in zip(entities.tolist(), scores.tolist(), strict=True):
        place = (torch.tensor([number]) for number in (sentence, first, stop))
        assert score == pytest.approx(float(head.predict_proba_of(query_of(*batch), *place)[0, label]), abs=1e-6)


def test_only_well_formed_sequences_are_allowed():
    allowed, opens, closes = grammar(2)
    for tags in product(range(9), repeat=3):
        steps = all(allowed[a, b] for a, b in pairwise(tags))
        assert bool(steps and opens[tags[0]] and closes[tags[-1]]) == well_formed(tags)


def test_scores_however_high_do_not_break_the_rules():
    head = made(1, 1).eval()
    with torch.no_grad():
        head.emissions.weight.zero_()
        head.emissions.bias.copy_(torch.tensor([0.0, 0.0, 900.0, 0.0, 0.0]))  # INSIDE everywhere
        tags, scores = head._best_entities(query_of(torch.zeros(1, 5, 1), torch.ones(1, 5, dtype=torch.bool)))
    assert tags.tolist() == [[0, 0, 5, 1]]
    assert scores.tolist() == pytest.approx([1.0])


def test_a_long_sentence_stays_finite():
    torch.manual_seed(0)
    head = made(4, 3)
    mask = torch.ones(1, 600, dtype=torch.bool)
    states = (torch.randn(1, 600, 4) * 20).requires_grad_()
    loss = head.loss(query_of(states, mask), Targets(words=torch.zeros(1, 600, dtype=torch.long)))
    loss.backward()
    assert loss.isfinite()
    assert states.grad.isfinite().all()
    probabilities = head.predict_proba_of(query_of(states.detach(), mask), *(torch.tensor([n]) for n in (0, 10, 500)))
    assert probabilities.isfinite().all()


def test_tags_and_spans_are_each_others_reverse():
    entities = [[LabelledSpan.of(0, 1, 2), LabelledSpan.of(1, 4, 1)], [LabelledSpan.of(2, 4, 3)]]
    tags = bioes_tags([5, 5], entities).view(2, 5)
    assert entities_of(tags).tolist() == [[0, 0, 1, 2], [0, 1, 4, 1], [1, 2, 4, 3]]
    assert entities_of(torch.zeros(2, 3, dtype=torch.long)).tolist() == []


def test_padding_does_not_change_a_sentence(head: CrfHead, batch):
    states, mask = batch
    alone = head.chain(query_of(states[2:, :3], mask[2:, :3]))
    padded = head.chain(query_of(states, mask))
    torch.testing.assert_close(alone.partition(alone.forward_scores())[0], padded.partition(padded.forward_scores())[2])
    torch.testing.assert_close(alone.backward_scores()[0], padded.backward_scores()[2, :3])
