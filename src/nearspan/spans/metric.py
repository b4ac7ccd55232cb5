"""A metric in closed form: spans are compared by what a linear map makes of them.

    u_s = A [m_s, f_s, l_s, b_s, a_s, h_s] + c,    s' = sqrt(k) u_s / |u_s|

where m is the mean of the features of a span's words, f and l are those of its first and last word, b and a those of
the words before and after it (0 where there is none), and h is the vector that the network makes of the span. A is
fitted by least squares (model/metric.py), with one component of u for each label and one for null, so that s' . s'_j is
k for spans that look the same in all that tells labels apart. A span s_j of the memory is compared by where it lies,
and by where spans with its label y_j should lie, at the unit vector of y_j:

    score(s, s_j) = s' . s'_j + sqrt(k) s'[y_j]

All but h is linear in words, so that words are multiplied once, not spans.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.encoders import Encoded
from nearspan.spans.candidates import Candidates

POOLS = 5  # m, f, l, b, a


def word_features(encoded: Encoded) -> Tensor:
    """The words' features [B, T, F] before any context but a transformer's own, 0 on padding."""
    features = torch.cat([feature.float() for feature in encoded.features.values()], dim=-1)
    return features * encoded.batch.mask[..., None]


def pool_words(words: Tensor, candidates: Candidates, rows: Tensor) -> Tensor:
    """m, f, l, b and a side by side [n, 5 F] of the candidates at some rows, from word features [B, T, F]."""
    return torch.cat(_pools(words[:, :, None].expand(-1, -1, POOLS, -1), candidates, rows), dim=1)


@dataclass(frozen=True)
class SpanMetric:
    """A linear map of spans, after which they are compared; R components."""

    weights: Tensor  # A [5 F + H, R]
    bias: Tensor  # c [R]
    sharpness: float  # k: the highest inner product
    labels: tuple[str, ...]  # by the components of u, null's "" first

    @property
    def size(self) -> int:
        """R, of a span's vector."""
        return len(self.bias)

    def project(self, encoded: Encoded, candidates: Candidates, vectors: Tensor, rows: Tensor | None = None) -> Tensor:
        """s' [S, R] of the candidates of a batch, whose own vectors are h [S, H], or of those at some rows."""
        words, count = word_features(encoded), vectors.shape[1]
        by_word, by_span = self.weights.split([len(self.weights) - count, count])
        maps = by_word.view(POOLS, words.shape[-1], self.size)
        products = torch.einsum("btf,pfr->btpr", words, maps)
        rows = torch.arange(len(candidates), device=vectors.device) if rows is None else rows
        sums = torch.stack(_pools(products, candidates, rows)).sum(0) + vectors[rows].float() @ by_span + self.bias
        projected: Tensor = functional.normalize(sums, dim=1) * self.sharpness**0.5
        return projected

    def label_scores(self, vectors: Tensor, names: Sequence[str]) -> Tensor:
        """sqrt(k) s'[y] [S, 1 + Y] of vectors s' [S, R] for labels by their numbers; 0 for labels that are newer."""
        places = {name: place for place, name in enumerate(self.labels)}
        columns = functional.pad(vectors * self.sharpness**0.5, (0, 1))
        return columns[:, [places.get(name, self.size) for name in names]]

    def to(self, device: torch.device | str) -> SpanMetric:
        """The same metric on a device."""
        return replace(self, weights=self.weights.to(device), bias=self.bias.to(device))

    def to_tensors(self) -> dict[str, Tensor]:
        """For a file."""
        return {
            "metric_weights": self.weights,
            "metric_bias": self.bias,
            "metric_sharpness": torch.tensor([self.sharpness]),
        }

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], labels: Sequence[str]) -> SpanMetric | None:
        """What `to_tensors` gave, with the labels of its components; None where there was no metric."""
        if "metric_weights" not in tensors:
            return None
        sharpness = float(tensors["metric_sharpness"][0])
        return cls(tensors["metric_weights"], tensors["metric_bias"], sharpness, tuple(labels))


def _pools(words: Tensor, candidates: Candidates, rows: Tensor) -> list[Tensor]:
    """m, f, l, b and a [n, E] of the candidates at some rows, each from one of a word's five vectors [B, T, 5, E]."""
    sentence, first, stop = (column[rows] for column in (candidates.sentence, candidates.first, candidates.stop))
    mean, begin, end, before, after = functional.pad(words, (0, 0, 0, 0, 1, 1)).unbind(2)  # word t is at t + 1
    sums = mean.double().cumsum(1)  # long sentences: differences of sums want more digits
    means = (sums[sentence, stop] - sums[sentence, first]) / (stop - first)[:, None]
    return [
        means.to(words.dtype),
        begin[sentence, first + 1],
        end[sentence, stop],
        before[sentence, first],
        after[sentence, stop + 1],
    ]
