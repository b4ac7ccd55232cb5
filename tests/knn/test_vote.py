"""How often spans count, by their labels."""

import pytest
import torch

from nearspan.knn import AS_TRAINED, Vote

NAMES = ("", "PLACE", "DRUG")


def test_labels_that_training_knew_and_null_count_once():
    vote = Vote(times=9.0, known=frozenset({"PLACE"}))
    assert vote.label_weights(NAMES).tolist() == [1.0, 1.0, 9.0]


def test_labels_that_training_knew_count_as_often_as_was_fitted():
    vote = Vote(times=9.0, known=frozenset({"PLACE"}), known_times=2.0)
    assert vote.label_weights(NAMES).tolist() == [1.0, 2.0, 9.0]
    assert vote.most_times == 9.0
    assert vote.of_known() == Vote(known=frozenset({"PLACE"}), known_times=2.0)
    assert Vote(times=9.0, known=frozenset({"PLACE"})).of_known() == AS_TRAINED


def test_probabilities_are_those_of_so_many_copies():
    weights = torch.tensor([[6.0, 2.0, 1.0]], dtype=torch.double)
    copies = torch.tensor([[6.0, 2.0, 4.0]], dtype=torch.double)
    vote = Vote(times=4.0, known=frozenset({"PLACE"}))
    assert torch.allclose(vote.reweigh(weights / 9, NAMES), copies / 12)


def test_the_least_share_is_what_the_vote_makes_the_share():
    vote = Vote(times=7.0)
    least = vote.least_share(0.49)
    assert vote.reweigh(torch.tensor([1 - least, least]), ["", "DRUG"])[1] == pytest.approx(0.49)


def test_a_vote_is_the_same_after_writing_and_reading():
    vote = Vote(12.0, 0.5, 25, frozenset({"PLACE"}), 9, 2.8)
    assert Vote.from_dict(vote.to_dict()) == vote


@pytest.mark.parametrize(
    "change",
    [
        {"times": 0},
        {"known_times": -1.0},
        {"temperature": float("inf")},
        {"neighbours": -1},
        {"neighbours": True},
        {"known": [1]},
    ],
)
def test_a_vote_that_is_none_is_refused(change):
    with pytest.raises(ValueError, match="a vote has"):
        Vote.from_dict(Vote().to_dict() | change)
