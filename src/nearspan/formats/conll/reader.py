"""Reading CoNLL columns: lines become blocks, blocks become documents, label columns become entities."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest

from nearspan.document import Fragment
from nearspan.formats.conll.columns import Block, Columns, Row, wrong_numbers
from nearspan.formats.conll.writer import DOCSTART, MOST_LAYERS, NO_ID
from nearspan.formats.corpus import Corpus, Problem, excerpt
from nearspan.formats.draft import Draft, to_corpus, word_offsets
from nearspan.formats.source import Source
from nearspan.formats.tags import OUTSIDE, Chunk, Tag, chunks, fault, is_labelled, parse, scheme

_BLANKS = re.compile(" +")


def read(source: Source, columns: Sequence[int] | None = None) -> Corpus:
    """Read column text; `columns` names the label columns, counted from 0 or, if negative, from the end."""
    problems = list(source.problems)
    blocks, docstarts = _blocks(source, problems)
    _drop_comments(blocks, source)
    layout = Columns.detect(blocks, columns, source.name)
    drafts = [_draft(block, layout, source, problems) for block in blocks]
    _add_entities(blocks, drafts, layout, problems, source.name)
    problems.sort(key=lambda problem: problem.line)
    return to_corpus(drafts, problems, "conll", docstarts)


def detect(source: Source) -> bool:
    """Whether most of the first lines end in a tag."""
    lines = [_strip_returns(line) for line in source.lines[:2000]]
    rows = [_cells(line) for line in lines if line.strip(" \t") and not _is_docstart(line)]
    tagged = sum(len(cells) > 1 and parse(cells[-1]) is not None for cells in rows)
    return 2 * tagged > len(rows) or (not rows and any(map(_is_docstart, source.lines)))


def _cells(line: str) -> list[str]:
    if "\t" in line:
        cells = line.rstrip(" \t").split("\t", MOST_LAYERS)
        if " " in line:
            cells[1:] = [cell.strip(" ") for cell in cells[1:]]
        return cells
    line = line.strip(" ")
    return _BLANKS.split(line, maxsplit=MOST_LAYERS) if "  " in line else line.split(" ", MOST_LAYERS)


def _blocks(source: Source, problems: list[Problem]) -> tuple[list[Block], int]:
    blocks: list[Block] = []
    docstarts = 0
    sentence: list[Row] = []
    for number, line in enumerate(source.lines, 1):
        if "\r" in line and (bare := _strip_returns(line)) != line:
            message = f"the line ends in {excerpt(line[len(bare) :])} before its line end; it is left out"
            problems.append(Problem("malformed", message, source.name, number))
            line = bare
        if line.startswith(DOCSTART) and _is_docstart(line):
            docstarts += 1
            if tag := _docstart_tag(line):
                message = f"{excerpt(tag)} at {DOCSTART}, which is no word; expected O, not read"
                problems.append(Problem("unknown tag", message, source.name, number))
            blocks.append(Block(_docstart_id(line), number))
            sentence = []
        elif not line or not line.strip(" \t"):
            sentence = []
        else:
            if not blocks:
                blocks.append(Block("", number))
            if not sentence:
                blocks[-1].sentences.append(sentence)
            sentence.append((number, _cells(line)))
    name = source.file
    for index, block in enumerate(blocks, 1):
        block.id = block.id or (f"{name}#{index}" if len(blocks) > 1 else name)
    return blocks, docstarts


def _strip_returns(line: str) -> str:
    """A line without the carriage returns at its end, and the blanks among them."""
    bare = line.rstrip(" \t\r")
    return bare if "\r" in line[len(bare) :] else line


def _docstart_id(line: str) -> str:
    id = line.removeprefix(DOCSTART).split("\t")[0].strip(" ")
    return "" if NO_ID.issuperset(id.split(" ")) else id


def _is_docstart(line: str) -> bool:
    return line.startswith(DOCSTART) and line[len(DOCSTART) :][:1] in ("", " ", "\t")


def _docstart_tag(line: str) -> str:
    """The tag of a -DOCSTART- line that is not `O` or the like; after blanks alone it may be part of an id."""
    cells = _cells(line)[1:]
    wrong = [cell for cell in cells if cell != "O" and is_labelled(cell)] if "\t" in line else []
    wrong += [cell for cell in cells[-1:] if cell not in NO_ID and ("\t" in line or is_labelled(cell))]
    return wrong[0] if wrong else ""


def _drop_comments(blocks: list[Block], source: Source) -> None:
    """Leave out lines before a sentence that begin with # and do not end in a tag, if they have no word's columns."""
    size: int | None = None
    for block in blocks:
        for sentence in block.sentences:
            while sentence and _may_be_comment(sentence[0][1]):
                number, cells = sentence[0]
                size = size or _usual_size(blocks)
                if len(cells) == size and ("\t" in source.lines[number - 1] or cells[0] != "#"):
                    break
                del sentence[0]
        block.sentences = [sentence for sentence in block.sentences if sentence]


def _may_be_comment(cells: list[str]) -> bool:
    return cells[0].startswith("#") and len(cells) > 1 and parse(cells[-1]) is None


def _usual_size(blocks: list[Block]) -> int:
    """How many columns most lines have that are no comments for sure."""
    sizes = Counter(
        len(cells)
        for block in blocks
        for sentence in block.sentences
        for _, cells in sentence
        if not _may_be_comment(cells)
    )
    return sizes.most_common(1)[0][0] if sizes else 2


def _draft(block: Block, layout: Columns, source: Source, problems: list[Problem]) -> Draft:
    words: list[Fragment] = []
    sentences: list[Fragment] = []
    lines: list[str] = []
    start = 0
    for rows in block.sentences:
        if layout.word:
            _list_wrong_number(rows, layout.size, source.name, problems)
        tokens: list[str] = []
        for number, cells in rows:
            if len(cells) != layout.size or len(cells) < 2:
                message = f"{len(cells)} columns where the file has {layout.size}: {excerpt(' '.join(cells[:8]))}"
                message = message if len(cells) > 1 else f"the word {excerpt(cells[0])} has no tag"
                problems.append(Problem("malformed", message, source.name, number))
            word = cells[layout.word] if layout.word < len(cells) else cells[0]
            if not word:
                message = f"the line has no word before its tag {excerpt(cells[-1])}; read as U+FFFD"
                problems.append(Problem("malformed", message, source.name, number))
                word = "\ufffd"
            tokens.append(word)
        offsets = word_offsets(tokens, start)
        words += offsets
        sentences.append((start, offsets[-1][1]))
        lines.append(" ".join(tokens))
        start = offsets[-1][1] + 1
    return Draft(
        "\n".join(lines),
        id=block.id,
        path=source.name,
        line=block.line,
        problems=problems,
        words=words,
        sentences=sentences,
    )


def _list_wrong_number(rows: list[Row], size: int, path: str, problems: list[Problem]) -> None:
    """List a sentence whose word numbers do not count from 1, at the first that is wrong."""
    if wrong := wrong_numbers([cells for _, cells in rows], size):
        number, cells = rows[wrong[0]]
        message = f"the word number {excerpt(cells[0])} does not go on counting the sentence from 1; its words are kept"
        problems.append(Problem("malformed", message, path, number))


def _add_entities(
    blocks: list[Block], drafts: list[Draft], layout: Columns, problems: list[Problem], path: str
) -> None:
    """Read the label columns of all sentences, then add their entities to the drafts."""
    known: dict[str, Tag | None] = {}
    prefixes: Counter[str] = Counter()
    tagged: list[tuple[Draft, list[Row], int, list[Chunk]]] = []  # by sentence and layer, with its first word
    for block, draft in zip(blocks, drafts, strict=True):
        first = 0
        for rows in block.sentences:
            layers = zip_longest(*(layout.tags(cells) for _, cells in rows), fillvalue="")
            for texts in layers:
                if texts.count("O") == len(texts):
                    continue
                tags: list[Tag] = []
                for text, (number, cells) in zip(texts, rows, strict=True):
                    if text not in known:
                        known[text] = parse(text)
                    tag = known[text]
                    if tag is None and (text or len(cells) == layout.size > 1):
                        message = f"{excerpt(text)} at {excerpt(cells[0])}; expected O, B-LABEL, I-LABEL, ..."
                        problems.append(Problem("unknown tag", message, path, number))
                    tags.append(tag or OUTSIDE)
                prefixes.update(tag.prefix for tag in tags)
                tagged.append((draft, rows, first, chunks(tags)))
            first += len(rows)
    name = scheme(prefixes, (chunk for *_, entities in tagged for chunk in entities))
    for draft, rows, first, entities in tagged:
        words = draft.words or ()
        for chunk in entities:
            number = rows[chunk.first][0]
            if wrong := fault(chunk, name):
                draft.add_problem("bad sequence", f"{wrong} in a file tagged as {name}; the entity is kept", number)
            fragment = (words[first + chunk.first][0], words[first + chunk.stop - 1][1])
            draft.add([fragment], chunk.label, number)
