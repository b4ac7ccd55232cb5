"""A document in the making: annotations go in, and each ends as an entity or as a listed problem."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from nearspan.document import Document, Entity, Fragment, Span
from nearspan.formats.corpus import Place, Problem, excerpt


class Draft:
    """Collects the annotations of one document of a file.

    >>> problems: list[Problem] = []
    >>> draft = Draft("Ada wrote", id="1", path="a.jsonl", line=1, problems=problems)
    >>> draft.add([(0, 3)], "PER", line=1)
    >>> draft.add([(4, 99)], "PER", line=1)
    >>> len(draft.document().entities), problems[0].kind
    (1, 'out of range')
    """

    def __init__(
        self,
        text: str,
        *,
        id: str,
        path: str,
        line: int,
        problems: list[Problem],
        words: Sequence[Fragment] | None = None,
        sentences: Sequence[Fragment] | None = None,
    ) -> None:
        self.text = text
        self.id = id
        self.words = None if words is None else tuple(words)
        self.sentences = None if sentences is None else tuple(sentences)
        self._path, self._line = path, line
        self._problems = problems
        self._entities: dict[Entity, int] = {}
        self._duplicates: list[Entity] = []

    def problem(self, kind: str, message: str, line: int) -> None:
        """List a problem of this document's file."""
        self._problems.append(Problem(kind, message, self._path, line))

    def add(
        self,
        fragments: Sequence[Fragment],
        label: str,
        line: int,
        *,
        said: str | None = None,
        score: float | None = None,
    ) -> None:
        """Add an annotation; `said` is its text as the file gives it."""
        written = f"{excerpt(label)[1:-1]} " + ";".join(f"{start}-{end}" for start, end in fragments)
        if not label.strip():
            return self.problem("malformed", f"the annotation{written} has no label", line)
        size = len(self.text)
        for start, end in fragments:
            if end < start:
                return self.problem("inverted", f"{written} ends before it begins", line)
            if end == start:
                return self.problem("empty", f"{written} holds no character", line)
            if start < 0 or end > size:
                return self.problem("out of range", f"{written} in a text of {size} characters", line)
        if not fragments:
            return self.problem("empty", f"{written}has no fragment", line)
        entity = Entity(self._span(fragments, written, line), label, score)
        found = entity.span.text(self.text)
        if said is not None and not agree(said, found, anyhow=entity.span.discontinuous):
            message = f"{written} is {excerpt(found)} in the text, not {excerpt(said)}"
            self.problem("misaligned", message, line)
        if entity in self._entities:
            self._duplicates.append(entity)
            return self.problem("duplicate", f"{written} is also in line {self._entities[entity]}", line)
        self._entities[entity] = line
        return None

    def document(self) -> Document:
        """The document with the entities added so far, in order."""
        return Document(self.text, tuple(sorted(self._entities)), self.id, self.words, self.sentences)

    def place(self) -> Place:
        """Where the document and its entities were read."""
        return Place(self._path, self._line, self._entities, tuple(self._duplicates))

    def _span(self, fragments: Sequence[Fragment], written: str, line: int) -> Span:
        ordered = sorted(fragments)
        if any(start < before for (_, before), (start, _) in pairwise(ordered)):
            self.problem("malformed", f"the fragments of {written} overlap; they are read as one", line)
            return Span.joining(ordered)
        return Span(tuple(ordered))


def agree(said: str, found: str, *, anyhow: bool = False) -> bool:
    """Whether two texts are equal up to white space or, for fragments in another order, hold the same words.

    >>> agree("swollen  feet", "swollen\\nfeet"), agree("feet swollen", "swollen feet", anyhow=True)
    (True, True)
    """
    words, others = said.split(), found.split()
    return words == others or (anyhow and sorted(words) == sorted(others))


def laid_out(words: Iterable[str], start: int = 0) -> list[Fragment]:
    """The offsets of words that are joined by a blank, the first at `start`.

    >>> laid_out(["Ada", "wrote"])
    [(0, 3), (4, 9)]
    """
    offsets: list[Fragment] = []
    for word in words:
        end = start + len(word)
        offsets.append((start, end))
        start = end + 1
    return offsets


def runs(indexes: Iterable[int], words: Sequence[Fragment]) -> list[Fragment]:
    """The characters of some words: consecutive words are one fragment.

    >>> runs([0, 1, 3], [(0, 4), (5, 7), (8, 12), (13, 17)])
    [(0, 7), (13, 17)]
    """
    fragments: list[Fragment] = []
    before = -2
    for index in sorted(set(indexes)):
        start, end = words[index]
        if index == before + 1:
            start = fragments.pop()[0]
        fragments.append((start, end))
        before = index
    return fragments
