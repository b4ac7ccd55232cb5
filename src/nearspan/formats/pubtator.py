"""PubTator: a title line, an abstract line, then one tab-separated line for each mention.

    1|t|Aspirin in practice
    1|a|We gave aspirin.
    1	0	7	Aspirin	Chemical	D001241

The text is the title, a newline and the abstract; a document without an abstract line is its title alone.
A blank line ends a document, but not between a title and its abstract.
The concept identifier of a mention is its attribute `identifier`, the column after it `parts` (those of a mention such
as "breast and ovarian cancer"). Relations (`1<tab>CID<tab>D001241<tab>D002`) are left out.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from nearspan.document import Document
from nearspan.formats.corpus import Corpus, Problem, excerpt
from nearspan.formats.draft import Draft, to_corpus
from nearspan.formats.format import Format, list_changes, plain_text_changes, refuse_entities, unwritable
from nearspan.formats.source import Line, Source
from nearspan.io.atomic import write_file

_TEXT = re.compile(r"([^|\t]{1,200})\|([ta])\|(.*)", re.DOTALL)
_NUMBER = re.compile(r"-?\d{1,18}")
_MENTION = re.compile(r"[^\t]*\t-?\d{1,18}\t-?\d{1,18}(?:\t|$)")
_RELATION = re.compile(r"[A-Za-z_]{3,}")
_CONCEPT = re.compile(r"-|.*\d.*")
_ATTRIBUTES = ("identifier", "parts")
_IDENTIFIER = re.compile(r"[^\t\r\n]+")
_PARTS = re.compile(r"[^\r\n]*[^\t\r\n]")
_UNSAFE = re.compile(r"[|\t\r\n]")


def read(source: Source) -> Corpus:
    """Read a file of PubTator documents."""
    source.count(sum(_is_mention(line) for line in source.lines))
    return to_corpus([paper.draft(source) for paper in _papers(source)], source, "pubtator")


def detect(source: Source) -> bool:
    """Whether the first line that is not blank is a title, not JSON, and what follows belongs to a document."""
    first, second, *_ = [*islice((line for line in source.sample_lines if line.strip()), 2), "", ""]
    id, part, _ = _text_of(first)
    if part != "t" or first.lstrip().startswith(('{"', "[{", '["')):
        return False
    if not second or _text_of(second)[0] or second.startswith((f"{id}\t", f"{id} ")):
        return True
    return any(line.startswith(f"{id}|a|") for line in source.sample_lines)


def write(documents: Iterable[Document], path: Path) -> tuple[Problem, ...]:
    """Write the text up to its first newline as the title and the rest as the abstract."""
    changes: Counter[str] = Counter()
    write_file(path, _pieces(documents, changes))
    return list_changes(path, changes)


@dataclass
class _Paper:
    """A document in the making: its texts by what they are, `t` or `a`, and the other lines that belong to it."""

    id: str
    line: int
    parts: dict[str, str]
    lines: list[Line] = field(default_factory=list)

    def draft(self, source: Source) -> Draft:
        """The document, with the mentions of its lines added."""
        text = self.parts.get("t", "") + ("\n" + self.parts["a"] if "a" in self.parts else "")
        draft = Draft(text, source, self.line, id=self.id)
        for number, line in self.lines:
            _add(draft, line, number)
        return draft


def _papers(source: Source) -> list[_Paper]:
    """The documents of a file: a title begins one, as does a text after a blank line, unless the last one lacks it."""
    papers: list[_Paper] = []
    after_blank = True
    for number, (line, following) in enumerate(pairwise([*source.lines, ""]), 1):
        id, part, text = _text_of(line)
        last = papers[-1] if papers else _Paper("", 0, {})
        lacks = id == last.id and part not in last.parts and not (after_blank and _text_of(following)[1] in last.parts)
        if not line.strip():
            after_blank = True
        elif not id and after_blank:
            source.add_unexpected(line, "ID|t|TITLE before it; not read", number, lost=_is_mention(line))
        elif not id:
            last.lines.append((number, line))
        elif lacks:
            last.parts[part] = text
        elif part == "t" or after_blank:
            papers.append(_Paper(id, number, {part: text}))
        else:
            message = f"{excerpt(line)} is a second text or one of another document than {excerpt(last.id)}; not read"
            source.add_problem("malformed", message, number)
        after_blank = after_blank and not id
    return papers


def _text_of(line: str) -> tuple[str, str, str]:
    """The id, `t` or `a`, and the text of a line that is one; of others three times nothing."""
    match = _TEXT.match(line)
    return (match[1], match[2], match[3]) if match else ("", "", "")


def _add(draft: Draft, line: str, number: int) -> None:
    columns = line.split("\t", 6)
    if _is_relation(columns):
        draft.source.leave_out("relations")
        return
    is_mention = _is_mention(line)
    if len(columns) < 5 or not is_mention:
        draft.source.add_unexpected(line, "ID<tab>START<tab>END<tab>TEXT<tab>LABEL", number, lost=is_mention)
    elif columns[0] != draft.id:
        message = f"{excerpt(line)} belongs to another document than {excerpt(draft.id)}"
        draft.add_problem("malformed", message, number, lost=1)
    else:
        attributes = {name: value for name, value in zip(_ATTRIBUTES, columns[5:], strict=False) if value}
        draft.add([(int(columns[1]), int(columns[2]))], columns[4], number, text=columns[3], attributes=attributes)


def _keeps(name: str, value: Any) -> bool:
    """Whether a column of a mention can hold an attribute."""
    may_hold = _PARTS if name == "parts" else _IDENTIFIER
    return name in _ATTRIBUTES and isinstance(value, str) and may_hold.fullmatch(value) is not None


def _is_mention(line: str) -> bool:
    return _MENTION.match(line) is not None and not _text_of(line)[0]


def _is_relation(columns: list[str]) -> bool:
    """Whether a line names two concepts, such as D001241, and not a mention whose offsets are no numbers."""
    has_name = len(columns) >= 4 and _RELATION.fullmatch(columns[1]) and not _NUMBER.fullmatch(columns[2])
    return bool(has_name) and all(_CONCEPT.fullmatch(column) for column in columns[2:4])


def _pieces(documents: Iterable[Document], changes: Counter[str]) -> Iterator[str]:
    for number, document in enumerate(documents, 1):
        id = _UNSAFE.sub("_", document.id)[:200] or str(number)
        changes.update(plain_text_changes([document], [id], "pubtator", _keeps))
        title, newline, abstract = document.text.partition("\n")
        if "\n" in abstract or title.endswith("\r") or abstract.endswith("\r"):
            raise unwritable(document, "the text has more lines than a title and an abstract", "PubTator")
        refuse_entities(document, "PubTator")
        yield f"{id}|t|{title}\n" + (f"{id}|a|{abstract}\n" if newline else "")
        for entity in document.entities:
            text = re.sub(r"[\t\r\n]", " ", entity.text)
            kept = {name: value for name, value in entity.attributes.items() if _keeps(name, value)}
            values = [kept.get(name, "") for name in _ATTRIBUTES]
            columns = (id, str(entity.start), str(entity.end), text, entity.label, *values)
            yield "\t".join(columns).rstrip("\t") + "\n"
        yield "\n"


FORMAT = Format("pubtator", read, detect, write, endings=(".pubtator",), discontinuous=False, streams=True)
