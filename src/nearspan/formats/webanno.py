"""WebAnno TSV 3, which INCEpTION exports: one text a file, a word a line, a column for each feature of each layer.

    #FORMAT=WebAnno TSV 3.3
    #T_SP=de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity|identifier|value

    #Text=Marie Curie met Ada
    1-1	0-5	Marie	Q7186[1]	PER[1]
    1-2	6-11	Curie	Q7186[1]	PER[1]
    1-3	12-15	met	_	_
    1-4	16-19	Ada	*	PER

Annotations of several words have a number in brackets, several of one word stand beside each other with a bar between
them, and `1-4.1` is a part of a word. Offsets count UTF-16 units, as Java does. `layers.py` says which layers hold
entities and what their labels are; relations and chains are left out. The text is the sentences, with as many newlines
between them as their offsets leave room for.

Written is a folder with a file for each document. Where a document says nothing of its sentences, each line is one.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from nearspan.document import Document, Entity, Fragment
from nearspan.errors import CorpusError
from nearspan.formats.corpus import Corpus, Problem, excerpt
from nearspan.formats.draft import Draft, to_corpus
from nearspan.formats.folder import file_names, files_that_end, order_changes, write_folder
from nearspan.formats.format import (
    ATTRIBUTES,
    Format,
    count_attributes,
    list_changes,
    refuse_entities,
    refuse_loss,
    unwritable,
)
from nearspan.formats.layers import NAMED_ENTITY, VALUE, holds_entities, keeps, label_and_attributes, layer_of
from nearspan.formats.layout import Layout
from nearspan.formats.source import Source
from nearspan.formats.utf16 import utf16_offsets, utf16_size
from nearspan.formats.webanno_cells import (
    SPECIAL_IN_TEXT,
    Stack,
    escape,
    parse_stack,
    unescape,
)
from nearspan.io.paths import display_path
from nearspan.segment import split

_MARK = "#FORMAT=WebAnno TSV 3"
_ENDINGS = (".tsv", ".tsv.gz")
_HEADERS = {"#T_SP=": "spans", "#T_CH=": "chains", "#T_RL=": "relations"}
_ROW = re.compile(r"(\d{1,9})-(\d{1,9})(?:\.(\d{1,9}))?\t(\d{1,12})-(\d{1,12})\t(.*)", re.DOTALL)
_SCORE = "score"
_LINE = re.compile("[^\n]+")


class _Layer(NamedTuple):
    """A layer of the header: its kind, its type, its features, and the column of its first feature."""

    kind: str
    name: str
    features: tuple[str, ...]
    column: int


@dataclass
class _Sentence:
    """The lines of a sentence: its text, and the rows of its words and of parts of them."""

    line: int
    text: str | None = None
    rows: list["_Row"] = field(default_factory=list)


class _Row(NamedTuple):
    """A line of a word, or of a part of one; offsets as they stand there."""

    line: int
    is_part: bool
    start: int
    end: int
    word: str
    cells: list[str]


@dataclass
class _Mention:
    """An annotation in the making: where it begins and ends in the text, and the values of its features."""

    layer: _Layer
    line: int
    start: int
    end: int
    values: list[str | None]


def read(source: Source) -> Corpus:
    """Read a file, or a folder of such."""
    if not source.path.is_dir():
        return to_corpus([_read_file(source, display_path(Path(source.file).stem))], source, "webanno")
    parts: list[Corpus] = []
    for path in files_that_end(source.path, _ENDINGS):
        file = Source(path, folder=source)
        name = path.relative_to(source.path).as_posix().removesuffix(".gz")
        parts.append(refuse_loss(to_corpus([_read_file(file, display_path(name[:-4]))], file, "webanno"), file))
    if not parts:
        raise CorpusError(f"{source.name} is a folder without .tsv files; name a folder that has some")
    return Corpus.merge(parts)


def detect(source: Source) -> bool:
    """Whether a path is a file that says so in its first line, or a folder whose first .tsv file does."""
    files = files_that_end(source.path, _ENDINGS)[:1] if source.path.is_dir() else [source.path]
    for path in files:
        with suppress(CorpusError):
            return path.is_file() and Source(path).head(len(_MARK) + 3).startswith(_MARK)
    return False


def write(corpus: Corpus, path: Path) -> tuple[Problem, ...]:
    """Write a folder with a file for each document; the problems returned are what the format could not keep."""
    names = list(file_names(corpus, _ENDINGS[:1]))
    changes: Counter[str] = Counter()
    texts = [list(_lines(document, changes)) for document in corpus]
    write_folder(path, ((f"{name}.tsv", lines) for name, lines in zip(names, texts, strict=True)))
    changes["document ids not kept"] = sum(
        document.id not in ("", name) for document, name in zip(corpus, names, strict=True)
    )
    changes[ATTRIBUTES] = count_attributes(corpus, keeps)
    return list_changes(path, changes | order_changes([f"{name}.tsv" for name in names]))


def _read_file(source: Source, id: str) -> Draft:
    layers, sentences = _parse(source)
    layout, words, bounds = Layout(), list[Fragment](), list[Fragment]()
    places: list[list[Fragment]] = []  # by sentence where its rows are in the text
    for sentence in sentences:
        places.append(_place(sentence, layout, source))
        words += [place for row, place in zip(sentence.rows, places[-1], strict=True) if not row.is_part]
        bounds.append((layout.size - len(_text(sentence)), layout.size))
    draft = Draft(layout.text, source, 1, id=id)
    if _are_in_order(words, len(draft.text)):
        draft.words, draft.sentences = words, bounds
    else:
        draft.add_problem("malformed", "the words are not in order within the text; words and sentences are left out")
    for layer in layers:
        if layer.kind != "spans":
            cells = (row.cells[layer.column : layer.column + 1] for sentence in sentences for row in sentence.rows)
            source.leave_out(layer.kind, sum(len(parse_stack(cell)) for (cell, *_) in filter(None, cells)))
        elif holds_entities(layer.name):
            _add_layer(draft, layer, sentences, places)
    return draft


def _parse(source: Source) -> tuple[list[_Layer], list[_Sentence]]:
    """The layers of the header, and the sentences; what is neither is listed."""
    layers: list[_Layer] = []
    sentences: list[_Sentence] = []
    column, is_open = 0, False
    for number, line in enumerate(source.lines, 1):
        row = _ROW.fullmatch(line)
        if row is not None:
            if not is_open:
                sentences.append(_Sentence(number))
            is_open = True
            word, *cells = row[6].removesuffix("\t").split("\t")
            sentences[-1].rows.append(_Row(number, row[3] is not None, int(row[4]), int(row[5]), word, cells))
        elif line.startswith("#Text="):
            if is_open or not sentences or sentences[-1].rows:
                sentences.append(_Sentence(number))
                is_open = True
            before = sentences[-1].text
            text = unescape(line.removeprefix("#Text="))
            sentences[-1].text = text if before is None else f"{before}\n{text}"
        elif (kind := _HEADERS.get(line[:6])) is not None and not sentences:
            name, *features = line[6:].split("|")
            layers.append(_Layer(kind, name, tuple(features) or ("",), column))
            column += max(len(features), 1)
        elif not line.strip():
            is_open = False
        elif not line.startswith("#"):
            source.count(1)  # it may have been a word with annotations
            source.add_unexpected(line, "SENTENCE-WORD<tab>START-END<tab>word<tab>...", number, lost=1)
    return layers, [sentence for sentence in sentences if sentence.rows]


def _text(sentence: _Sentence) -> str:
    """The text of a sentence; without one its words, with blanks where their offsets leave room."""
    if sentence.text is None:
        end, pieces = sentence.rows[0].start, list[str]()
        for row in sentence.rows:
            if not row.is_part:
                word = unescape(row.word)
                pieces += [" " * min(max(row.start - end, 0), 100), word]
                end = max(row.start, end) + utf16_size(word)
        sentence.text = "".join(pieces)
    return sentence.text


def _place(sentence: _Sentence, layout: Layout, source: Source) -> list[Fragment]:
    """Put a sentence into the text, and give where its rows are; a word that is not there is listed."""
    text, first = _text(sentence), sentence.rows[0]
    before = max(text.find(unescape(first.word)), 0)  # a sentence may begin with blanks
    begin = first.start - utf16_size(text[:before])
    start = layout.place(begin, text, utf16_size(text))
    units = utf16_offsets(text)
    places: list[Fragment] = []
    is_listed = False
    for row in sentence.rows:
        first_at, last_at = (units.get(at - begin, at - begin) for at in (row.start, row.end))
        places.append((start + first_at, start + last_at))
        if not is_listed and text[max(first_at, 0) : max(last_at, 0)] != unescape(row.word):
            is_listed = True
            message = f"the word {excerpt(row.word)} is not at {row.start}-{row.end} of the text"
            source.add_problem("misaligned", message, row.line)
    return places


def _add_layer(draft: Draft, layer: _Layer, sentences: list[_Sentence], places: list[list[Fragment]]) -> None:
    mentions: list[_Mention] = []
    numbered: dict[str, _Mention] = {}
    for sentence, fragments in zip(sentences, places, strict=True):
        for row, (start, end) in zip(sentence.rows, fragments, strict=True):
            columns = [parse_stack(cell) for cell in row.cells[layer.column : layer.column + len(layer.features)]]
            for index, (_, number) in enumerate(_longest(columns)):
                values = [_value(column, index, number) for column in columns]
                if number and number in numbered:
                    mention = numbered[number]
                    mention.start, mention.end = min(mention.start, start), max(mention.end, end)
                    continue
                mention = _Mention(layer, row.line, start, end, values)
                mentions.append(mention)
                if number:
                    numbered[number] = mention
            if len({len(column) for column in columns}) > 1 or 0 < len(columns) < len(layer.features):
                message = f"the columns of the layer {excerpt(layer.name)} differ in how many annotations they have"
                draft.add_problem("malformed", message, row.line)
    draft.source.count(len(mentions))
    for mention in mentions:
        features: dict[str, Any] = dict(zip(layer.features, mention.values, strict=False))
        slots = [name for name in features if name.startswith("ROLE_") or not name]
        draft.source.leave_out("links of annotations", sum(features.pop(name) is not None for name in slots))
        score = _score(features)
        label, attributes = label_and_attributes(layer.name, features)
        draft.add([(mention.start, mention.end)], label, mention.line, score=score, attributes=attributes)


def _longest(columns: list[Stack]) -> Stack:
    """The column that has the most annotations, as others may have no value for some."""
    return max(columns, key=len) if columns else []


def _value(column: Stack, index: int, number: str) -> str | None:
    """What a feature's column says of an annotation: what has its number, or stands in its place."""
    if number:
        return next((value for value, other in column if other == number), None)
    return column[index][0] if index < len(column) else None


def _score(features: dict[str, Any]) -> float | None:
    """The score among the values of features, taken out of them, if it is a finite number."""
    with suppress(TypeError, ValueError):
        if isfinite(score := float(features.get(_SCORE))):  # type: ignore[arg-type]
            del features[_SCORE]
            return score
    return None


def _are_in_order(words: list[Fragment], size: int) -> bool:
    before = 0
    for start, end in words:
        if not before <= start <= end <= size:
            return False
        before = end
    return True


def _lines(document: Document, changes: Counter[str]) -> Iterator[str]:
    """A document as a file, and in `changes` what that does not keep."""
    refuse_entities(document, "WebAnno TSV")
    features: dict[str, list[str]] = {NAMED_ENTITY: ["identifier", VALUE]}
    for entity in document.entities:
        names = features.setdefault(layer_of(entity.attributes), [VALUE])
        kept = [name for name, value in entity.attributes.items() if keeps(name, value) and name != "layer"]
        names += [name for name in [*kept, *([_SCORE] if entity.score is not None else [])] if name not in names]
    yield f"{_MARK}.3\n"
    yield from (f"#T_SP={'|'.join((layer, *names))}\n" for layer, names in features.items())
    yield "\n"
    rebuilt = Layout()
    touched: set[Entity] = set()
    rows: list[tuple[str, Fragment, list[Entity]]] = []  # what each line begins with, its place, and its entities
    texts: dict[int, str] = {}  # by the first of its rows the text of a sentence
    ahead, around = list(reversed(document.with_entities(document.entities).entities)), list[Entity]()
    for number, (first, last, words) in enumerate(_sentences(document), 1):
        texts[len(rows)] = document.text[first:last]
        rebuilt.place(first, document.text[first:last])
        for index, (start, end) in enumerate(words, 1):
            while ahead and ahead[-1].start < end:
                around.append(ahead.pop())
            around = inside = [entity for entity in around if start < entity.end]
            touched.update(inside)
            whole = [entity for entity in inside if entity.start <= start and end <= entity.end]
            rows.append((f"{number}-{index}", (start, end), whole))
            parts: dict[Fragment, list[Entity]] = {}
            for entity in inside:
                if entity not in whole:
                    parts.setdefault((max(start, entity.start), min(end, entity.end)), []).append(entity)
            rows += [(f"{number}-{index}.{part}", place, parts[place]) for part, place in enumerate(sorted(parts), 1)]
    _list_changes(document, rows, touched, rebuilt.text, changes)
    counts = Counter(entity for *_, entities in rows for entity in entities)
    stacked = {entity for *_, entities in rows if len(entities) > 1 for entity in entities}
    needs_number = (entity for entity in document.entities if counts[entity] > 1 or entity in stacked)
    numbers = {entity: f"[{number}]" for number, entity in enumerate(needs_number, 1)}
    units = utf16_offsets(document.text)
    places = {at: unit for unit, at in units.items()}
    for index, (name, (start, end), entities) in enumerate(rows):
        if index in texts:
            yield ("\n" if index else "") + f"#Text={escape(texts[index], SPECIAL_IN_TEXT)}\n"
        word = escape(document.text[start:end], SPECIAL_IN_TEXT)
        cells = [name, f"{places.get(start, start)}-{places.get(end, end)}", word]
        for layer, names in features.items():
            cells += _cells([entity for entity in entities if layer_of(entity.attributes) == layer], names, numbers)
        yield "\t".join(cells) + "\t\n"


def _sentences(document: Document) -> Iterator[tuple[int, int, Sequence[Fragment]]]:
    """Where each sentence begins and ends, and its words; lines are sentences where a document says nothing of them."""
    lines = [match.span() for match in _LINE.finditer(document.text)]
    parts = split(replace(document, sentences=tuple(lines)) if document.sentences is None else document)
    starts = {start: (start, end) for start, end in lines}
    for sentence in parts:
        begin = document.text.rfind("\n", 0, sentence.start) + 1
        line = starts.get(begin) if document.sentences is None else None
        yield (*(line or (sentence.start, sentence.end)), sentence.words)


def _cells(entities: list[Entity], names: list[str], numbers: dict[Entity, str]) -> list[str]:
    """The cells of a layer in a row: those of all features, with what stands there of each entity."""
    if not entities:
        return ["_"] * len(names)
    cells: list[str] = []
    for name in names:
        values: list[str] = []
        for entity in entities:
            value = entity.attributes.get(name)
            if name == VALUE:
                value = entity.label
            elif name == _SCORE:
                value = None if entity.score is None else repr(entity.score)
            shown = escape(value) if isinstance(value, str) and (name in (VALUE, _SCORE) or keeps(name, value)) else "*"
            values.append(shown + numbers.get(entity, ""))
        cells.append("|".join(values))
    return cells


def _list_changes(
    document: Document,
    rows: list[tuple[str, Fragment, list[Entity]]],
    touched: set[Entity],
    rebuilt: str,
    changes: Counter[str],
) -> None:
    for entity in document.entities:
        if entity not in touched:
            raise unwritable(document, f"the entity {excerpt(entity.text)} holds no word", "WebAnno TSV")
    edges: dict[Entity, tuple[int, int]] = {}
    for _, (start, end), entities in rows:
        for entity in entities:
            first, last = edges.get(entity, (start, end))
            edges[entity] = min(first, start), max(last, end)
    trimmed = sum(place != (entity.start, entity.end) for entity, place in edges.items())
    changes["entities cut to their words, as they begin or end between words"] += trimmed
    blanks = "documents whose blanks, other than those within sentences and newlines between them, were not kept"
    loses_text = "".join(rebuilt.split()) != "".join(document.text.split())
    changes["documents with text that is in none of their words, which was not kept"] += loses_text
    changes[blanks] += not loses_text and rebuilt != document.text


FORMAT = Format("webanno", read, detect, write, folder=True, discontinuous=False)
