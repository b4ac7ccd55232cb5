"""Generators: the vectors of gold spans must tell their words, and their synonyms (Nguyen et al., 2023, section 3.1).

Two variational autoencoders read the span vectors of gold entities in training. Nothing of them runs when a model is
used, but `generate` gives the texts that they make of span vectors.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from nearspan.losses.span_texts import END, PADDING, START, UNKNOWN, BatchTexts, Sequences, Vocabulary
from nearspan.settings import Settings
from nearspan.spans.bottleneck import Gaussian, positive_deviation

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
    """z = mean + deviation * noise from a gold span's vector; an LSTM that generates the words from z."""

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
        return Gaussian(mean(vectors).float(), positive_deviation(spread(vectors)))

    def loss(self, vectors: Tensor, batch: BatchTexts, progress: float, weight: float = 1.0) -> Tensor:
        """L_SR + L_SG for the vectors [S, H] of a batch's candidates, when a part of all training is done.

        The gradient that the vectors get is multiplied by a weight.

        Each is the surprise at all words of a text and the weighted divergence from N(0, I), the mean over gold spans;
        for synonyms over those that have any, and first over the synonyms of each. Only gold spans are read.
        """
        gold = vectors.index_select(0, batch.rows)  # [G, H]
        gold = gold.detach() + weight * (gold - gold.detach())
        skips_weights = not len(gold) or (self.vocabulary.synonyms and not len(batch.with_synonyms))
        total = zero_loss(self) if skips_weights else gold.new_zeros(())
        if len(gold):
            total = total + self._reconstruction_loss(gold, batch, progress)
        if len(batch.with_synonyms):
            total = total + self._synonym_loss(gold.index_select(0, batch.with_synonyms), batch, progress)
        return total

    def _reconstruction_loss(self, gold: Tensor, batch: BatchTexts, progress: float) -> Tensor:
        latent = self.latent(gold, "reconstruction")
        surprise = self._surprise("reconstruction", latent.sample(), batch.texts).mean()
        return surprise + self._weighted_divergence(latent, progress)

    def _synonym_loss(self, gold: Tensor, batch: BatchTexts, progress: float) -> Tensor:
        latent = self.latent(gold, "synonyms")
        z = latent.sample().index_select(0, batch.owner)
        surprise = (self._surprise("synonyms", z, batch.synonyms) * batch.share).sum() / len(gold)
        return surprise + self._weighted_divergence(latent, progress)

    def _weighted_divergence(self, latent: Gaussian, progress: float) -> Tensor:
        standard = Gaussian(latent.mean.new_zeros(()), latent.mean.new_ones(()))
        return self.weight(progress) * latent.divergence(standard).mean()

    def weight(self, progress: float) -> float:
        """The weight of the divergence when a part of all training is done: a logistic curve over the whole of it."""
        return self.settings.divergence / (1 + math.exp(self.settings.slope * (0.5 - progress)))

    def _surprise(self, task: Task, z: Tensor, texts: Sequences) -> Tensor:
        """-log p(text|z) [P], summed over words, of P texts that end with an end; each word knows those before."""
        before = functional.pad(texts.rows[:, :-1], (1, 0), value=START)
        if self.training:
            hidden = torch.rand(before.shape, device=z.device) < self.settings.word_dropout
            before = before.masked_fill(hidden & (before != PADDING) & (before != START), UNKNOWN)
        scores = self.decoders[task](z, self.words(before), texts.places)  # [W, V]
        words = texts.rows.flatten().index_select(0, texts.places)
        surprise = functional.cross_entropy(scores.float(), words, reduction="none")
        return z.new_zeros(len(z)).index_add(0, texts.places // before.shape[1], surprise)

    @torch.no_grad()
    def generate(self, vectors: Tensor, task: Task = "reconstruction", sampled: bool = False) -> list[str]:
        """Texts of span vectors [G, H]: the likeliest word after word from the mean, or all of it drawn."""
        latent, decoder = self.latent(vectors, task), self.decoders[task]
        z = latent.sample() if sampled else latent.mean
        texts = torch.full((len(z), 1), START, device=z.device)
        for _ in range(self.settings.longest + 1):
            last = torch.arange(1, len(z) + 1, device=z.device) * texts.shape[1] - 1
            scores = decoder(z, self.words(texts), last).float()  # [G, V]
            scores[:, [PADDING, START, UNKNOWN]] = -torch.inf
            word = scores.softmax(-1).multinomial(1) if sampled else scores.argmax(-1, keepdim=True)
            texts = torch.cat([texts, word], dim=1)
            if bool((texts == END).any(1).all()):
                break
        return [self.vocabulary.text(rows) for rows in texts[:, 1:].tolist()]


class Decoder(nn.Module):
    """An LSTM whose state begins as a linear layer of z, and that sees z beside every word."""

    def __init__(self, settings: GeneratorSettings, words: int) -> None:
        super().__init__()
        self.begin = nn.Linear(settings.size, settings.hidden)
        self.recurrent = nn.LSTM(settings.word_size + settings.size, settings.hidden, batch_first=True)
        self.out = nn.Linear(settings.hidden, words)

    def forward(self, z: Tensor, before: Tensor, places: Tensor) -> Tensor:
        """Scores [W, V] of the words at these places [W] of the P * L, from the words before them [P, L, E]."""
        state = self.begin(z)[None]
        inputs = torch.cat([before, z[:, None].expand(-1, before.shape[1], -1).to(before.dtype)], dim=-1)
        states, _ = self.recurrent(inputs, (state, torch.zeros_like(state)))
        scores: Tensor = self.out(states.flatten(0, 1).index_select(0, places))
        return scores


def zero_loss(module: nn.Module) -> Tensor:
    """0, with a gradient of 0 for all weights: processes that train together must each have a gradient for all."""
    return torch.stack([weight.sum() for weight in module.parameters() if weight.requires_grad]).sum() * 0
