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
from nearspan.formats.corpus import Corpus, Problem, excerpt, scored
from nearspan.io.atomic import write_file
from nearspan.io.paths import shown
from nearspan.segment import Sentence, split

DOCSTART = "-DOCSTART-"
NO_ID = frozenset({"O", "-X-", "_", DOCSTART})
"""What may follow -DOCSTART- and is no id."""
MOST_LAYERS = 64  # label columns that are read


@dataclass(frozen=True)
class Grid:
    """A document as columns: its words, where its sentences begin, and the tags of each layer."""

    document: Document
    words: list[Fragment]
    begins: list[int]
    layers: list[list[str]]
    cut: int
    joined: int
    same: int
    trimmed: int
    wordless: bool
    respaced: bool


def write(corpus: Corpus, path: Path) -> tuple[Problem, ...]:
    """Write a corpus as columns; the problems returned are what the format could not keep.

    A word is cut where an entity begins or ends inside it, two sentences become one where an entity spans both, and
    entities of the same words and label become one. Discontinuous entities do not fit into this format: they raise a
    CorpusError and nothing is written.
    """
    grids = [grid(document) for document in corpus.documents]
    depth = max((len(each.layers) for each in grids), default=1)
    if depth > MOST_LAYERS:
        deepest = next(each.document for each in grids if len(each.layers) == depth)
        _refuse(deepest, f"its entities need {depth} layers, more than {MOST_LAYERS}")
    docstarts = len(grids) != 1 or corpus.docstarts > 0 or not grids[0].words
    write_file(path, _lines(grids, max(depth, 1), docstarts))
    changed = {
        "words cut where an entity begins or ends inside them": sum(each.cut for each in grids),
        "sentences joined to the one before, as an entity spans both": sum(each.joined for each in grids),
        "entities left out, as others have their words and label": sum(each.same for each in grids),
        "entities cut to their words, as they begin or end between words": sum(each.trimmed for each in grids),
        "documents with text that is in none of their words, which was not kept": sum(each.wordless for each in grids),
        "documents whose blanks, other than one between words and a newline between sentences, were not kept": sum(
            each.respaced for each in grids
        ),
        "scores not kept": scored(corpus),
        "document ids not kept": sum(_loses_id(each.document, docstarts, path.name) for each in grids),
    }
    return tuple(Problem("changed", f"{what}: {n}", shown(path)) for what, n in changed.items() if n)


def grid(document: Document) -> Grid:
    """Lay a document out in columns.

    >>> from nearspan.formats.markup import parse
    >>> grid(parse("[University of [Oslo](PLACE)](ORG)")).layers
    [['O', 'O', 'B-PLACE'], ['B-ORG', 'I-ORG', 'I-ORG']]
    """
    _refuse_unfit(document)
    sentences = split(document)
    given = [word for sentence in sentences for word in sentence.words]
    words, begins = _cut(document, [list(sentence.words) for sentence in sentences])
    _refuse_words(document, words)
    starts, ends = [start for start, _ in words], [end for _, end in words]
    inside: set[int] = set()
    placed: set[tuple[int, int, str]] = set()
    trimmed = 0
    for entity in document.entities:
        first, stop = bisect_right(ends, entity.start), bisect_left(starts, entity.end)
        if first >= stop:
            _refuse(document, f"the entity {excerpt(entity.span.text(document.text))} holds no word")
        placed.add((first, stop, entity.label))
        trimmed += (starts[first], ends[stop - 1]) != (entity.start, entity.end)
        inside.update(begins[bisect_right(begins, first) : bisect_left(begins, stop)])
    kept = [begin for begin in begins if begin not in inside]
    same = len(document.entities) - len(placed)
    cut, layers = len(words) - len(given), _layers(placed, len(words))
    wordless = _bare(document.text) != _bare("".join(document.text[start:end] for start, end in given))
    respaced = not wordless and _respaced(document, sentences)
    return Grid(document, words, kept, layers, cut, len(inside), same, trimmed, wordless, respaced)


def _bare(text: str) -> str:
    return "".join(text.split())


def _respaced(document: Document, sentences: list[Sentence]) -> bool:
    """Whether the text is not its words joined by blanks and its sentences joined by newlines."""
    text = document.text
    lines = (" ".join(text[start:end] for start, end in sentence.words) for sentence in sentences)
    return "\n".join(lines) != text


def _loses_id(document: Document, docstarts: bool, name: str) -> bool:
    """Whether a document that has an id has another when it is read again."""
    if not docstarts:
        return document.id not in ("", name)
    return bool(document.id) and (" ".join(document.id.split()) != document.id or NO_ID.issuperset(document.id.split()))


def _cut(document: Document, sentences: list[list[Fragment]]) -> tuple[list[Fragment], list[int]]:
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


def _layers(placed: Iterable[tuple[int, int, str]], size: int) -> list[list[str]]:
    """Tags by layer: an entity lies in the first one that is free above all those inside it."""
    layers: list[list[str]] = []
    owners: list[list[Fragment | None]] = []  # by layer, whose each word is
    for first, stop, label in sorted(placed, key=lambda entity: (entity[1] - entity[0], entity)):
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
    return any(own is not None and first <= own[0] and own[1] <= stop for own in owners[first:stop])


def _lines(grids: list[Grid], depth: int, docstarts: bool) -> Iterator[str]:
    for each in grids:
        if docstarts:
            name = " ".join(each.document.id.split())
            yield f"{DOCSTART} {name}".rstrip() + "\tO" * depth + "\n\n"
        text, size = each.document.text, len(each.words)
        columns = each.layers + [["O"] * size] * (depth - len(each.layers))
        begins = set(each.begins[1:])
        for index, ((start, end), *tags) in enumerate(zip(each.words, *columns, strict=True)):
            if index in begins:
                yield "\n"
            yield "\t".join((text[start:end], *tags)) + "\n"
        if size:
            yield "\n"


def _refuse_unfit(document: Document) -> None:
    for entity in document.entities:
        if entity.span.discontinuous:
            _refuse(document, f"the entity {excerpt(entity.span.text(document.text))} is discontinuous")
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
