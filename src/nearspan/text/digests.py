"""What a sentence is known by wherever it stands: a number made of its words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b


def digests(sentences: Iterable[Sequence[str]]) -> list[int]:
    """For each sentence, given as its words, a number of 64 bits; copies of a sentence are counted, so none is alike.

    >>> first, second = digests([["It", "rained"], ["It", "snowed"]])
    >>> digests([["It", "snowed"], ["It", "rained"]]) == [second, first]
    True
    """
    seen: dict[bytes, int] = {}
    found = []
    for words in sentences:
        key = blake2b("\0".join(words).encode("utf-8", "surrogatepass"), digest_size=16).digest()
        seen[key] = copy = seen.get(key, 0) + 1
        whole = blake2b(key + copy.to_bytes(8, "little"), digest_size=8).digest()
        found.append(int.from_bytes(whole, "little", signed=True))
    return found
