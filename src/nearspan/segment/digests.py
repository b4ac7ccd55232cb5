"""What a sentence is known by wherever it stands: a number made of its words."""

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
    by_words: dict[tuple[str, ...], Iterator[int]] = {}
    return [
        next(number for number in by_words.setdefault(tuple(words), copies(words)) if number not in without)
        for words in sentences
    ]


def copies(words: Sequence[str]) -> Iterator[int]:
    """The numbers of one sentence's copies, the first one first, without end.

    >>> numbers = copies(["It", "rained"])
    >>> [next(numbers), next(numbers)] == digests([["It", "rained"], ["It", "rained"]])
    True
    """
    key = blake2b("\0".join(words).encode("utf-8", "surrogatepass"), digest_size=16).digest()
    for copy in count(1):
        digest = blake2b(key + copy.to_bytes(8, "little"), digest_size=8).digest()
        yield int.from_bytes(digest, "little", signed=True)
