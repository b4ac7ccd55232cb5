"""Generators: gold spans must be good for their own words, and for their synonyms (Nguyen et al., 2023, section 3.1).

Two variational autoencoders read the span vectors of gold entities in training. Nothing of them runs when a model is
used, but what they would say of a span can be asked for with `generate`.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from nearspan.losses.span_texts import END, PADDING, START, UNKNOWN, Sequences, Told, Vocabulary
from nearspan.settings import Settings
from nearspan.spans import Gaussian
from nearspan.spans.bottleneck import deviation_of

Task = Literal["reconstruction", "synonyms"]
TASKS: tuple[Task, ...] = ("reconstruction", "synonyms")


class GeneratorSettings(Settings):
    """Span reconstruction and synonym generation, equations 2 to 5 and 7."""

    gamma: float = Field(default=1e-5, ge=0, le=1)  # the weight of both beside the classifier's loss
    pretraining: int = Field(default=10, ge=0)  # epochs in which the generators learn alone, before the others
    size: int = Field(default=1024, ge=1, le=10_000)  # of the latent vector
    shared: Literal["mean", "both", "nothing"] = "mean"  # what the two latent distributions have in common
    word_size: int = Field(default=200, ge=1, le=10_000)  # of a word's vector
    hidden: int = Field(default=256, ge=1, le=10_000)  # of the LSTM
    word_dropout: float = Field(default=0.3, ge=0, lt=1)  # how often the LSTM does not see the word before
    divergence: float = Field(default=1.0, ge=0, le=1)  # the weight of the divergence in the end
    slope: float = Field(default=10.0, gt=0, le=1e6)  # of its curve, divergence / (1 + exp(slope (1/2 - done)))
    most: int = Field(default=10, ge=1, le=1_000_000)  # synonyms of a span
    longest: int = Field(default=14, ge=1, le=10_000)  # words of a synonym; longer ones are left out

    def build(self, inputs: int, vocabulary: Vocabulary) -> Generators:
        """The generators for span vectors of a size."""
        return Generators(self, inputs, vocabulary)


class Generators(nn.Module):
    """z = mean + deviation * noise from a gold span's vector; an LSTM that tells the words from z."""

    def __init__(self, settings: GeneratorSettings, inputs: int, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.settings = settings
        self.vocabulary = vocabulary
        tasks = TASKS if vocabulary.synonyms else TASKS[:1]
        means = 1 if settings.shared in ("mean", "both") else len(tasks)
        spreads = 1 if settings.shared == "both" else len(tasks)
        self.means = nn.ModuleList(nn.Linear(inputs, settings.size) for _ in range(means))
        self.spreads = nn.ModuleList(nn.Linear(inputs, settings.size) for _ in range(spreads))
        self.words = nn.Embedding(len(vocabulary), settings.word_size, padding_idx=PADDING)
        self.decoders = nn.ModuleDict({task: Decoder(settings, len(vocabulary)) for task in tasks})

    def latent(self, vectors: Tensor, task: Task) -> Gaussian:
        """Equation 2: q(z|s) of gold span vectors [G, H]. The deviation is a softplus, which is never negative."""
        number = TASKS.index(task)
        mean, spread = (layers[min(number, len(layers) - 1)] for layers in (self.means, self.spreads))
        return Gaussian(mean(vectors).float(), deviation_of(spread(vectors)))

    def loss(self, vectors: Tensor, told: Told, done: float, weight: float = 1.0) -> Tensor:
        """L_SR + L_SG for the vectors [S, H] of a batch's candidates, with a share of all training done.

        The gradient that the vectors get is multiplied by a weight.

        Each is the surprise at all words of a text and the weighted divergence from N(0, I), the mean over gold spans;
        for synonyms over those that have any, and first over the synonyms of each. Only gold spans are read.
        """
        gold = vectors.index_select(0, told.rows)  # [G, H]
        gold = gold.detach() + weight * (gold - gold.detach())
        silent = not len(gold) or (self.vocabulary.synonyms and not len(told.asked))
        total = zero_loss(self) if silent else gold.new_zeros(())
        if len(gold):
            total = total + self._loss("reconstruction", gold, told.own, None, done)
        if len(told.asked):
            total = total + self._loss("synonyms", gold.index_select(0, told.asked), told.synonyms, told, done)
        return total

    def _loss(self, task: Task, gold: Tensor, texts: Sequences, told: Told | None, done: float) -> Tensor:
        found = self.latent(gold, task)
        z = found.sample()
        if told is None:
            surprise = self._surprise(task, z, texts).mean()
        else:
            surprise = (self._surprise(task, z.index_select(0, told.owner), texts) * told.share).sum() / len(gold)
        standard = Gaussian(z.new_zeros(()), z.new_ones(()))
        return surprise + self.weight(done) * found.divergence(standard).mean()

    def weight(self, done: float) -> float:
        """The weight of the divergence when a share of all training is done: a logistic curve over the whole of it."""
        return self.settings.divergence / (1 + math.exp(self.settings.slope * (0.5 - done)))

    def _surprise(self, task: Task, z: Tensor, texts: Sequences) -> Tensor:
        """-log p(text|z) [P], summed over words, of P texts that end with an end; each word knows those before."""
        before = functional.pad(texts.rows[:, :-1], (1, 0), value=START)
        if self.training:
            hidden = torch.rand(before.shape, device=z.device) < self.settings.word_dropout
            before = before.masked_fill(hidden & (before != PADDING) & (before != START), UNKNOWN)
        scores = self.decoders[task](z, self.words(before), texts.places)  # [W, V]
        told = texts.rows.flatten().index_select(0, texts.places)
        surprise = functional.cross_entropy(scores.float(), told, reduction="none")
        return z.new_zeros(len(z)).index_add(0, texts.places // before.shape[1], surprise)

    @torch.no_grad()
    def generate(self, vectors: Tensor, task: Task = "reconstruction", sampled: bool = False) -> list[str]:
        """What is said of span vectors [G, H]: the likeliest word after word from the mean, or all of it drawn."""
        found, decoder = self.latent(vectors, task), self.decoders[task]
        z = found.sample() if sampled else found.mean
        told = torch.full((len(z), 1), START, device=z.device)
        for _ in range(self.settings.longest + 1):
            last = torch.arange(1, len(z) + 1, device=z.device) * told.shape[1] - 1
            scores = decoder(z, self.words(told), last).float()  # [G, V]
            scores[:, [PADDING, START, UNKNOWN]] = -torch.inf
            word = scores.softmax(-1).multinomial(1) if sampled else scores.argmax(-1, keepdim=True)
            told = torch.cat([told, word], dim=1)
            if bool((told == END).any(1).all()):
                break
        return [self.vocabulary.text(rows) for rows in told[:, 1:].tolist()]


class Decoder(nn.Module):
    """An LSTM whose state begins as a linear layer of z, and that sees z beside every word."""

    def __init__(self, settings: GeneratorSettings, words: int) -> None:
        super().__init__()
        self.begin = nn.Linear(settings.size, settings.hidden)
        self.recurrent = nn.LSTM(settings.word_size + settings.size, settings.hidden, batch_first=True)
        self.out = nn.Linear(settings.hidden, words)

    def forward(self, z: Tensor, before: Tensor, places: Tensor) -> Tensor:
        """Scores [W, V] of the words at some places [W] of the P * L, from the words before them [P, L, E]."""
        state = self.begin(z)[None]
        given = torch.cat([before, z[:, None].expand(-1, before.shape[1], -1).to(before.dtype)], dim=-1)
        read, _ = self.recurrent(given, (state, torch.zeros_like(state)))
        scores: Tensor = self.out(read.flatten(0, 1).index_select(0, places))
        return scores


def zero_loss(module: nn.Module) -> Tensor:
    """0, with a gradient of 0 for all weights: processes that train together must each have a gradient for all."""
    return torch.stack([weight.sum() for weight in module.parameters() if weight.requires_grad]).sum() * 0
