"""Candidate spans: every span of a sentence up to a width, numbered so that both ways are arithmetic.

The candidates of a sentence of n words are numbered by first word and then by width. While n - first >= K
each first word has K of them; the last K - 1 words have a triangle of fewer and fewer.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True)
class Candidates:
    """The S candidate spans of a batch, sentence after sentence: all there are, or those that are given."""

    sentence: Tensor  # [S] position in the batch
    number: Tensor  # [S] among the sentence's candidates
    first: Tensor  # [S] first word
    stop: Tensor  # [S] the word after the last
    counts: Tensor  # [B] candidates of each sentence, on the CPU
    lengths: Tensor  # [B] words of each sentence
    max_width: int  # the most words in a candidate

    def __len__(self) -> int:
        return len(self.first)

    def find(self, places: Tensor) -> tuple[Tensor, Tensor]:
        """Rows [n] of the candidates that places [n, 3] are (sentence, first, stop), and which of them are candidates.

        >>> spans = enumerate_spans(torch.tensor([3]), max_width=2)
        >>> spans.find(torch.tensor([[0, 1, 3], [0, 0, 3]]))
        (tensor([3, 2]), tensor([ True, False]))
        """
        size = int(self.lengths.max()) + 1 if len(self.lengths) else 1
        keys = (self.sentence * size + self.first) * size + self.stop  # [S] rising
        sentence, first, stop = places.to(keys.device).unbind(1)
        wanted = (sentence * size + first) * size + stop
        rows = torch.searchsorted(keys, wanted)
        return rows.clamp(max=len(keys) - 1), functional.pad(keys, (0, 1), value=-1)[rows] == wanted


def count_candidates(lengths: Tensor, max_width: int) -> Tensor:
    """Candidates in sentences of these lengths.

    >>> count_candidates(torch.tensor([1, 3]), max_width=2)
    tensor([1, 5])
    """
    full = (lengths - max_width + 1).clamp(min=0)  # first words that have all widths
    tail = lengths - full
    return full * max_width + tail * (tail + 1) // 2


def candidate_number(first: Tensor, stop: Tensor, length: Tensor, max_width: int) -> Tensor:
    """The numbers of the candidates (first, stop) among those of their sentences of `length` words.

    >>> candidate_number(torch.tensor([0, 1, 2]), torch.tensor([2, 2, 3]), torch.tensor([3, 3, 3]), max_width=2)
    tensor([1, 2, 4])
    """
    after = length - first  # words from the first one to the end
    tail = count_candidates(length, max_width) - after * (after + 1) // 2
    return torch.where(after >= max_width, first * max_width, tail) + stop - first - 1


def enumerate_spans(lengths: Tensor, max_width: int, device: torch.device | str = "cpu") -> Candidates:
    """All spans of at most `max_width` words in sentences of these lengths (a CPU tensor).

    Nothing here waits for the device: how many there are is known from the lengths.

    >>> spans = enumerate_spans(torch.tensor([3]), max_width=2)
    >>> list(zip(spans.first.tolist(), spans.stop.tolist()))
    [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]
    """
    counts = count_candidates(lengths, max_width)
    total = int(counts.sum())
    here = torch.stack([lengths, counts, counts.cumsum(0) - counts]).to(device, non_blocking=True)
    sentence = torch.repeat_interleave(torch.arange(len(lengths), device=device), here[1], output_size=total)
    size, count, before = here[:, sentence]
    number = torch.arange(total, device=device) - before
    # in the tail, counted from the end: t words follow the first one, and t + 1 spans begin at it
    from_end = count - 1 - number
    t = ((8 * from_end + 1).double().sqrt().long() - 1) // 2
    in_tail = number >= (size - max_width + 1).clamp(min=0) * max_width
    first = torch.where(in_tail, size - 1 - t, number // max_width)
    stop = torch.where(in_tail, size - from_end + t * (t + 1) // 2, first + number % max_width + 1)
    return Candidates(sentence, number, first, stop, counts, here[0], max_width)
