"""Candidate spans against loops."""

import torch
from hypothesis import given
from hypothesis import strategies as st

import nearspan
from nearspan.segment import LabelledSpan, split
from nearspan.spans import CandidateRules, LabelledSentences, SpanLabels, count_candidates, enumerate_spans

lengths_ = st.lists(st.integers(0, 12), min_size=1, max_size=6)
widths = st.integers(1, 8)


def naive(lengths: list[int], max_width: int) -> list[tuple[int, int, int]]:
    return [
        (sentence, first, first + width)
        for sentence, length in enumerate(lengths)
        for first in range(length)
        for width in range(1, max_width + 1)
        if first + width <= length
    ]


@given(lengths_, widths)
def test_all_spans_up_to_the_width_in_order(lengths: list[int], max_width: int):
    candidates = enumerate_spans(torch.tensor(lengths), max_width)
    expected = naive(lengths, max_width)
    assert (
        list(zip(*(t.tolist() for t in (candidates.sentence, candidates.first, candidates.stop)), strict=True))
        == expected
    )
    counts = [sum(sentence == i for sentence, _, _ in expected) for i in range(len(lengths))]
    assert candidates.counts.tolist() == counts == count_candidates(torch.tensor(lengths), max_width).tolist()
    assert len(candidates) == len(expected)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), widths, st.data())
def test_targets_are_the_labels_of_the_entities_and_null_elsewhere(lengths, max_width: int, data: st.DataObject):
    gold = []
    for length in lengths:
        spans = [(first, stop) for first in range(length) for stop in range(first + 1, length + 1)]
        chosen = data.draw(st.lists(st.sampled_from(spans), unique=True, max_size=4))
        gold.append([LabelledSpan.of(*span, data.draw(st.integers(1, 3))) for span in chosen])
    table = SpanLabels.of_all_spans(torch.tensor(lengths), gold, max_width)
    labels = {
        (s, entity.first, entity.stop): entity.label
        for s, entities_of_sentence in enumerate(gold)
        for entity in entities_of_sentence
    }
    assert table.labels.tolist() == [labels.get(place, 0) for place in naive(lengths, max_width)]
    ids = data.draw(st.lists(st.integers(0, len(lengths) - 1), min_size=1, max_size=4))
    batch = [lengths[i] for i in ids]
    vectors = table.targets(torch.tensor(ids), enumerate_spans(torch.tensor(batch), max_width))
    assert vectors.tolist() == [labels.get((ids[s], first, stop), 0) for s, first, stop in naive(batch, max_width)]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), widths, st.data())
def test_hot_targets_hold_all_labels_of_a_span(lengths, max_width: int, data: st.DataObject):
    gold = []
    for length in lengths:
        spans = [(first, stop) for first in range(length) for stop in range(first + 1, length + 1)]
        labelled = st.tuples(st.sampled_from(spans), st.integers(1, 3)).map(
            lambda pair: LabelledSpan.of(*pair[0], pair[1])
        )
        gold.append(data.draw(st.lists(labelled, unique=True, max_size=6)))
    table = SpanLabels.of_all_spans(torch.tensor(lengths), gold, max_width)
    ids = data.draw(st.lists(st.integers(0, len(lengths) - 1), min_size=1, max_size=4))
    batch = [lengths[i] for i in ids]
    targets = table.one_hot_targets(torch.tensor(ids), enumerate_spans(torch.tensor(batch), max_width), 4)
    for row, (s, first, stop) in zip(targets.tolist(), naive(batch, max_width), strict=True):
        labels = {entity.label for entity in gold[ids[s]] if entity.fragments == ((first, stop),)} or {0}
        assert row == [float(label in labels) for label in range(4)]
    first = {
        (s, entity.first, entity.stop): entity.label
        for s, entities_of_sentence in enumerate(gold)
        for entity in reversed(entities_of_sentence)
    }
    assert table.labels.tolist() == [first.get(place, 0) for place in naive(lengths, max_width)]


def test_a_long_sentence_is_numbered_without_rounding():
    """Numbers are found by a square root; it must not be one off where they are large."""
    for max_width in (1, 7, 300):
        candidates = enumerate_spans(torch.tensor([2000]), max_width)
        width = candidates.stop - candidates.first
        assert int(width.min()) == 1
        assert int(width.max()) == max_width
        assert int(candidates.stop.max()) == 2000
        assert len({*zip(candidates.first.tolist(), width.tolist(), strict=True)}) == len(candidates)


def test_no_sentences_have_no_candidates():
    assert len(enumerate_spans(torch.tensor([], dtype=torch.long), 3)) == 0


def test_no_labelled_sentences_can_be_selected_too():
    labelled = LabelledSentences.of([nearspan.markup("[Ada](PER) left")], split, CandidateRules(2))
    assert labelled.select([]).sentences == []
    assert labelled.select([0]).entities == [[LabelledSpan.of(0, 1, "PER")]]
