"""The bottleneck: span vectors that keep what the labels need and little else (Nguyen et al., 2023, equation 6).

It is the variational information bottleneck of Alemi et al. (2017) as Mahabadi et al. (2021) build it, and may stand
between any representation and any head that reads span vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal, cast

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from nearspan.linear import linear
from nearspan.precision import Precision, convert
from nearspan.settings import Settings
from nearspan.spans.span_means import SpanMeans, split_layer

ACTIVATIONS = {"relu": nn.ReLU, "gelu": nn.GELU, "tanh": nn.Tanh}
BLOCK = 512  # spans that are compressed at once: their hidden states stay in a CPU's cache
LEAST = 1e-6  # the least deviation: its logarithm and its inverse stay finite


class BottleneckSettings(Settings):
    """How far, and how strictly, span vectors are compressed."""

    size: int = Field(default=1024, ge=1, le=10_000)  # D: of the compressed vector
    hidden: int = Field(default=0, ge=0, le=10_000)  # of both layers before it; 0: (3 H + D) / 4 and (H + D) / 2
    activation: Literal["relu", "gelu", "tanh"] = "relu"  # of these layers
    dropout: float = Field(default=0.0, ge=0, lt=1)  # on their inputs
    beta: float = Field(default=1e-5, ge=0, le=1)  # the weight of the divergence from the prior; 0: none
    growing: bool = True  # epoch t, from 1 on, has the weight min(1, t beta)
    samples: int = Field(default=5, ge=1, le=1_000)  # drawn from each span's distribution in training


@dataclass(frozen=True)
class Gaussian:
    """Gaussians with independent dimensions: p(z|s) of S spans, or a single one."""

    mean: Tensor  # [S, D], or [D]
    deviation: Tensor  # the same shape, above 0

    def sample(self) -> Tensor:
        """z = mean + deviation * noise (equation 3): a draw that the gradient goes through."""
        return self.mean + self.deviation * torch.randn_like(self.deviation)

    def divergence(self, other: Gaussian) -> Tensor:
        """KL(self, other) [S] in nats.

        >>> narrow = Gaussian(torch.tensor([[1.0, 0.0]]), torch.ones(1, 2))
        >>> narrow.divergence(Gaussian(torch.zeros(2), torch.ones(2)))
        tensor([0.5000])
        """
        ratio = self.deviation / other.deviation
        shift = (self.mean - other.mean) / other.deviation
        return ((ratio**2 + shift**2 - 1) / 2 - ratio.log()).sum(-1)


class Bottleneck(nn.Module):
    """p(z|s): two layers, then a mean and a deviation; and r(z), a prior that is learned with them.

    The paper writes the variance as a linear layer, which may be negative. Here, as in Mahabadi et al. (2021), the
    deviation is the softplus of one, for the prior too, which begins as a standard Gaussian.
    """

    def __init__(self, settings: BottleneckSettings, inputs: int) -> None:
        super().__init__()
        self.settings = settings
        self.size = size = settings.size
        first, second = (settings.hidden,) * 2 if settings.hidden else ((3 * inputs + size) // 4, (inputs + size) // 2)
        activation = ACTIVATIONS[settings.activation]
        self.layers = nn.Sequential(
            nn.Dropout(settings.dropout),
            nn.Linear(inputs, first),
            activation(),
            nn.Dropout(settings.dropout),
            nn.Linear(first, second),
            activation(),
        )
        self.mean, self.spread = nn.Linear(second, size), nn.Linear(second, size)
        spread = torch.tensor(1.0 - LEAST).expm1().log()  # softplus of this is 1 - LEAST
        self.by_words: tuple[nn.Module, ...] = ()  # the first layer for words, in another precision than float32
        self.set_precision("float32")
        self.prior_mean, self.prior_spread = nn.Parameter(torch.zeros(size)), nn.Parameter(spread.repeat(size))

    def forward(self, vectors: Tensor) -> Gaussian:
        """The distributions p(z|s) of span vectors [S, H]."""
        hidden = self.layers(vectors)
        return Gaussian(self.mean(hidden).float(), positive_deviation(self.spread(hidden)))

    def compress(self, vectors: Tensor | SpanMeans) -> Tensor:
        """The means of the distributions [S, D]: the compressed vectors that annotating reads."""
        if isinstance(vectors, Tensor) and torch.is_grad_enabled():
            mean: Tensor = self.mean(self.layers(vectors))
            return mean.float()
        return torch.cat([self.reader[2](hidden).float() for hidden in self._hidden(vectors)])

    def linear(self, vectors: Tensor | SpanMeans, weight: Tensor, bias: Tensor | None) -> Tensor:
        """weight z + bias [S, Y] of the compressed vectors z, which are not made: two linear layers are one."""
        mean = self.mean
        both = weight @ mean.weight, weight @ mean.bias + (0.0 if bias is None else bias)
        return torch.cat([linear(hidden.float(), *both) for hidden in self._hidden(vectors)])

    def set_precision(self, precision: Precision) -> None:
        """Compress in a precision from now on, with a copy of the weights unless it is float32."""
        first, second = (layer for layer in self.layers if isinstance(layer, nn.Linear))
        self.precision, self.by_words = precision, ()
        self.reader = tuple(convert(nn.Sequential(layer), precision) for layer in (first, second, self.mean))
        self.dtype = torch.bfloat16 if precision == "bf16" else torch.float32

    def _hidden(self, vectors: Tensor | SpanMeans) -> Iterator[Tensor]:
        """The states below the last layer [n, (H + D) / 2], of some spans after the others."""
        read_first, second, activation = self._first_reader(vectors), self.reader[1], self.layers[2]
        size = BLOCK if self.mean.weight.device.type == "cpu" else max(1, len(vectors))
        for start in range(0, max(1, len(vectors)), size):
            first = read_first(start, min(start + size, len(vectors)))
            yield activation(second(activation(first)))

    def _first_reader(self, vectors: Tensor | SpanMeans) -> Callable[[int, int], Tensor]:
        """What gives the first layer's outputs for spans from one to before another."""
        if isinstance(vectors, SpanMeans):
            return partial(vectors.gather, self._split()(vectors.words.to(self.dtype)))  # of words [N, 3 F]
        return lambda start, stop: self.reader[0](vectors[start:stop].to(self.dtype))

    def _split(self) -> nn.Module:
        """The first layer for words; in float32 of the weights as they are now."""
        if self.precision == "float32":
            return split_layer(self.first)
        self.by_words = self.by_words or (convert(nn.Sequential(split_layer(self.first)), self.precision),)
        return self.by_words[0]

    @property
    def first(self) -> nn.Linear:
        """The first layer."""
        return cast(nn.Linear, self.layers[1])

    @property
    def prior(self) -> Gaussian:
        """r(z)."""
        return Gaussian(self.prior_mean, positive_deviation(self.prior_spread))

    def weight(self, epoch: int) -> float:
        """The weight of the divergence in an epoch, counted from 0.

        >>> bottleneck = Bottleneck(BottleneckSettings(size=2, beta=0.4), 2)
        >>> [bottleneck.weight(epoch) for epoch in range(3)]
        [0.4, 0.8, 1.0]
        """
        return min(1.0, (epoch + 1) * self.settings.beta) if self.settings.growing else self.settings.beta

    def samples(self, distribution: Gaussian) -> list[Tensor]:
        """Draws [S, D] from each span's distribution, which a head reads in training."""
        return [distribution.sample() for _ in range(self.settings.samples)]

    def loss(self, distribution: Gaussian, epoch: int) -> Tensor:
        """beta KL(p(z|s), r(z)), summed over spans."""
        return self.weight(epoch) * distribution.divergence(self.prior).sum()


def positive_deviation(spread: Tensor) -> Tensor:
    """A deviation, which is above 0, from the output of a linear layer."""
    return functional.softplus(spread.float()) + LEAST
