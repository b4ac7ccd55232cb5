"""A document in the making: annotations go in, and each ends as an entity or as a listed problem."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import pairwise
from operator import lt
from typing import Any

from nearspan.document import NO_ATTRIBUTES, Document, Entity, Fragment, Span
from nearspan.formats.corpus import DUPLICATE, Corpus, Place, clean_label, excerpt
from nearspan.formats.source import Source


@dataclass
class Draft:
    """Collects the annotations of one document of a file, which begins in a line.

    >>> from pathlib import Path
    >>> source = Source(Path("a.jsonl"), "Ada wrote")
    >>> draft = Draft("Ada wrote", source, 1, id="1")
    >>> draft.add([(0, 3)], "PER")
    >>> draft.add([(4, 99)], "PER")
    >>> len(draft.document().entities), source.problems[0].kind
    (1, 'out of range')
    """

    text: str
    source: Source
    line: int
    _: KW_ONLY
    id: str
    words: Sequence[Fragment] | None = None
    sentences: Sequence[Fragment] | None = None
    _entities: dict[Entity, int] = field(default_factory=dict, init=False)  # by entity its line
    _duplicates: list[Entity] = field(default_factory=list, init=False)

    def add_problem(self, kind: str, message: str, line: int = 0, lost: int = 0) -> None:
        """List a problem of this document's file; its line is the document's first one if not given."""
        self.source.add_problem(kind, message, line or self.line, lost)

    def add(
        self,
        fragments: list[Fragment],
        label: str,
        line: int = 0,
        *,
        text: str | None = None,
        score: float | None = None,
        stranger: bool = False,
        attributes: Mapping[str, Any] = NO_ATTRIBUTES,
    ) -> None:
        """Add an annotation; `text` is what the file says that its characters are, `attributes` what else it says."""
        clean = clean_label(label)
        if len(fragments) == 1 and clean == label != "":
            (start, end), size = fragments[0], len(self.text)
            if 0 <= start < end <= size and (text is None or text == self.text[start:end]):  # nothing can be wrong
                entity = Entity(Span(((start, end),)), clean, score, self.text[start:end], stranger, attributes)
                before = len(self._entities)
                self._entities.setdefault(entity, line or self.line)
                if len(self._entities) > before:
                    return None
        name = excerpt(f"{clean} " + ";".join(f"{start}-{end}" for start, end in fragments), 80)[1:-1]
        if not clean:
            return self.add_problem("malformed", f"the annotation{name} has no label", line, lost=1)
        size = len(self.text)
        for start, end in fragments:
            if end < start:
                return self.add_problem("inverted", f"{name} ends before it begins", line, lost=1)
            if end == start:
                return self.add_problem("empty", f"{name} holds no character", line, lost=1)
            if start < 0 or end > size:
                return self.add_problem("out of range", f"{name} in a text of {size} characters", line, lost=1)
        if not fragments:
            return self.add_problem("empty", f"{name}has no fragment", line, lost=1)
        if clean != label:
            self.add_problem("malformed", f"the label {excerpt(label)} is read as {excerpt(clean)}", line)
        span = self._span(fragments, name, line)
        entity = Entity(span, clean, score, span.text(self.text), stranger, attributes)
        if text is not None and not have_same_words(text, entity.text, any_order=span.discontinuous):
            message = f"{name} is {excerpt(entity.text)} in the text, not {excerpt(text)}"
            self.add_problem("misaligned", message, line)
        if entity in self._entities:
            self._duplicates.append(entity)
            return self.add_problem(DUPLICATE, f"{name} is also in line {self._entities[entity]}", line, lost=1)
        self._entities[entity] = line or self.line
        return None

    def add_words(
        self,
        runs: Sequence[Fragment],
        words: Sequence[Fragment],
        label: str,
        line: int = 0,
        *,
        text: str | None = None,
        score: float | None = None,
        attributes: Mapping[str, Any] = NO_ATTRIBUTES,
    ) -> None:
        """Add an annotation of runs of words, half-open; `text` may have other blanks than the document."""
        name = excerpt(f"{label} at words " + ";".join(f"{first}-{stop}" for first, stop in runs), 80)[1:-1]
        if any(stop < first for first, stop in runs):
            return self.add_problem("inverted", f"{name} ends before it begins", line, lost=1)
        if any(stop == first for first, stop in runs):
            return self.add_problem("empty", f"{name} holds no word", line, lost=1)
        if any(first < 0 or stop > len(words) for first, stop in runs):
            return self.add_problem("out of range", f"{name} in a sentence of {len(words)} words", line, lost=1)
        fragments = word_fragments((index for run in runs for index in range(*run)), words)
        covered = "".join(self.text[start:end] for start, end in fragments)
        if text is not None and "".join(text.split()) == "".join(covered.split()):
            text = None
        return self.add(fragments, label, line, text=text, score=score, attributes=attributes)

    def append(self, other: "Draft") -> None:
        """Put another draft, which has words and sentences as this one does, behind this one on a line of its own."""
        shift = len(self.text) + bool(self.text)
        self.text = f"{self.text}\n{other.text}" if self.text else other.text

        def move(places: Sequence[Fragment] | None) -> list[Fragment]:
            return [(start + shift, end + shift) for start, end in places or ()]

        def move_entity(entity: Entity) -> Entity:
            return replace(entity, span=entity.span.shift(shift))

        self.words, self.sentences = (
            [*(self.words or ()), *move(other.words)],
            [*(self.sentences or ()), *move(other.sentences)],
        )
        self._entities |= {move_entity(entity): line for entity, line in other._entities.items()}
        self._duplicates += map(move_entity, other._duplicates)

    def document(self) -> Document:
        """The document with the entities added so far, in order."""
        words, sentences = (None if parts is None else tuple(parts) for parts in (self.words, self.sentences))
        entities = list(self._entities)
        places = [entity.span.fragments for entity in entities]
        if not all(map(lt, places, places[1:])):
            entities.sort()
        return Document(self.text, tuple(entities), self.id, words, sentences)

    def place(self) -> Place:
        """Where the document and its entities were read."""
        return Place(self.source.name, self.line, self._entities, tuple(self._duplicates))

    def _span(self, fragments: Sequence[Fragment], name: str, line: int) -> Span:
        ordered = sorted(fragments)
        if any(start < before for (_, before), (start, _) in pairwise(ordered)):
            self.add_problem("malformed", f"the fragments of {name} overlap; they are read as one", line)
            return Span.union(ordered)
        return Span(tuple(ordered))


def to_corpus(drafts: Sequence[Draft], source: Source, format: str, docstarts: int = 0) -> Corpus:
    """The documents of a file with its problems, and where each was read."""
    documents = tuple(draft.document() for draft in drafts)
    return Corpus(documents, tuple(source.problems), format, docstarts, tuple(draft.place() for draft in drafts))


def have_same_words(first: str, second: str, *, any_order: bool = False) -> bool:
    """Whether two texts are equal up to white space, or hold the same words in any order.

    >>> have_same_words("swollen  feet", "swollen\\nfeet"), have_same_words("feet swollen", "swollen feet")
    (True, False)
    """
    words, others = first.split(), second.split()
    return words == others or (any_order and sorted(words) == sorted(others))


def word_offsets(words: Iterable[str], start: int = 0) -> list[Fragment]:
    """The offsets of words that are joined by a blank, the first at `start`.

    >>> word_offsets(["Ada", "wrote"])
    [(0, 3), (4, 9)]
    """
    offsets: list[Fragment] = []
    for word in words:
        end = start + len(word)
        offsets.append((start, end))
        start = end + 1
    return offsets


def word_fragments(indexes: Iterable[int], words: Sequence[Fragment]) -> list[Fragment]:
    """The fragments of some words of a sentence: consecutive words are one fragment, and empty ones are none.

    >>> word_fragments([0, 1, 3], [(0, 4), (5, 7), (8, 12), (13, 17)])
    [(0, 7), (13, 17)]
    """
    fragments: list[Fragment] = []
    before = -2
    for index in sorted(set(indexes)):
        start, end = words[index]
        if index == before + 1 and fragments:
            start = fragments.pop()[0]
        if start < end:
            fragments.append((start, end))
        before = index
    return fragments
