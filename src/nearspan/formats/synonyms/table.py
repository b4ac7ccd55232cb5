"""Names by concept, found by any of them, small enough for millions of names."""

from __future__ import annotations

import unicodedata
from array import array
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import TYPE_CHECKING

from nearspan.formats.corpus import Problem

if TYPE_CHECKING:  # numpy is imported where it is used: most corpora are read without synonyms
    import numpy as np
    from numpy.typing import NDArray

_BETWEEN = "\t"  # between the names of a concept, which hold none
_MINUS = "\u2212"  # a symbol to Unicode, but written for a hyphen


class Synonyms:
    """Concepts, each with its names. Names are compared by `normal_form`; a concept holds each of them once.

    Two concepts may share a name. They stay two: "cold" leads to the names of the illness and to those of the
    temperature, but the one's names do not lead to the other's.

    Args:
        concepts: the names of each concept.
        problems: what was wrong in the files they were read from.
        format: the format of those files.

    >>> synonyms = Synonyms([("heart attack", "myocardial infarction", "MI"), ("cold", "common cold")])
    >>> synonyms.of("Heart-Attack")
    ('myocardial infarction', 'MI')
    >>> "COLD" in synonyms, "flu" in synonyms, synonyms.of("flu")
    (True, False, ())
    >>> synonyms
    Synonyms(2 concepts, 5 names)
    """

    def __init__(
        self, concepts: Iterable[Iterable[str]] = (), *, problems: Iterable[Problem] = (), format: str = ""
    ) -> None:
        self._fill((0, names) for names in concepts)
        self.problems, self.format = tuple(problems), format

    @classmethod
    def from_concepts(
        cls, concepts: Iterable[tuple[int, Iterable[str]]], problems: list[Problem], format: str = ""
    ) -> Synonyms:
        """Concepts by key and names: those with the same key are one, unless it is 0.

        `concepts` is read to its end before `problems`, so that reading may still add to them.
        """
        synonyms = cls(format=format)
        synonyms._fill(concepts)
        synonyms.problems = tuple(problems)
        return synonyms

    @classmethod
    def merge(cls, parts: Iterable[Synonyms]) -> Synonyms:
        """Several as one, in order; concepts that have one identifier of OBO or UMLS are united."""
        parts = list(parts)
        formats = list(dict.fromkeys(part.format for part in parts if part.format))
        keyed = (pair for part in parts for pair in zip(part._keys.tolist(), part, strict=True))
        problems = [problem for part in parts for problem in part.problems]
        return cls.from_concepts(keyed, problems, ", ".join(formats))

    def __add__(self, other: Synonyms) -> Synonyms:
        return Synonyms.merge([self, other])

    def __repr__(self) -> str:
        return f"Synonyms({self.concepts:,} concepts, {self.names:,} names)"

    @property
    def concepts(self) -> int:
        """How many concepts there are."""
        return len(self._names)

    @property
    def names(self) -> int:
        """How many names there are; one that several concepts share counts once."""
        return int((self._hashes[1:] != self._hashes[:-1]).sum()) + 1 if len(self._hashes) else 0

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        """The names of each concept."""
        return (tuple(names.split(_BETWEEN)) for names in self._names)

    def __contains__(self, text: object) -> bool:
        return isinstance(text, str) and any(True for _ in self._concepts_with(normal_form(text)))

    def of(self, text: str) -> tuple[str, ...]:
        """The other names of all concepts that have this one, each once, in the order of the files."""
        form = normal_form(text)
        synonyms: dict[str, str] = {}
        for names in self._concepts_with(form):
            for key, name in names.items():
                synonyms.setdefault(key, name)
        synonyms.pop(form, None)
        return tuple(synonyms.values())

    def _concepts_with(self, form: str) -> Iterator[dict[str, str]]:
        """The names, by their normal forms, of each concept that has a name of this form."""
        import numpy as np

        key = np.uint64(_hash(form))
        first, stop = np.searchsorted(self._hashes, key, "left"), np.searchsorted(self._hashes, key, "right")
        for concept in self._owners[first:stop].tolist():
            names = _distinct(self._names[concept].split(_BETWEEN))
            if form in names:  # else another name with the same hash
                yield names

    def _fill(self, concepts: Iterable[tuple[int, Iterable[str]]]) -> None:
        """Keep the names as one string a concept, and for each the hash of its normal form with its owner."""
        import numpy as np

        joined: list[str] = []
        keys, hashes, owners = array("Q"), array("Q"), array("I")
        for key, concept in concepts:
            if names := _distinct(concept):
                hashes.extend(map(_hash, names))
                owners.extend([len(joined)] * len(names))
                keys.append(key)
                joined.append(_BETWEEN.join(names.values()))
        key_array = np.array(keys, dtype=np.uint64)
        target, kept = _unite(key_array, joined)
        self._names = joined if kept.all() else [names for names, keep in zip(joined, kept, strict=True) if keep]
        self._keys = key_array[kept]
        self._hashes, self._owners = _index(np.array(hashes, np.uint64), target[np.array(owners, np.int64)])


def normal_form(text: str) -> str:
    """The form of a name that is compared.

    Unicode NFKC and case folding; every run of blanks, hyphens and other punctuation is one blank, and none at
    the ends; invisible format characters are left out. Symbols such as + and all accents stay. A text of
    nothing but punctuation is compared by that punctuation.

    >>> normal_form("Non-Hodgkin  Lymphoma") == normal_form("non hodgkin lymphoma")
    True
    >>> normal_form("Na+"), normal_form("ﬁbre"), normal_form("--")
    ('na+', 'fibre', '--')
    """
    folded = _fold_case(text)
    return " ".join(folded.translate(_PLAIN).split()) or " ".join(folded.split())


def key_of(*parts: str) -> int:
    """The key of an identifier in its namespace.

    >>> key_of("umls", "C0000123") == key_of("umls", "C0000123") != key_of("obo", "C0000123")
    True
    """
    return _hash("\n".join(parts)) or 1


def _hash(text: str) -> int:
    """64 bits that are the same in every process."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _distinct(names: Iterable[str]) -> dict[str, str]:
    """Names by their normal form, the first spelling of each; those without a character are left out."""
    distinct: dict[str, str] = {}
    for name in names:
        if form := normal_form(name):
            distinct.setdefault(form, " ".join(name.split()))
    return distinct


def _unite(keys: NDArray[np.uint64], joined: list[str]) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
    """Add the names of concepts whose key came before to the first one; their new numbers, and which are kept."""
    import numpy as np

    target = np.arange(len(keys))
    keyed = keys.nonzero()[0]
    _, first, inverse = np.unique(keys[keyed], return_index=True, return_inverse=True)
    target[keyed] = keyed[first[inverse]]
    kept = target == np.arange(len(keys))
    parts: dict[int, list[str]] = {}
    for concept in (~kept).nonzero()[0].tolist():
        parts.setdefault(int(target[concept]), []).append(joined[concept])
    for concept, more in parts.items():
        together = _BETWEEN.join([joined[concept], *more]).split(_BETWEEN)
        joined[concept] = _BETWEEN.join(_distinct(together).values())
    return (np.cumsum(kept) - 1)[target].astype(np.uint32), kept


def _index(hashes: NDArray[np.uint64], owners: NDArray[np.uint32]) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
    """Sorted by hash, then by owner, each pair once."""
    import numpy as np

    order = np.lexsort((owners, hashes))
    hashes, owners = hashes[order], owners[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (hashes[1:] != hashes[:-1]) | (owners[1:] != owners[:-1])
    return hashes[new], owners[new]


class _PlainCharacters(dict[int, int | None]):
    """What becomes of a character, found when it is first met: punctuation and controls become a blank,
    invisible format characters such as the soft hyphen nothing."""

    def __missing__(self, code: int) -> int | None:
        kind = unicodedata.category(chr(code))
        blank = kind[0] in "PZ" or kind == "Cc" or chr(code) == _MINUS
        self[code] = None if kind == "Cf" else 32 if blank else code
        return self[code]


_PLAIN = _PlainCharacters()


def _fold_case(text: str) -> str:
    if text.isascii():
        return text.lower()
    text = "".join(char for char in text if unicodedata.category(char) != "Cf")
    for _ in range(2):  # folding can undo what NFKC has joined
        text = unicodedata.normalize("NFKC", text).casefold()
    return unicodedata.normalize("NFKC", text)
