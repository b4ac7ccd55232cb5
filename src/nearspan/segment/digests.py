"""What a sentence is known by wherever it stands: a number made of its words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import count


def digests(sentences: Iterable[Sequence[str]], without: Collection[int] = frozenset()) -> list[int]:
    """For each sentence, given as its words, a number of 64 bits; copies of a sentence are counted, so none is alike.

    Numbers of copies that are gone (`without`) are left out: the others keep theirs.

    >>> first, second = digests([["It", "rained"], ["It", "snowed"]])
    >>> digests([["It", "snowed"], ["It", "rained"]]) == [second, first]
    True
    """
    by_key: dict[bytes, Iterator[int]] = {}
    digests = []
    for words in sentences:
        key = _key(words)
        numbers = by_key.setdefault(key, _numbers(key))
        digests.append(next(number for number in numbers if number not in without))
    return digests


def copies(words: Sequence[str]) -> Iterator[int]:
    """The numbers of one sentence's copies, the first one first, without end.

    >>> numbers = copies(["It", "rained"])
    >>> [next(numbers), next(numbers)] == digests([["It", "rained"], ["It", "rained"]])
    True
    """
    return _numbers(_key(words))


def _key(words: Sequence[str]) -> bytes:
    return blake2b("\0".join(words).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _numbers(key: bytes) -> Iterator[int]:
    return (_digest(key, copy) for copy in count(1))


def _digest(key: bytes, copy: int) -> int:
    return int.from_bytes(blake2b(key + copy.to_bytes(8, "little"), digest_size=8).digest(), "little", signed=True)
