"""Numbers by which the same words are known wherever they stand, in any case."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

FACTOR = 6364136223846793005  # odd, so that no product loses what it is made of


def word_keys(sentences: Iterable[Sequence[str]]) -> Tensor:
    """A number for each word [R] of some sentences, in this process: the same for the same text in any case.

    >>> first, _, again = word_keys([["She", "left"], ["she"]]).tolist()
    >>> first == again
    True
    """
    return torch.tensor([hash(word.casefold()) for words in sentences for word in words], dtype=torch.long)


def span_keys(words: Tensor, first: Tensor, stop: Tensor) -> Tensor:
    """A number for each span [S] of words with keys [R]: the same for the same words in the same order.

    >>> words = word_keys([["New", "York", "and", "new", "York"]])
    >>> first, _, again = span_keys(words, torch.tensor([0, 2, 3]), torch.tensor([2, 3, 5])).tolist()
    >>> first == again
    True
    """
    keys = stop - first
    for more in range(int(keys.max()) if len(keys) else 0):
        at = (first + more).clamp(max=len(words) - 1)
        keys = torch.where(first + more < stop, keys * FACTOR + words[at], keys)
    return keys
