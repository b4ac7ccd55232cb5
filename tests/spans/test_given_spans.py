import torch

from nearspan.document import Document, Entity, Span
from nearspan.encoders import SpanTable
from nearspan.segment import LabelledSpan, split
from nearspan.spans import GivenEntities, GivenSpans, SpanLabels, candidate_number, enumerate_spans
from nearspan.spans.span_grid import SpanGrid

ACHES = Document(
    "pain in arms and legs",
    (Entity(Span(((0, 7), (17, 21))), "ADR"), Entity.of(8, 12, "BODY"), Entity.of(0, 21, "ALL"), Entity.of(1, 3, "X")),
)


def spans(*sentences: list[tuple[int, int]]) -> list[list[LabelledSpan[str]]]:
    return [[LabelledSpan.of(first, stop, "X") for first, stop in sentence] for sentence in sentences]


def test_entities_out_of_reach_are_counted_and_left_out():
    placed = GivenEntities.of([ACHES], split, max_width=3)
    assert [entity.label for _, entity in placed.entities] == ["ADR", "BODY"]
    assert placed.fragments == [(0, 0, 0, 2), (0, 0, 4, 5), (1, 0, 2, 3)]
    assert placed.coverage.to_dict()["unreachable"] == {"misaligned": 1, "wider than 3 words": 1}
    assert placed.labels_by_sentence == [
        [LabelledSpan.of(0, 2, "ADR"), LabelledSpan.of(4, 5, "ADR"), LabelledSpan.of(2, 3, "BODY")]
    ]


def test_the_fragments_of_an_entity_get_one_label_together():
    placed = GivenEntities.of([ACHES], split, max_width=3)
    # rows as Given sorts them: (0, 2), (2, 3), (4, 5); columns null, ADR, BODY
    probabilities = torch.tensor([[0, 0.4, 0.6], [0, 0.1, 0.9], [0, 0.9, 0.1]])
    labels, scores = placed.classify(probabilities)
    assert labels == [1, 2]
    torch.testing.assert_close(torch.tensor(scores), torch.tensor([(0.4 * 0.9) ** 0.5, 0.9]))


def test_given_spans_are_the_candidates_of_a_batch():
    given = SpanTable.of(spans([(1, 3)], [], [(2, 3), (0, 2)]))
    probabilities = GivenSpans(3).candidates(torch.tensor([3, 4]), given.select(torch.tensor([2, 0])))
    assert torch.stack(
        [probabilities.sentence, probabilities.number, probabilities.first, probabilities.stop]
    ).T.tolist() == [
        [0, 0, 0, 2],
        [0, 1, 2, 3],
        [1, 0, 1, 3],
    ]
    assert probabilities.counts.tolist() == [2, 1]


def test_labels_of_given_spans_follow_their_order():
    labels = SpanLabels.of_given_spans(
        [[LabelledSpan.of(1, 3, 2), LabelledSpan.of(0, 1, 1), LabelledSpan.of(1, 3, 1)], [], [LabelledSpan.of(0, 2, 3)]]
    )
    assert labels.labels.tolist() == [1, 2, 3]
    assert labels.further.tolist() == [[0, 1, 0]]
    assert labels.starts.tolist() == [0, 2, 2]


def test_a_layout_finds_given_spans_where_it_finds_them_among_all():
    lengths = torch.tensor([4, 3])
    every = enumerate_spans(lengths, 3)
    all_at = SpanGrid.of(every, lengths, 4, 3).order
    some = GivenSpans(3).candidates(lengths, spans([(0, 1), (1, 4)], [(0, 2), (2, 3)]))
    rows = (
        candidate_number(some.first, some.stop, lengths[some.sentence], 3)
        + torch.tensor([0, int(every.counts[0])])[some.sentence]
    )
    assert SpanGrid.of(some, lengths, 4, 3).order.tolist() == all_at[rows].tolist()
