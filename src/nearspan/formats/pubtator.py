"""PubTator: a title line, an abstract line, then one tab-separated line for each mention.

    1|t|Aspirin in practice
    1|a|We gave aspirin.
    1	0	7	Aspirin	Chemical	D001241

The text is the title, a newline and the abstract; a document without an abstract line is its title alone.
A blank line ends a document, but not between a title and its abstract.
Relations (`1<tab>CID<tab>D001241<tab>D002`) and concept identifiers are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from nearspan.formats.corpus import Corpus, Problem, excerpt
from nearspan.formats.draft import Draft, to_corpus
from nearspan.formats.format import Format, list_changes, plain_text_changes, unwritable
from nearspan.formats.source import Line, Source
from nearspan.io.atomic import write_file

_TEXT = re.compile(r"([^|\t]{1,200})\|([ta])\|(.*)", re.DOTALL)
_NUMBER = re.compile(r"-?\d{1,18}")
_RELATION = re.compile(r"[A-Za-z_]{3,}")
_CONCEPT = re.compile(r"-|.*\d.*")
_UNSAFE = re.compile(r"[|\t\r\n]")


def read(source: Source) -> Corpus:
    """Read a file of PubTator documents."""
    drafts = [draft for block in _join_abstracts(_blocks(source)) for draft in _drafts(block, source)]
    return to_corpus(drafts, source, "pubtator")


def detect(source: Source) -> bool:
    """Whether the first line that is not blank is a title, not JSON, and what follows belongs to a document."""
    first, second, *_ = [*islice((line for line in source.lines if line.strip()), 2), "", ""]
    match = _TEXT.match(first)
    if match is None or match[2] != "t" or first.lstrip().startswith(('{"', "[{", '["')):
        return False
    id = match[1]
    if not second or _TEXT.match(second) is not None or second.startswith((f"{id}\t", f"{id} ")):
        return True
    return any(line.startswith(f"{id}|a|") for line in source.lines)


def write(corpus: Corpus, path: Path) -> tuple[Problem, ...]:
    """Write the text up to its first newline as the title and the rest as the abstract."""
    ids = [_UNSAFE.sub("_", document.id)[:200] or str(number) for number, document in enumerate(corpus, 1)]
    write_file(path, _pieces(corpus, ids))
    return list_changes(path, plain_text_changes(corpus, ids, "pubtator"))


def _blocks(source: Source) -> Iterator[list[Line]]:
    """The lines of each document: a blank line begins another, and so does a title unless it follows its abstract."""
    block: list[Line] = []
    for number, line in enumerate(source.lines, 1):
        match = _TEXT.match(line)
        new_title = match is not None and match[2] == "t" and not _continues(block, [(number, line)])
        if block and (new_title or not line.strip()):
            yield block
            block = []
        if line.strip():
            block.append((number, line))
    if block:
        yield block


def _join_abstracts(blocks: Iterable[list[Line]]) -> Iterator[list[Line]]:
    """The blocks, with an abstract that a blank line parts from its title as one of the same document."""
    before: list[Line] = []
    for block in blocks:
        if _continues(before, block):
            before = before + block
            continue
        if before:
            yield before
        before = block
    if before:
        yield before


def _continues(before: list[Line], block: list[Line]) -> bool:
    """Whether both begin with a text of one document, and the second holds none that the first has."""
    (id_before, parts_before), (id, parts) = _texts(before), _texts(block)
    return bool(id) and id == id_before and not set(parts) & set(parts_before)


def _texts(block: list[Line]) -> tuple[str, str]:
    """The id of a block that begins with a text, and which of its texts the block holds."""
    matches = [match for _, line in block if (match := _TEXT.match(line))]
    if not matches or not _TEXT.match(block[0][1]):
        return "", ""
    id = matches[0][1]
    return id, "".join(match[2] for match in matches if match[1] == id)


def _drafts(block: list[Line], source: Source) -> Iterator[Draft]:
    """The document of a block; none, and a problem, if it has no title or abstract."""
    parts: dict[str, str] = {}
    rest: list[Line] = []
    id = ""
    for number, line in block:
        match = _TEXT.fullmatch(line)
        if match is None:
            rest.append((number, line))
        elif match[2] in parts or (id and match[1] != id):
            message = f"{excerpt(line)} is a second text or one of another document than {excerpt(id)}; not read"
            source.add_problem("malformed", message, number)
        else:
            id, parts[match[2]] = match[1], match[3]
    if not parts:
        source.add_unexpected(block[0][1], f"ID|t|TITLE; {len(block)} lines are not read", block[0][0])
        return
    text = parts.get("t", "") + ("\n" + parts["a"] if "a" in parts else "")
    draft = Draft(text, source, block[0][0], id=id)
    for number, line in rest:
        _add(draft, line, number)
    yield draft


def _add(draft: Draft, line: str, number: int) -> None:
    columns = line.split("\t", 6)
    if _is_relation(columns):
        return
    if len(columns) < 5 or not _NUMBER.fullmatch(columns[1]) or not _NUMBER.fullmatch(columns[2]):
        draft.source.add_unexpected(line, "ID<tab>START<tab>END<tab>TEXT<tab>LABEL", number)
    elif columns[0] != draft.id:
        draft.add_problem("malformed", f"{excerpt(line)} belongs to another document than {excerpt(draft.id)}", number)
    else:
        draft.add([(int(columns[1]), int(columns[2]))], columns[4], number, text=columns[3])


def _is_relation(columns: list[str]) -> bool:
    """Whether a line names two concepts, such as D001241, and not a mention whose offsets are no numbers."""
    has_name = len(columns) >= 4 and _RELATION.fullmatch(columns[1]) and not _NUMBER.fullmatch(columns[2])
    return bool(has_name) and all(_CONCEPT.fullmatch(column) for column in columns[2:4])


def _pieces(corpus: Corpus, ids: Iterable[str]) -> Iterator[str]:
    for id, document in zip(ids, corpus, strict=True):
        title, newline, abstract = document.text.partition("\n")
        if "\n" in abstract or title.endswith("\r") or abstract.endswith("\r"):
            raise unwritable(document, "the text has more lines than a title and an abstract", "PubTator")
        yield f"{id}|t|{title}\n" + (f"{id}|a|{abstract}\n" if newline else "")
        for entity in document.entities:
            if entity.span.discontinuous:
                raise unwritable(document, f"the entity {excerpt(entity.text)} is discontinuous", "PubTator")
            if not entity.label.strip() or set(entity.label) & set("\t\r\n"):
                reason = f"the label {excerpt(entity.label)} is empty or holds a tab or a line end"
                raise unwritable(document, reason, "PubTator")
            text = re.sub(r"[\t\r\n]", " ", entity.text)
            yield f"{id}\t{entity.start}\t{entity.end}\t{text}\t{entity.label}\n"
        yield "\n"


FORMAT = Format("pubtator", read, detect, write, endings=(".pubtator",))
