"""CoNLL columns: one word a line, a blank line after a sentence, labels as chunk tags in the last columns.

The text of a document is its words joined by blanks and its sentences joined by newlines. Lines with a tab
are split at tabs, others at blanks. A `-DOCSTART-` line begins a document; a file without one is one
document. A line before a sentence that begins with # and does not end in a tag is a comment, unless it has the
columns of a word: as many as most lines, and a tab or no blank after the #. `Columns` says which columns hold labels.

Written are tabs, IOB2, and as many label columns as the nesting needs, innermost first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, count, zip_longest
from operator import add, itemgetter
from pathlib import Path
from typing import cast

from nearspan.document import Document, Fragment
from nearspan.formats.columns import (
    DOCSTART,
    MOST_LAYERS,
    NO_ID,
    Block,
    Columns,
    Rows,
    detect,
    read_blocks,
    wrong_numbers,
)
from nearspan.formats.corpus import Corpus, Problem, excerpt
from nearspan.formats.draft import Draft, to_corpus
from nearspan.formats.format import (
    ATTRIBUTES,
    Format,
    count_attributes,
    count_scores,
    list_changes,
    unwritable,
)
from nearspan.formats.grid import WordGrid
from nearspan.formats.source import Source
from nearspan.formats.tags import OUTSIDE, Chunk, Tag, chunks, count_entities, fault, layers, parse_all, scheme
from nearspan.io.atomic import write_file
from nearspan.progress import track

_unwritable = partial(unwritable, format="CoNLL columns")


def read(source: Source, columns: Sequence[int] | None = None) -> Corpus:
    """Read column text; `columns` names the label columns, counted from 0 or, if negative, from the end."""
    blocks, docstarts = read_blocks(source)
    layout = Columns.detect(blocks, columns, source.name)
    drafts = [_draft(block, layout, source) for block in blocks]
    if layout.bare:
        message = "labels without B- or I-: words in a row with the same label are read as one entity"
        source.add_problem("no prefix", message, blocks[0].line)
    _add_entities(blocks, drafts, layout)
    source.problems.sort(key=lambda problem: problem.line)
    return to_corpus(drafts, source, "conll", docstarts)


def write(corpus: Corpus, path: Path) -> tuple[Problem, ...]:
    """Write a corpus as columns; the problems returned are what the format could not keep.

    A word is cut where an entity begins or ends inside it, two sentences become one where an entity spans both, and
    entities of the same words and label become one. Discontinuous entities do not fit into this format: they raise a
    CorpusError and nothing is written.
    """
    grids = [_Grid.of(document) for document in corpus]
    depth = max((len(grid.layers) for grid in grids), default=1)
    if depth > MOST_LAYERS:
        deepest = next(grid.document for grid in grids if len(grid.layers) == depth)
        raise _unwritable(deepest, f"its entities need {depth} layers, more than {MOST_LAYERS}")
    docstarts = len(grids) != 1 or corpus.docstarts > 0 or not grids[0].words
    write_file(path, _lines(grids, max(depth, 1), docstarts))
    changes: Counter[str] = Counter()
    for grid in grids:
        changes.update(grid.changes)
    changes["scores not kept"] = count_scores(corpus)
    changes[ATTRIBUTES] = count_attributes(corpus)
    changes["document ids not kept"] = sum(_loses_id(document, docstarts, path.name) for document in corpus)
    return list_changes(path, changes)


def _draft(block: Block, layout: Columns, source: Source) -> Draft:
    words: list[Fragment] = []
    sentences: list[Fragment] = []
    lines: list[str] = []
    start = 0
    word = itemgetter(layout.word)
    for sentence in track(block.sentences, "reading words of sentences", len(block.sentences)):
        is_plain = sentence.size == layout.size > 1
        tokens = list(map(word, sentence.rows)) if is_plain else _words(sentence, layout, source)
        if layout.word:
            _list_wrong_number(sentence, layout, source)
        ends = list(map(add, accumulate(map(len, tokens)), count(start)))
        words += zip([start, *[end + 1 for end in ends[:-1]]], ends, strict=True)
        sentences.append((start, ends[-1]))
        lines.append(" ".join(tokens))
        start = ends[-1] + 1
    return Draft("\n".join(lines), source, block.line, id=block.id, words=words, sentences=sentences)


def _list_wrong_number(sentence: Rows, layout: Columns, source: Source) -> None:
    wrong = wrong_numbers(sentence.rows, layout.size)
    if wrong:
        message = f"the word number {excerpt(sentence.rows[wrong[0]][0])} does not go on counting the sentence from 1"
        source.add_problem("malformed", f"{message}; its words are kept", sentence.line + wrong[0])


def _words(sentence: Rows, layout: Columns, source: Source) -> list[str]:
    """The words of a sentence; what is wrong in its lines is listed."""
    tokens: list[str] = []
    for number, cells in enumerate(sentence.rows, sentence.line):
        if len(cells) != layout.size or len(cells) < 2:
            message = f"{len(cells)} columns where the file has {layout.size}: {excerpt(' '.join(cells[:8]))}"
            message = message if len(cells) > 1 else f"the word {excerpt(cells[0])} has no tag"
            source.add_problem("malformed", message, number)
        word = cells[layout.word] if layout.word < len(cells) else cells[0]
        if not word:
            message = f"the line has no word before its tag {excerpt(cells[-1])}; read as U+FFFD"
            source.add_problem("malformed", message, number)
        elif word[0] == " " or word[-1] == " ":
            source.add_problem("malformed", f"the word {excerpt(word)} begins or ends with a blank; kept", number)
        tokens.append(word or "\ufffd")
    return tokens


def _add_entities(blocks: list[Block], drafts: list[Draft], layout: Columns) -> None:
    """Read the label columns of all sentences, then add their entities to the drafts."""
    prefixes: Counter[str] = Counter()
    tagged: list[tuple[Draft, int, int, list[Chunk]]] = []  # by sentence and layer: its line and first word
    plain = [_PlainTags(layer in layout.bare) for layer in range(max(len(layout.labels), 1))]
    for block, draft in zip(blocks, drafts, strict=True):
        first = 0
        for sentence in track(block.sentences, "reading tags of sentences", len(block.sentences)):
            for layer, texts in enumerate(_columns(sentence, layout)):
                if texts.count("O") == len(texts):
                    continue
                rows = [tags] if (tags := plain[layer].of(texts)) else _tag_rows(texts, sentence, layout, draft, layer)
                for row in rows:
                    draft.source.count(count_entities(row))
                    prefixes.update([tag.prefix for tag in row if tag.label])
                    tagged.append((draft, sentence.line, first, chunks(row)))
            first += len(sentence.rows)
    one_word = all(len(sentence.rows) == 1 for block in blocks for sentence in block.sentences)
    if one_word and (tails := prefixes.keys() & {"I", "M", "E", "L"}):
        message = f"each sentence has one word, but there are tags that go on ({', '.join(sorted(tails))})"
        drafts[0].add_problem("malformed", f"{message}; take out blank lines between words")
    name = scheme(prefixes, (chunk for *_, entities in tagged for chunk in entities))
    for draft, line, first, entities in tagged:
        words = draft.words or ()
        for chunk in entities:
            number = line + chunk.first
            if wrong := fault(chunk, name):
                draft.add_problem("bad sequence", f"{wrong} in a file tagged as {name}; the entity is kept", number)
            fragment = (words[first + chunk.first][0], words[first + chunk.stop - 1][1])
            draft.add([fragment], chunk.label, number)


def _columns(sentence: Rows, layout: Columns) -> list[tuple[str, ...]]:
    """The tags of a sentence by layer."""
    if sentence.size == layout.size:
        return [tuple(map(itemgetter(index), sentence.rows)) for index in layout.labels]
    return list(zip_longest(*map(layout.tags, sentence.rows), fillvalue=""))


def _tag_rows(texts: tuple[str, ...], sentence: Rows, layout: Columns, draft: Draft, layer: int) -> list[list[Tag]]:
    """The tags of a column whose words may have several, or none."""
    rows = enumerate(sentence.rows, sentence.line)
    is_bare = layer in layout.bare
    return layers([_tags_of(text, *row, layout, draft, is_bare) for text, row in zip(texts, rows, strict=True)])


class _PlainTags(dict[str, Tag | None]):
    """Tags by what is written, of which a word has one and nothing has to be said; for others None."""

    def __init__(self, bare: bool) -> None:
        super().__init__()
        self.bare = bare

    def __missing__(self, text: str) -> Tag | None:
        tags = parse_all(text, self.bare)
        is_plain = len(tags) == 1 and (self.bare or len(text) <= 2 or text[2:] == tags[0].label)
        self[text] = tag = tags[0] if is_plain else None
        return tag

    def of(self, texts: tuple[str, ...]) -> list[Tag]:
        """The tags of a sentence; none if there is one that has to be looked at more closely."""
        tags = [self[text] for text in texts]
        return [] if None in tags else cast(list[Tag], tags)


def _tags_of(text: str, number: int, cells: list[str], layout: Columns, draft: Draft, bare: bool) -> tuple[Tag, ...]:
    """The tags of a word; what is none is listed as lost, and what is read otherwise than it is written is listed."""
    tags = parse_all(text, bare)
    if not tags and (text or len(cells) == layout.size > 1):
        lost = any(map(str.isalpha, text))
        draft.source.count(lost)
        message = f"{excerpt(text)} at {excerpt(cells[0])}; expected O, B-LABEL, I-LABEL, ..."
        draft.add_problem("unknown tag", message, number, lost)
    elif len(tags) == 1 and not bare and len(text) > 2 and text[2:] != tags[0].label:
        message = f"the tag {excerpt(text)} is read as '{tags[0].prefix}-{tags[0].label}'"
        draft.add_problem("malformed", message, number)
    return tags or (OUTSIDE,)


@dataclass(frozen=True)
class _Grid:
    """A document as columns: its words, where its sentences begin, the tags of each layer, and what was changed."""

    document: Document
    words: list[Fragment]
    begins: list[int]
    layers: list[list[str]]
    changes: dict[str, int]

    @classmethod
    def of(cls, document: Document) -> _Grid:
        """Lay a document out in columns.

        >>> from nearspan.formats.markup import parse
        >>> _Grid.of(parse("[University of [Oslo](PLACE)](ORG)")).layers
        [['O', 'O', 'B-PLACE'], ['B-ORG', 'I-ORG', 'I-ORG']]
        """
        grid = WordGrid.of(document, "CoNLL columns")
        _refuse_words(document, grid.words)
        for _, _, entity in grid.entities:
            if len(parse_all(f"B-{entity.label}")) > 1:
                raise _unwritable(document, f"the label {excerpt(entity.label)} would be read as several")
        entities = [(first, stop, entity.label) for first, stop, entity in grid.entities]
        return cls(document, grid.words, grid.begins, _layers(entities, len(grid.words)), grid.changes)


def _loses_id(document: Document, docstarts: bool, name: str) -> bool:
    """Whether a document that has an id has another when it is read again."""
    if not docstarts:
        return document.id not in ("", name)
    return bool(document.id) and (" ".join(document.id.split()) != document.id or NO_ID.issuperset(document.id.split()))


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


def _lines(grids: list[_Grid], depth: int, docstarts: bool) -> Iterator[str]:
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


def _refuse_words(document: Document, words: Iterable[Fragment]) -> None:
    """Refuse words that would be read as something else; cutting may have made them."""
    for start, end in words:
        word = document.text[start:end]
        if "\t" in word or "\n" in word or "\r" in word:
            raise _unwritable(document, f"the word {excerpt(word)} holds a tab or a line end")
        if word.startswith(DOCSTART):
            raise _unwritable(document, f"the word {excerpt(word)} begins with {DOCSTART}")


FORMAT = Format(
    "conll", read, detect, write, endings=(".conll", ".iob", ".iob2", ".bio", ".tsv"), columns=True, discontinuous=False
)
