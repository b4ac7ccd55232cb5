"""Sums over spans, one by one: how much is at work at once."""

import pytest
import torch

from nearspan.knn import search, span_sums
from nearspan.spans import enumerate_spans


@pytest.mark.parametrize(("budget", "together"), [(1, [1, 1, 1]), (5_500, [2, 1]), (2**20, [3])])
def test_as_many_sentences_are_compared_at_once_as_fit_into_the_budget(make_memory, monkeypatch, budget, together):
    """Each has 3 spans at most to compare with 15, which takes 1,980 bytes."""
    memory, lengths = make_memory([3, 2, 4]), torch.tensor([2, 1, 2])
    candidates, sentences = enumerate_spans(lengths, 3), torch.tensor([[0, 1], [2, 0], [1, 2]])
    vectors = torch.randn(len(candidates), 5, generator=torch.Generator().manual_seed(0))
    sizes = []

    def note(datastore, ids):
        sizes.append(len(ids))
        return search.sentence_pools(datastore, ids)

    monkeypatch.setattr(span_sums, "sentence_pools", note)
    whole, parts = (
        span_sums.probabilities_over_sentences(memory, sentences, vectors, candidates, 3, most)
        for most in (2**30, budget)
    )
    assert sizes == [3, *together]
    torch.testing.assert_close(parts, whole)
