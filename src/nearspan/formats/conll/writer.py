"""Writing CoNLL columns: tabs, IOB2, and as many label columns as the nesting needs, innermost first."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

from nearspan.document import Document, Fragment
from nearspan.errors import CorpusError
from nearspan.formats.corpus import Corpus, Problem, count_scores, excerpt
from nearspan.formats.unkept import list_changes
from nearspan.io.atomic import write_file
from nearspan.segment import Sentence, split

DOCSTART = "-DOCSTART-"
NO_ID = frozenset({"O", "-X-", "_", DOCSTART})
"""What may follow -DOCSTART- and is no id."""
MOST_LAYERS = 64  # label columns that are read


@dataclass(frozen=True)
class Grid:
    """A document as columns: its words, where its sentences begin, the tags of each layer, and what was changed."""

    document: Document
    words: list[Fragment]
    begins: list[int]
    layers: list[list[str]]
    cut_words: int
    joined_sentences: int
    same_entities: int
    trimmed_entities: int
    loses_text: bool
    loses_blanks: bool

    @classmethod
    def of(cls, document: Document) -> Grid:
        """Lay a document out in columns.

        >>> from nearspan.formats.markup import parse
        >>> Grid.of(parse("[University of [Oslo](PLACE)](ORG)")).layers
        [['O', 'O', 'B-PLACE'], ['B-ORG', 'I-ORG', 'I-ORG']]
        """
        _refuse_unfit(document)
        sentences = split(document)
        whole_words = [word for sentence in sentences for word in sentence.words]
        words, begins = _cut_words(document, [list(sentence.words) for sentence in sentences])
        _refuse_words(document, words)
        starts, ends = [start for start, _ in words], [end for _, end in words]
        inside: set[int] = set()  # sentences that begin inside an entity
        entities: set[tuple[int, int, str]] = set()
        trimmed = 0
        for entity in document.entities:
            first, stop = bisect_right(ends, entity.start), bisect_left(starts, entity.end)
            if first >= stop:
                _refuse(document, f"the entity {excerpt(entity.text)} holds no word")
            entities.add((first, stop, entity.label))
            trimmed += (starts[first], ends[stop - 1]) != (entity.start, entity.end)
            inside.update(begins[bisect_right(begins, first) : bisect_left(begins, stop)])
        in_words = "".join(document.text[start:end] for start, end in whole_words)
        loses_text = _without_blanks(document.text) != _without_blanks(in_words)
        return cls(
            document,
            words,
            [begin for begin in begins if begin not in inside],
            _layers(entities, len(words)),
            cut_words=len(words) - len(whole_words),
            joined_sentences=len(inside),
            same_entities=len(document.entities) - len(entities),
            trimmed_entities=trimmed,
            loses_text=loses_text,
            loses_blanks=not loses_text and _loses_blanks(document, sentences),
        )


def write(corpus: Corpus, path: Path) -> tuple[Problem, ...]:
    """Write a corpus as columns; the problems returned are what the format could not keep.

    A word is cut where an entity begins or ends inside it, two sentences become one where an entity spans both, and
    entities of the same words and label become one. Discontinuous entities do not fit into this format: they raise a
    CorpusError and nothing is written.
    """
    grids = [Grid.of(document) for document in corpus]
    depth = max((len(grid.layers) for grid in grids), default=1)
    if depth > MOST_LAYERS:
        deepest = next(grid.document for grid in grids if len(grid.layers) == depth)
        _refuse(deepest, f"its entities need {depth} layers, more than {MOST_LAYERS}")
    docstarts = len(grids) != 1 or corpus.docstarts > 0 or not grids[0].words
    write_file(path, _lines(grids, max(depth, 1), docstarts))
    changes = {
        "words cut where an entity begins or ends inside them": sum(grid.cut_words for grid in grids),
        "sentences joined to the one before, as an entity spans both": sum(grid.joined_sentences for grid in grids),
        "entities left out, as others have their words and label": sum(grid.same_entities for grid in grids),
        "entities cut to their words, as they begin or end between words": sum(g.trimmed_entities for g in grids),
        "documents with text that is in none of their words, which was not kept": sum(g.loses_text for g in grids),
        "documents whose blanks, other than one between words and a newline between sentences, were not kept": sum(
            grid.loses_blanks for grid in grids
        ),
        "scores not kept": count_scores(corpus),
        "document ids not kept": sum(_loses_id(document, docstarts, path.name) for document in corpus),
    }
    return list_changes(path, changes)


def _without_blanks(text: str) -> str:
    return "".join(text.split())


def _loses_blanks(document: Document, sentences: list[Sentence]) -> bool:
    """Whether the text is not its words joined by blanks and its sentences joined by newlines."""
    text = document.text
    lines = (" ".join(text[start:end] for start, end in sentence.words) for sentence in sentences)
    return "\n".join(lines) != text


def _loses_id(document: Document, docstarts: bool, name: str) -> bool:
    """Whether a document that has an id has another when it is read again."""
    if not docstarts:
        return document.id not in ("", name)
    return bool(document.id) and (" ".join(document.id.split()) != document.id or NO_ID.issuperset(document.id.split()))


def _cut_words(document: Document, sentences: list[list[Fragment]]) -> tuple[list[Fragment], list[int]]:
    """The words, cut at the ends of entities, and the index of each sentence's first word."""
    edges = sorted({edge for entity in document.entities for edge in (entity.start, entity.end)})
    words: list[Fragment] = []
    begins: list[int] = []
    for sentence in sentences:
        begins.append(len(words))
        for start, end in sentence:
            points = [start, *edges[bisect_right(edges, start) : bisect_left(edges, end)], end]
            words += pairwise(points)
    return words, begins


def _layers(entities: Iterable[tuple[int, int, str]], size: int) -> list[list[str]]:
    """Tags by layer: an entity lies in the first one that is free above all those inside it."""
    layers: list[list[str]] = []
    owners: list[list[Fragment | None]] = []  # by layer, whose each word is
    for first, stop, label in sorted(entities, key=lambda entity: (entity[1] - entity[0], entity)):
        layer = len(layers)
        while layer and not _covers(first, stop, owners[layer - 1]):
            layer -= 1
        while layer < len(layers) and any(owners[layer][first:stop]):
            layer += 1
        if layer == len(layers):
            layers.append(["O"] * size)
            owners.append([None] * size)
        layers[layer][first:stop] = [f"B-{label}"] + [f"I-{label}"] * (stop - first - 1)
        owners[layer][first:stop] = [(first, stop)] * (stop - first)
    return layers


def _covers(first: int, stop: int, owners: list[Fragment | None]) -> bool:
    """Whether an entity of a layer lies within the words `first` to `stop`."""
    return any(owner is not None and first <= owner[0] and owner[1] <= stop for owner in owners[first:stop])


def _lines(grids: list[Grid], depth: int, docstarts: bool) -> Iterator[str]:
    for grid in grids:
        if docstarts:
            id = " ".join(grid.document.id.split())
            yield f"{DOCSTART} {id}".rstrip() + "\tO" * depth + "\n\n"
        text, size = grid.document.text, len(grid.words)
        columns = grid.layers + [["O"] * size] * (depth - len(grid.layers))
        begins = set(grid.begins[1:])
        for index, ((start, end), *tags) in enumerate(zip(grid.words, *columns, strict=True)):
            if index in begins:
                yield "\n"
            yield "\t".join((text[start:end], *tags)) + "\n"
        if size:
            yield "\n"


def _refuse_unfit(document: Document) -> None:
    for entity in document.entities:
        if entity.span.discontinuous:
            _refuse(document, f"the entity {excerpt(entity.text)} is discontinuous")
        if entity.label != entity.label.strip() or not entity.label or set(entity.label) & set("\t\r\n"):
            _refuse(document, f"the label {excerpt(entity.label)} is empty or holds white space")


def _refuse_words(document: Document, words: Iterable[Fragment]) -> None:
    """Refuse words that would be read as something else; cutting may have made them."""
    for start, end in words:
        word = document.text[start:end]
        if "\t" in word or "\n" in word or "\r" in word:
            _refuse(document, f"the word {excerpt(word)} holds a tab or a line end")
        if word.startswith(DOCSTART):
            _refuse(document, f"the word {excerpt(word)} begins with {DOCSTART}")


def _refuse(document: Document, reason: str) -> NoReturn:
    where = f"document {excerpt(document.id)}"
    raise CorpusError(f"{where}: {reason}, which CoNLL columns cannot hold; write jsonl or brat instead")
