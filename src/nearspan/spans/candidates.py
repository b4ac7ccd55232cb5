"""Candidate spans: every span of a sentence up to a width."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from nearspan.settings import Settings


class CandidateSettings(Settings):
    """Which spans are considered."""

    max_width: int = 6  # L of the paper: the most words in a span


@dataclass(frozen=True)
class Candidates:
    """The S candidate spans of a batch, sentence after sentence, by first word and then by width."""

    sentence: Tensor  # [S] position in the batch
    first: Tensor  # [S] first word
    stop: Tensor  # [S] the word after the last
    counts: Tensor  # [B] candidates of each sentence, on the CPU

    def __len__(self) -> int:
        return len(self.first)


def how_many(lengths: Tensor, max_width: int) -> Tensor:
    """Candidates in sentences of these lengths.

    >>> how_many(torch.tensor([1, 3]), max_width=2)
    tensor([1, 5])
    """
    widths = torch.arange(max_width)
    return (lengths[:, None] - widths).clamp(min=0).sum(1)


def enumerate_spans(lengths: Tensor, max_width: int, device: torch.device | str = "cpu") -> Candidates:
    """All spans of at most `max_width` words in sentences of these lengths (a CPU tensor).

    >>> spans = enumerate_spans(torch.tensor([3]), max_width=2)
    >>> list(zip(spans.first.tolist(), spans.stop.tolist()))
    [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]
    """
    sizes = lengths.numpy()
    longest = int(sizes.max(initial=0))
    stops = np.arange(longest)[:, None] + np.arange(1, max_width + 1)  # [T, K]
    legal = stops <= sizes[:, None, None]  # [B, T, K]
    sentence, first, width = legal.nonzero()
    index = torch.from_numpy(np.stack([sentence, first, first + width + 1])).to(device, non_blocking=True)
    return Candidates(index[0], index[1], index[2], how_many(lengths, max_width))


def targets(candidates: Candidates, gold: list[list[tuple[int, int, int]]], max_width: int, longest: int) -> Tensor:
    """The label of each candidate [S]; 0 where it is no entity. `gold` holds (first, stop, label) per sentence."""
    table = torch.zeros(len(gold), longest, max_width + 1, dtype=torch.long)
    found = [(s, first, stop - first, label) for s, entities in enumerate(gold) for first, stop, label in entities]
    if found:
        sentence, first, width, label = torch.tensor(found).unbind(1)
        reach = width <= max_width
        table[sentence[reach], first[reach], width[reach]] = label[reach]
    device = candidates.first.device
    return table.to(device, non_blocking=True)[candidates.sentence, candidates.first, candidates.stop - candidates.first]
