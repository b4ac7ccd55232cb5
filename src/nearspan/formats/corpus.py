"""A corpus: documents, and every problem met on the way to them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, TypedDict, overload

from nearspan.document import Document, Entity, count_of
from nearspan.errors import CorpusError, ResourceError, did_you_mean

_FILLERS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"  # shown as nothing, though letters, marks or symbols

if TYPE_CHECKING:
    from pandas import DataFrame


DUPLICATE = "duplicate"
"""The kind of problem that an annotation which is given twice is; the document holds it once."""

NOT_GOLD = "not gold"
"""The kind of problem that annotations are which nobody has accepted; they are read, and are no entities."""


class ProblemRecord(TypedDict):
    """A problem as JSON."""

    kind: str
    message: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong in a file, and where. `line` counts from 1; 0 means that no line is to blame.

    `lost` says how many annotations were not read because of it.

    >>> print(Problem("inverted", "PER 9-4 ends before it begins", "news.ann", 3))
    news.ann:3: inverted: PER 9-4 ends before it begins
    """

    kind: str
    message: str
    path: str
    line: int = 0
    lost: int = 0

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line else self.path
        return f"{where}: {self.kind}: {self.message}"

    def to_dict(self) -> ProblemRecord:
        """The problem as JSON."""
        return ProblemRecord(kind=self.kind, message=self.message, file=self.path, line=self.line)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a document was read: its file, its first line, the line of each entity, and those given twice."""

    path: str
    line: int = 0
    entities: Mapping[Entity, int] = field(default_factory=dict)
    duplicates: tuple[Entity, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class Corpus(Sequence[Document]):
    """A sequence of documents, and the problems found while reading them.

    Every annotation of a file is in `documents` or in `problems` (in both where it was mended).
    `docstarts` counts the -DOCSTART- lines of column files. `places` says where each document was read; it is
    empty for a corpus made by hand.

    >>> corpus = Corpus((Document("Oslo"),)) + Corpus((Document("Bergen"),))
    >>> len(corpus), corpus[-1].text, [document.text for document in corpus]
    (2, 'Bergen', ['Oslo', 'Bergen'])
    >>> corpus
    Corpus(2 documents, 0 entities)
    """

    documents: tuple[Document, ...]
    problems: tuple[Problem, ...] = ()
    format: str = ""
    docstarts: int = 0
    places: tuple[Place, ...] = field(default=(), compare=False)

    @overload
    def __getitem__(self, index: int) -> Document: ...

    @overload
    def __getitem__(self, index: slice) -> Corpus: ...

    def __getitem__(self, index: int | slice) -> Document | Corpus:
        """A document; or those of a slice as a corpus, without the problems, which belong to whole files."""
        if isinstance(index, slice):
            return Corpus(self.documents[index], (), self.format, 0, self.places[index] if self._has_places() else ())
        return self.documents[index]

    def __iter__(self) -> Iterator[Document]:
        return iter(self.documents)

    def __len__(self) -> int:
        return len(self.documents)

    def __repr__(self) -> str:
        parts = [count_of(len(self), "document", "documents"), count_of(self.entity_count, "entity", "entities")]
        parts += [self.format] if self.format else []
        parts += [count_of(len(self.problems), "problem", "problems")] if self.problems else []
        return f"Corpus({', '.join(parts)})"

    @property
    def entity_count(self) -> int:
        """How many entities all documents have together."""
        return sum(len(document.entities) for document in self.documents)

    def __add__(self, other: Corpus) -> Corpus:
        return Corpus.merge([self, other])

    @classmethod
    def merge(cls, corpora: Iterable[Corpus]) -> Corpus:
        """Several corpora as one, in order; the format is "mixed" where they differ."""
        parts = list(corpora)
        formats = {part.format for part in parts if part.format}
        return cls(
            tuple(document for part in parts for document in part.documents),
            tuple(problem for part in parts for problem in part.problems),
            formats.pop() if len(formats) == 1 else "mixed" if formats else "",
            sum(part.docstarts for part in parts),
            tuple(place for part in parts for place in part._known_places()),
        )

    def with_labels(self, labels: Iterable[str]) -> Corpus:
        """The same documents with the entities of some labels alone.

        >>> both = Document("Oslo in May", (Entity.of(0, 4, "PLACE"), Entity.of(8, 11, "TIME")))
        >>> [entity.label for entity in Corpus((both,)).with_labels(["TIME"]).documents[0].entities]
        ['TIME']
        """
        labels, known = set(labels), {entity.label for document in self for entity in document.entities}
        for label in sorted(labels - known):
            raise CorpusError(f"no entity has the label {label!r}; {did_you_mean(label, known)}")
        documents = (
            document.with_entities(entity for entity in document.entities if entity.label in labels)
            for document in self
        )
        places = (
            replace(place, duplicates=tuple(entity for entity in place.duplicates if entity.label in labels))
            for place in self.places
        )
        return replace(self, documents=tuple(documents), places=tuple(places))

    def to_pandas(self) -> DataFrame:
        """A table with a row for each entity: document (its id), start, end, fragments, label, text, score.

            nearspan.read("train.conll").to_pandas().groupby("label").size()

        Needs pandas: `pip install 'nearspan[pandas]'`.
        """
        try:
            from pandas import DataFrame
        except ImportError as error:
            raise ResourceError("pandas is not installed: pip install 'nearspan[pandas]'") from error
        columns = ["document", "start", "end", "fragments", "label", "text", "score"]
        rows = (
            (document.id, entity.start, entity.end, entity.fragments, entity.label, entity.text, entity.score)
            for document in self
            for entity in document.entities
        )
        return DataFrame(rows, columns=columns).astype({"start": int, "end": int, "score": float})

    @classmethod
    def from_pandas(cls, frame: DataFrame, texts: Mapping[str, str] | None = None) -> Corpus:
        """The documents of a frame with a row for each entity, as `to_pandas` makes it, or for each text.

            corpus = Corpus.from_pandas(corpus.to_pandas(), {document.id: document.text for document in corpus})

        A row for a text has the columns id, text and entities, one for an entity document, start, end and label. The
        documents' texts are in a column `document_text`, or `texts` has them by id; it may have others beside those.
        """
        from nearspan.formats.tables import from_frame  # which needs this module

        return from_frame(frame, texts)

    def place(self, index: int) -> Place:
        """Where document `index` was read, or its id where that is not known."""
        return self.places[index] if self._has_places() else Place(self.documents[index].id)

    def _known_places(self) -> tuple[Place, ...]:
        return self.places if self._has_places() else tuple(Place(document.id) for document in self)

    def _has_places(self) -> bool:
        return len(self.places) == len(self.documents)


@lru_cache(maxsize=4096)  # files hold few different labels, each many times
def clean_label(label: str) -> str:
    """A label without blanks and invisible characters at its ends, which would make another label that looks the same.

    >>> clean_label("PER\\u200b\\xa0"), clean_label(" DATE TIME")
    ('PER', 'DATE TIME')
    """
    unseen = (c for c in label if c.isspace() or unicodedata.category(c) in ("Cc", "Cf") or c in _FILLERS)
    return label.strip("".join(unseen))


def excerpt(text: str, limit: int = 60) -> str:
    """A short, printable quotation for a message.

    >>> excerpt("a" * 100, limit=5)
    "'aaaaa'..."
    """
    return repr(text) if len(text) <= limit else repr(text[:limit]) + "..."
