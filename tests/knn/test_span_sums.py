"""Sums over spans, one by one: how much is at work at once."""

import torch

from nearspan.knn import search, span_sums
from nearspan.spans import enumerate_spans


def test_with_the_least_budget_sentences_are_compared_one_after_the_other(make_memory, monkeypatch):
    memory, lengths = make_memory([3, 2, 4]), torch.tensor([2, 1, 2])
    candidates, sentences = enumerate_spans(lengths, 3), torch.tensor([[0, 1], [2, 0], [1, 2]])
    vectors = torch.randn(len(candidates), 5, generator=torch.Generator().manual_seed(0))
    sizes = []

    def noted(datastore, ids):
        sizes.append(len(ids))
        return search.sentence_pools(datastore, ids)

    monkeypatch.setattr(span_sums, "sentence_pools", noted)
    whole, single = (
        span_sums.probabilities_over_sentences(memory, sentences, vectors, candidates, 3, budget)
        for budget in (2**20, 1)
    )
    assert sizes == [3, 1, 1, 1]
    torch.testing.assert_close(single, whole)
