"""CoNLL-U and CoNLL-U Plus: a word a line, with the number of the word first, and comments before each sentence.

Entities stand in brackets (`entity_brackets.py`) under `Entity=` in the column MISC, as GUM and CorefUD have them; as
chunk tags under `NE=` or `NER=` there; or as chunk tags in a column of their own, which `# global.columns` names (one
with NE, NER or ENTITY in its name) or which is the third, as in Universal NER. They lie on words; the words of a
multiword token (`1-2`) stand for it, and empty nodes (`1.1`) for nothing.

The text is `# text` where it has the sentence's words, otherwise the words with the blanks that SpaceAfter and
SpacesAfter say. Sentences are joined by newlines, documents begin at `# newdoc`. Lemmas, syntax and ids of sentences
are not read.

Written is `Entity=`, with every blank of the text.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from nearspan.document import Document, Entity, Fragment, Span
from nearspan.formats.corpus import Corpus, Problem, excerpt
from nearspan.formats.draft import Draft, to_corpus
from nearspan.formats.entity_brackets import NAMES, Brackets, brackets, count_opening, field_names, keeps
from nearspan.formats.format import ATTRIBUTES, Format, count_attributes, list_changes, refuse_entities, unwritable
from nearspan.formats.grid import WordGrid
from nearspan.formats.source import Source
from nearspan.formats.tags import OUTSIDE, chunks, count_entities, layers, parse, parse_all
from nearspan.io.atomic import write_file

_COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
_UNER = ("ID", "FORM", "NER", "OTHER", "ANNOTATOR")
_ID = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9})|(\.[0-9]{1,9}))?")
_ROW = re.compile(r"[0-9]{1,9}(?:[-.][0-9]{1,9})?\t")
_COMMENT = re.compile(
    r"#\s*(newdoc id|newdoc|sent_id|text|global\.columns|global\.Entity)\b(?:\s*=\s*(.*))?\s*", re.DOTALL
)
_TAGS = re.compile(r"(?:^|[:._-])(?:NER?|NAMED_?ENTIT(?:Y|IES)|ENTIT(?:Y|IES)|IOB2?|BIO)(?:$|[:._-])", re.IGNORECASE)
_TAG_KEYS = ("NE", "NER")
_ESCAPES = {"s": " ", "t": "\t", "n": "\n", "r": "\r", "p": "|", "\\": "\\"}
_ESCAPED = re.compile(r"\\(.)")
_HEAD = 200  # lines by which the format is known


@dataclass
class _Word:
    """A word that has a line: where it is among the tokens of the sentence, and what is said of it."""

    line: int
    token: int
    cells: list[str]
    misc: dict[str, str]


@dataclass
class _Sentence:
    """A sentence: its tokens with the blanks behind them, and its words."""

    line: int
    text: str | None = None
    tokens: list[str] = field(default_factory=list)
    blanks: list[str | None] = field(default_factory=list)  # None where nothing is said
    words: list[_Word] = field(default_factory=list)
    before: str = ""  # blanks before the first token


@dataclass
class _Document:
    """A document in the making."""

    id: str
    line: int
    sentences: list[_Sentence] = field(default_factory=list)


def read(source: Source) -> Corpus:
    """Read a file of CoNLL-U or CoNLL-U Plus."""
    columns, names = _header(source)
    documents = _documents(source, columns)
    drafts: list[Draft] = []
    for number, document in enumerate(documents, 1):
        default = f"{source.file}#{number}" if len(documents) > 1 else source.file
        drafts.append(_draft(document, source, document.id or default, columns, names))
    source.problems.sort(key=lambda problem: problem.line)
    return to_corpus(drafts, source, "conllu")


def detect(source: Source) -> bool:
    """Whether the comments of CoNLL-U come before a line that begins with a word's number, or it has ten columns.

    Where the last column of such a line is a tag, they are columns of CoNLL, unless the third one is a tag already.
    """
    is_commented = False
    for line in source.sample_lines[:_HEAD]:
        match = _COMMENT.fullmatch(line)
        if match is not None:
            is_commented = True
            if match[1].startswith("global."):
                return True
        elif line.strip() and not line.startswith("#"):
            cells = line.split("\t")
            if not _ROW.match(line):
                return False
            if parse(cells[-1]) is not None and not _is_uner(cells):
                return False
            return is_commented or len(cells) == len(_COLUMNS)
    return is_commented


def write(corpus: Corpus, path: Path) -> tuple[Problem, ...]:
    """Write CoNLL-U with the entities in brackets; the problems returned are what the format could not keep."""
    names = field_names([entity for document in corpus for entity in document.entities])
    changes: Counter[str] = Counter()
    lines = [line for document in corpus for line in _lines(document, names, changes)]
    write_file(path, [f"# global.Entity = {'-'.join(names)}\n", *lines])
    changes[ATTRIBUTES] = count_attributes(corpus, keeps)
    changes["document ids not kept"] = sum(" ".join(document.id.split()) != document.id for document in corpus)
    return list_changes(path, changes)


def _header(source: Source) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the columns, and those of the fields of brackets."""
    columns, names = None, NAMES
    for line in source.lines:
        if (match := _COMMENT.fullmatch(line)) is not None:
            if match[1] == "global.columns" and match[2]:
                columns = tuple(match[2].split())
            elif match[1] == "global.Entity" and match[2]:
                names = tuple(match[2].strip().split("-"))
        elif columns is None and _ROW.match(line):
            cells = line.split("\t")
            columns = _UNER[: len(cells)] if _is_uner(cells) else _COLUMNS
            break
    return columns or _COLUMNS, names


def _is_uner(cells: list[str]) -> bool:
    """Whether a word has its tag in the third column, as in Universal NER."""
    return 3 <= len(cells) < len(_COLUMNS) and parse(cells[2]) is not None


def _documents(source: Source, columns: tuple[str, ...]) -> list[_Document]:
    documents: list[_Document] = []
    sentence: _Sentence | None = None
    text: str | None = None
    misc = columns.index("MISC") if "MISC" in columns else None
    form = columns.index("FORM") if "FORM" in columns else 1
    last_of_token = 0  # the number of the last word of a multiword token
    for number, line in enumerate(source.lines, 1):
        if not line.strip():
            sentence = text = None
        elif line.startswith("#") and sentence is None:
            match = _COMMENT.fullmatch(line)
            if match is not None and match[1].startswith("newdoc"):
                documents.append(_Document((match[2] or "").strip(), number))
            elif match is not None and match[1] == "text":
                text = match[2] or ""
        else:
            cells = line.split("\t")
            id = _ID.fullmatch(cells[0])
            if id is None or len(cells) <= form or not cells[form]:
                lost = _count_in(line)
                source.count(lost)
                source.add_unexpected(line, "a line with the number of a word and the word itself", number, lost=lost)
                continue
            if not documents:
                documents.append(_Document("", number))
            if sentence is None:
                sentence, last_of_token = _Sentence(number, text), 0
                documents[-1].sentences.append(sentence)
            if len(cells) < len(columns):
                message = f"{len(cells)} columns where there are {len(columns)}: {excerpt(line)}"
                source.add_problem("malformed", message, number)
            values = _misc(cells[misc]) if misc is not None and misc < len(cells) else {}
            is_inside = id[2] is None and int(id[1]) <= last_of_token
            if id[3] is not None:  # an empty node
                lost = _count_in(line)
                source.count(lost)
                if lost:
                    source.add_problem(
                        "empty", "entities on an empty node, which holds no character", number, lost=lost
                    )
                continue
            if not is_inside:
                if not sentence.tokens:
                    sentence.before = _unescape(values.get("SpacesBefore", ""))
                sentence.tokens.append(cells[form])
                sentence.blanks.append(_blanks(values))
            if id[2] is not None:
                last_of_token = int(id[2])
            if id[2] is None or _count_in(line):
                sentence.words.append(_Word(number, len(sentence.tokens) - 1, cells, values))
    for document in documents:  # one of empty nodes alone has no text
        document.sentences = [sentence for sentence in document.sentences if sentence.tokens]
    return documents


def _count_in(line: str) -> int:
    """How many entities open in brackets on a line."""
    return sum(count_opening(value) for value in re.findall(r"(?:^|[\t|])Entity=([^|\t]*)", line))


def _misc(cell: str) -> dict[str, str]:
    pairs = (item.partition("=") for item in cell.split("|"))
    return {key: value for key, _, value in pairs if value}


def _blanks(misc: dict[str, str]) -> str | None:
    """The blanks after a token; None if nothing is said of them."""
    if "SpacesAfter" in misc:
        return _unescape(misc["SpacesAfter"])
    return "" if misc.get("SpaceAfter") == "No" else None


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda match: _ESCAPES.get(match[1], match[0]), text)


def _draft(document: _Document, source: Source, id: str, columns: tuple[str, ...], names: tuple[str, ...]) -> Draft:
    """A document: first its text, then its entities."""
    pieces: list[str] = []
    size = 0
    tokens: list[Fragment] = []
    sentences: list[Fragment] = []
    words: list[Fragment] = []  # the place of each word's token
    for sentence in document.sentences:
        before, places, text, after = _lay_out(sentence, source)
        pieces += [before, text, after]
        start = size + len(before)
        tokens += [(start + first, start + end) for first, end in places]
        sentences.append((start, start + len(text)))
        words += [(start + places[word.token][0], start + places[word.token][1]) for word in sentence.words]
        size = start + len(text) + len(after)
    text = "".join(pieces)
    last = document.sentences[-1].blanks[-1] if document.sentences else None
    draft = Draft(text.removesuffix("\n") if last is None else text, source, document.line, id=id)
    draft.words, draft.sentences = tokens, sentences
    _add_brackets(draft, document, words, names)
    _add_tags(draft, document, words, columns)
    return draft


def _lay_out(sentence: _Sentence, source: Source) -> tuple[str, list[Fragment], str, str]:
    """The blanks before a sentence, the places of its tokens in its text, its text, and the blanks after it."""
    *inner, last = sentence.blanks
    after = "\n" if last is None else last
    places, text = _find_tokens(sentence.tokens, sentence.text or "")
    if sentence.text is not None and not places:
        message = f"# text is {excerpt(sentence.text)}, which is not the words below it; these are read"
        source.add_problem("misaligned", message, sentence.line)
    if not places:
        for token, blanks in zip(sentence.tokens, [*inner, ""], strict=True):
            places.append((len(text), len(text) + len(token)))
            text += token + (" " if blanks is None else blanks)
    return sentence.before, places, text, after


def _find_tokens(tokens: list[str], text: str) -> tuple[list[Fragment], str]:
    """The places of tokens in a text that holds nothing else, and that text; nothing if it is another one."""
    places: list[Fragment] = []
    end = 0
    text = text.strip(" ")
    for token in tokens:
        start = text.find(token, end)
        if start < 0 or text[end:start].strip():
            return [], ""
        end = start + len(token)
        places.append((start, end))
    return (places, text) if end == len(text) else ([], "")


def _add_brackets(draft: Draft, document: _Document, words: list[Fragment], names: tuple[str, ...]) -> None:
    reader = Brackets(names)
    index = 0
    for sentence in document.sentences:
        for word in sentence.words:
            value = word.misc.get("Entity", "")
            if "(" in value or ")" in value:
                draft.source.count(count_opening(value))
                reader.read(value, index, word.line, draft)
            index += 1
    for line in reader.rest():
        draft.add_problem("malformed", "an entity opens here that is never closed; not read", line, lost=1)
    for runs, label, score, attributes, line in reader.mentions():
        fragments = [(words[first][0], words[stop - 1][1]) for first, stop in runs]
        draft.add(fragments, label, line, score=score, attributes=attributes)


def _add_tags(draft: Draft, document: _Document, words: list[Fragment], columns: tuple[str, ...]) -> None:
    """Add the entities of the columns of tags, and of tags in MISC."""
    tagged = [index for index, name in enumerate(columns) if index > 1 and _TAGS.search(name)]
    first = 0
    for sentence in document.sentences:
        rows = [[word.cells[index] if index < len(word.cells) else "" for word in sentence.words] for index in tagged]
        rows += [[word.misc.get(key, "O") for word in sentence.words] for key in _TAG_KEYS]
        for texts in rows:
            if set(texts) <= {"O", "_"}:
                continue
            tags = []
            for text, word in zip(texts, sentence.words, strict=True):
                several = parse_all(text)
                if not several and text not in ("_", "-", "*"):
                    draft.source.count(1)
                    message = f"{excerpt(text)} at {excerpt(word.cells[1])}; expected O, B-LABEL, I-LABEL, ..."
                    draft.add_problem("unknown tag", message, word.line, lost=1)
                tags.append(several or (OUTSIDE,))
            for row in layers(tags):
                draft.source.count(count_entities(row))
                for chunk in chunks(row):
                    start, end = words[first + chunk.first][0], words[first + chunk.stop - 1][1]
                    draft.add([(start, end)], chunk.label, sentence.words[chunk.first].line)
        first += len(sentence.words)


def _lines(document: Document, names: list[str], changes: Counter[str]) -> Iterator[str]:
    refuse_entities(document, "CoNLL-U", discontinuous=True)
    text = document.text
    # the grid is that of the fragments and of what lies between them, so that these stay in one sentence
    parts = (Entity(span, "X") for entity in document.entities for span in _spans(entity))
    grid = WordGrid.of(replace(document, entities=tuple(dict.fromkeys(parts))), "CoNLL-U")
    for start, end in grid.words:
        if set(text[start:end]) & set("\t\n\r"):
            raise unwritable(document, f"the word {excerpt(text[start:end])} holds a tab or a line end", "CoNLL-U")
    edges = [start for start, _ in grid.words], [end for _, end in grid.words]
    entities = [(_runs(entity, *edges), entity) for entity in document.entities]
    kept = dict.fromkeys((tuple(runs), entity.label) for runs, entity in entities)
    changes["entities left out, as others have their words and label"] += len(entities) - len(kept)
    unique = {(tuple(runs), entity.label): (runs, entity) for runs, entity in reversed(entities)}
    trimmed = sum(
        [(grid.words[first][0], grid.words[stop - 1][1]) for first, stop in runs] != list(entity.fragments)
        for runs, entity in unique.values()
    )
    changes["entities cut to their words, as they begin or end between words"] += trimmed
    for change in ("words cut", "sentences joined", "documents with text"):
        changes.update({name: count for name, count in grid.changes.items() if name.startswith(change)})
    at = brackets([unique[key] for key in kept], names)
    changes["documents of blanks alone, which were not kept"] += bool(text) and not grid.words
    yield f"# newdoc id = {' '.join(document.id.split())}\n" if document.id.strip() else "# newdoc\n"
    for first, stop in grid.sentences:
        if first == stop:
            continue
        inner = text[grid.words[first][0] : grid.words[stop - 1][1]]
        if not set(inner) & set("\n\r\t") and " ".join(inner.split(" ")) == inner:
            yield f"# text = {inner}\n"
        for index in range(first, stop):
            misc = [f"Entity={at[index]}"] if index in at else []
            misc += _spacing(text, grid.words, index, stop)
            start, end = grid.words[index]
            cells = [str(index - first + 1), text[start:end], *"________", "|".join(misc) or "_"]
            yield "\t".join([*cells[:2], *["_"] * 7, cells[-1]]) + "\n"
        yield "\n"
    if not grid.words:
        yield "\n"


def _spans(entity: Entity) -> Iterator[Span]:
    yield from map(Span.of, *zip(*entity.fragments, strict=True))
    yield Span.of(entity.start, entity.end)


def _runs(entity: Entity, starts: list[int], ends: list[int]) -> list[Fragment]:
    """The words of each fragment, by where words start and end; those that touch stay apart."""
    return [(bisect_right(ends, start), bisect_left(starts, end)) for start, end in entity.fragments]


def _spacing(text: str, words: list[Fragment], index: int, stop: int) -> list[str]:
    """What MISC says of the blanks around a word, where they are others than those that are read without a word."""
    start, end = words[index]
    misc = [f"SpacesBefore={_escape(text[:start])}"] if index == 0 and start and not text[:start].strip() else []
    is_last = index + 1 == len(words)
    after = text[end:] if is_last else text[end : words[index + 1][0]]
    usual = "" if is_last else "\n" if index + 1 == stop else " "
    if after == usual or after.strip():
        return misc
    return [*misc, f"SpacesAfter={_escape(after)}" if after else "SpaceAfter=No"]


def _escape(blanks: str) -> str:
    letters = {character: letter for letter, character in _ESCAPES.items()}
    return "".join(f"\\{letters[character]}" if character in letters else character for character in blanks)


FORMAT = Format("conllu", read, detect, write, endings=(".conllu", ".conllup"))
