"""Documents one after another, as they are read: nothing is held that was passed on."""

from __future__ import annotations

import gc
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from typing import Protocol, Self

from nearspan.document import Document, Entity
from nearspan.errors import CorpusError, did_you_mean
from nearspan.formats.corpus import Corpus, Place, Problem
from nearspan.formats.format import check_sum
from nearspan.formats.source import Source

Placed = tuple[Document, Callable[[], Place]]
"""A document, and what says where it was read."""


class Readable(Protocol):
    """What a format yields for a document: a `Draft`, or something that is quicker to make."""

    def document(self) -> Document:
        """The document."""

    def place(self) -> Place:
        """Where it was read."""


class Block(ABC):
    """Some documents that a format yields at once, none of which was made yet."""

    @property
    @abstractmethod
    def entity_count(self) -> int:
        """How many entities they have."""

    @abstractmethod
    def __len__(self) -> int:
        """How many documents there are."""

    @abstractmethod
    def __iter__(self) -> Iterator[Placed]:
        """The documents."""


BlockCounter = Callable[[Block], Iterator[Placed]]
"""Takes a block, and gives back the documents of which it wants to have nothing."""


class Part(Protocol):
    """What a stream takes documents from."""

    @property
    def format(self) -> str:
        """The format of the documents; empty where they come from no file."""

    @property
    def docstarts(self) -> int:
        """The -DOCSTART- lines so far."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What was found wrong so far."""

    entity_count: int  # so far

    def __iter__(self) -> Iterator[Placed]: ...


@dataclass
class Reading:
    """A file that is being read: what the reader of its format gave."""

    source: Source
    format: str
    content: Corpus | Iterable[Readable | Block]
    entity_count: int = 0
    counter: BlockCounter | None = None

    def __iter__(self) -> Iterator[Placed]:
        """The documents with their places; after the last a CorpusError if annotations are missing."""
        if isinstance(self.content, Corpus):
            for document, place in _placed(self.content):
                self.entity_count += document.entity_count
                yield document, place
        else:
            for part in self.content:
                if isinstance(part, Block):
                    yield from self._read_block(part)
                else:
                    document = part.document()
                    self.entity_count += document.entity_count
                    yield document, part.place
        check_sum(self.entity_count, self._listed(), self.source, self.format)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What was found wrong so far."""
        return (*self._listed(), *self.source.left_out_problems())

    @property
    def docstarts(self) -> int:
        """The -DOCSTART- lines so far."""
        return self.content.docstarts if isinstance(self.content, Corpus) else self.source.docstarts

    def _read_block(self, block: Block) -> Iterator[Placed]:
        if self.counter is not None:
            self.entity_count += block.entity_count
            yield from self.counter(block)
            return
        for placed in block:
            self.entity_count += placed[0].entity_count
            yield placed

    def _listed(self) -> Sequence[Problem]:
        return self.content.problems if isinstance(self.content, Corpus) else self.source.problems


@dataclass
class Given:
    """Documents that come from no file, or from one that was read."""

    documents: Iterable[Document]
    format: str = ""
    docstarts: int = 0
    problems: tuple[Problem, ...] = ()
    entity_count: int = 0

    def __iter__(self) -> Iterator[Placed]:
        corpus = self.documents if isinstance(self.documents, Corpus) else None
        for index, document in enumerate(self.documents):
            if not isinstance(document, Document):
                raise CorpusError(f"found {type(document).__name__} where documents were expected")
            self.entity_count += document.entity_count
            yield document, partial(Place, document.id) if corpus is None else partial(corpus.place, index)


class Stream(Iterator[Document]):
    """Documents as they are read from one file or several, or as something else gives them.

        documents = nearspan.formats.stream("corpus.jsonl")
        for document in documents:
            ...
        documents.problems

    `place` says where the last document was read, `count` and `entity_count` how many documents and entities there
    were. What is wrong in the files is in `problems`, which is complete once all documents are taken.

    >>> documents = Stream.of([Document("Oslo"), Document("Bergen")])
    >>> next(documents).text, len(documents.collect())
    ('Oslo', 1)
    """

    def __init__(self, parts: Iterable[Part], paths: Sequence[str | PathLike[str]] = ()) -> None:
        self.paths = tuple(paths)
        self.count = 0
        self._place: Callable[[], Place] = partial(Place, "")
        self._left_out = 0  # entities of labels that were not chosen
        self._is_chosen = False
        self._counter: BlockCounter | None = None
        self._begun: list[Part] = []
        self._changes: list[Callable[[Document], Document]] = []
        self._placed = self._read(parts)

    @classmethod
    def of(cls, documents: Iterable[Document]) -> Stream:
        """A stream of documents, or of a corpus; a stream is given back.

        >>> next(Stream.of(Corpus((Document("Oslo"),), format="jsonl"))).text
        'Oslo'
        """
        if isinstance(documents, Stream):
            return documents
        if isinstance(documents, Corpus):
            paths = dict.fromkeys(place.path for place in documents.places)
            return cls([Given(documents, documents.format, documents.docstarts, documents.problems)], list(paths))
        return cls([Given(documents)])

    def __next__(self) -> Document:
        document, self._place = next(self._placed)
        self.count += 1
        for change in self._changes:
            document = change(document)
        return document

    def __repr__(self) -> str:
        return f"Stream({self.count:,} documents taken{f', {self.format}' * bool(self.format)})"

    @property
    def place(self) -> Place:
        """Where the last document was read."""
        return self._place()

    @property
    def entity_count(self) -> int:
        """How many entities there were so far."""
        return sum(part.entity_count for part in self._begun) - self._left_out

    @property
    def format(self) -> str:
        """The format of the files that were begun; "mixed" where they differ, and empty where there are none."""
        formats = {part.format for part in self._begun if part.format}
        return formats.pop() if len(formats) == 1 else "mixed" if formats else ""

    @property
    def docstarts(self) -> int:
        """The -DOCSTART- lines so far, of column files."""
        return sum(part.docstarts for part in self._begun)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What was found wrong so far."""
        return tuple(problem for part in self._begun for problem in part.problems)

    def map(self, change: Callable[[Document], Document]) -> Self:
        """The stream, of which each further document is changed; its counts are those of the documents before."""
        self._changes.append(change)
        return self

    def with_labels(self, labels: Iterable[str]) -> Self:
        """The stream, of which each further document has the entities of some labels alone.

        After the last document it is a CorpusError if no entity had one of them.
        """
        self._placed, self._is_chosen = self._choose(self._placed, set(labels)), True
        return self

    def count_blocks(self, counter: BlockCounter) -> Self:
        """The stream without the documents that `counter` has counted, which are not made."""
        if not self._changes and not self._is_chosen:
            self._counter = counter
        return self

    def collect(self) -> Corpus:
        """All further documents as a corpus."""
        with without_collection():
            pairs = [(document, self.place) for document in self]
        documents = tuple(document for document, _ in pairs)
        return Corpus(documents, self.problems, self.format, self.docstarts, tuple(place for _, place in pairs))

    def _choose(self, placed: Iterator[Placed], labels: set[str]) -> Iterator[Placed]:
        known = set[str]()

        def choose(entities: Iterable[Entity]) -> tuple[Entity, ...]:
            return tuple(entity for entity in entities if entity.label in labels)

        def place_of(place: Callable[[], Place]) -> Place:
            return replace(place(), duplicates=choose(place().duplicates))

        for document, place in placed:
            known.update(entity.label for entity in document.entities)
            chosen = document.with_entities(choose(document.entities))
            self._left_out += document.entity_count - chosen.entity_count
            yield chosen, partial(place_of, place)
        for label in sorted(labels - known):
            raise CorpusError(f"no entity has the label {label!r}; {did_you_mean(label, known)}")

    def _read(self, parts: Iterable[Part]) -> Iterator[Placed]:
        for part in parts:
            self._begun.append(part)
            if isinstance(part, Reading):
                part.counter = self._counter
            yield from part


def _placed(corpus: Corpus) -> Iterator[Placed]:
    return ((document, partial(corpus.place, index)) for index, document in enumerate(corpus))


@contextmanager
def without_collection() -> Iterator[None]:
    """Look for no cycles while millions of objects are made that hold none: it takes longer than all the reading."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
