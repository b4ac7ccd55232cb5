r"""OBO ontologies: stanzas of `tag: value` lines.

    [Term]
    id: HEART:12
    name: myocardial infarction
    synonym: "heart attack" EXACT []

Only `[Term]` stanzas are read, obsolete ones left out. `name` is always a name; a synonym is one if its scope is asked
for (RELATED where it gives none). The tags of the first version, such as `exact_synonym`, are read as well.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from nearspan.formats.corpus import excerpt
from nearspan.formats.source import Line, Lines
from nearspan.formats.synonyms.line_formats import Concept

SCOPES = ("EXACT", "NARROW", "BROAD", "RELATED")

_STANZA = re.compile(r"\[\w+\]\s*(?:!.*)?")
_TAG = re.compile(r"([\w-]+):(.*)", re.DOTALL)
_SYNONYM = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*([A-Za-z]*)', re.DOTALL)
_OLD = {f"{scope.lower()}_synonym": scope for scope in SCOPES} | {"synonym": ""}
_AFTER = re.compile(r"(?:\s\{[^{}]*=[^{}]*\})?\s*(?:(?<=\s)!.*)?$", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "W": " "}


@dataclass
class _Term:
    id: str = ""
    names: list[str] = field(default_factory=list)
    synonyms: list[str] = field(default_factory=list)
    obsolete: bool = False


def detect(lines: Lines) -> bool:
    """Whether the first lines give a format version, as OBO's header does, or begin a term."""
    return any(line.startswith(("format-version:", "[Term]")) for _, line in lines.head)


def read(lines: Lines, scopes: Collection[str]) -> Iterator[Concept]:
    """Read the terms with their name and the synonyms of some scopes."""
    term: _Term | None = None
    for number, line in _join_lines(lines):
        if _STANZA.fullmatch(line):
            yield from _concept(term)
            term = _Term() if line.startswith("[Term]") else None
        elif term is not None and line.strip() and not line.startswith("!"):
            _add(term, line, number, scopes, lines)
    yield from _concept(term)


def _join_lines(lines: Lines) -> Iterator[Line]:
    r"""The lines, each joined with the next where it ends in a backslash that is not escaped."""
    begun: Line | None = None
    for number, line in lines:
        first, text = (begun[0], begun[1] + line) if begun else (number, line)
        open_end = (len(text) - len(text.rstrip("\\"))) % 2 == 1
        begun = (first, text[:-1]) if open_end else None
        if begun is None:
            yield first, text
    if begun is not None:
        yield begun


def _add(term: _Term, line: str, number: int, scopes: Collection[str], lines: Lines) -> None:
    """Take what one line says about a term."""
    match = _TAG.fullmatch(line)
    if match is None:
        lines.add_unexpected(line, "TAG: VALUE; not read", number)
        return
    tag, value = match[1], match[2]
    if tag == "id":
        term.id = value.strip()
    elif tag == "is_obsolete":
        term.obsolete = _AFTER.sub("", value).strip().lower() == "true"
    elif tag == "name":
        term.names.append(_unescape(_AFTER.sub("", value).strip()))
    elif tag in _OLD:
        _add_synonym(term, tag, value, number, scopes, lines)


def _add_synonym(term: _Term, tag: str, value: str, number: int, scopes: Collection[str], lines: Lines) -> None:
    match = _SYNONYM.match(value)
    if match is None:
        lines.add_unexpected(value.strip(), '"NAME" SCOPE [...]; not read', number)
        return
    scope = _OLD[tag] or match[2] or "RELATED"
    if scope not in SCOPES:
        lines.add_problem("malformed", f"the scope {excerpt(scope)} is none of {', '.join(SCOPES)}; not read", number)
    elif scope in scopes:
        term.synonyms.append(_unescape(match[1]))


def _concept(term: _Term | None) -> Iterator[Concept]:
    if term is not None and not term.obsolete and (names := term.names + term.synonyms):
        yield term.id, names


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), text)
