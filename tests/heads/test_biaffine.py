"""The biaffine head: words that are scored once give what spans do one by one."""

import pytest
import torch

from nearspan.heads import HeadInputs, Query
from nearspan.heads.biaffine import BLOCK, BiaffineHead
from nearspan.spans import EndpointMLP, enumerate_spans
from nearspan.spans.endpoint_mlp import EndpointMLPSettings


class Batch:
    """Random word states, read by nothing."""

    def __init__(self, lengths: list[int], max_width: int, width_size: int):
        settings = EndpointMLPSettings(end_size=5, width_size=width_size)
        self.representation = EndpointMLP(settings, 8, max_width).eval()
        self.states = torch.randn(len(lengths), max(lengths), 8)
        self.candidates = enumerate_spans(torch.tensor(lengths), max_width)
        self.bottleneck = self.metric = None


@pytest.mark.parametrize("lengths", [[1], [3, 7, 1], [BLOCK - 1, 2 * BLOCK + 3], [BLOCK]])
@pytest.mark.parametrize(("max_width", "width_size"), [(4, 3), (12, 0), (1, 2)])
@pytest.mark.parametrize("has_null", [True, False])
def test_words_scored_once_give_the_probabilities_of_spans(
    lengths: list[int], max_width: int, width_size: int, has_null: bool
):
    torch.manual_seed(0)
    batch = Batch(lengths, max_width, width_size)
    head = BiaffineHead(HeadInputs(3, batch.representation.size, 8, 5, has_null)).eval()
    query = Query(network=batch, batch=None)
    query.encoded, query.candidates = batch, batch.candidates
    expected = head.predict_proba(query)  # with gradients: one by one
    with torch.no_grad():
        torch.testing.assert_close(head.predict_proba(query), expected)
