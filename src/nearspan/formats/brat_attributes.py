"""What brat says of an annotation on other lines, as attributes of the entity: attributes, normalisations and notes.

    A1<tab>Negation T1                                  Negation: true
    A2<tab>Confidence T1 High                           Confidence: "High"
    N1<tab>Reference T1 MESH:D001241<tab>Aspirin        identifier: "MESH:D001241", name: "Aspirin"
    #1<tab>AnnotatorNotes T1<tab>is it a brand?         AnnotatorNotes: "is it a brand?"

What is said several times under one name is a list.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from nearspan.document import NO_ATTRIBUTES

IDENTIFIER, NAME = "identifier", "name"
_LINE = re.compile(r"([AN#])\S*\t(\S+) (T\S*)(.*)", re.DOTALL)
_REFERENCE = re.compile(r"[^\s:]+:\S+")
_KEY = re.compile(r"[^\s]+")
_VALUE = re.compile(r"\S+")
_TEXT = re.compile(r"[^\s](?:[^\t\r\n]*[^\s])?")


class BratAttributes:
    """The attributes of a file's annotations, by the names that these have in it.

    >>> attributes = BratAttributes()
    >>> attributes.add("N1\\tReference T1 MESH:D001241\\tAspirin"), attributes.add("A1\\tNegation E1")
    (True, False)
    >>> attributes.pop("T1"), attributes.count_rest()
    ({'identifier': 'MESH:D001241', 'name': 'Aspirin'}, 0)
    """

    def __init__(self) -> None:
        self._by_id: dict[str, dict[str, list[Any]]] = {}

    def add(self, line: str) -> bool:
        """Take a line; false if it says nothing of an annotation of text."""
        match = _LINE.fullmatch(line)
        if match is None:
            return False
        letter, name, id, rest = match.groups()
        values = self._by_id.setdefault(id, {})
        if letter == "N":
            reference, _, text = rest.strip(" ").partition("\t")
            values.setdefault(IDENTIFIER, []).append(reference)
            values.setdefault(NAME, []).append(text)
            if name != "Reference":
                values.setdefault("normalisation", []).append(name)
        else:
            values.setdefault(name, []).append(rest.strip() or (True if letter == "A" else ""))
        return True

    def pop(self, id: str) -> Mapping[str, Any]:
        """The attributes of an annotation; they are its own from then on."""
        values = self._by_id.pop(id, None)
        if values is None:
            return NO_ATTRIBUTES
        if not any(values.get(NAME, ())):
            values.pop(NAME, None)
        return {name: several[0] if len(several) == 1 else several for name, several in values.items()}

    def count_rest(self) -> int:
        """How many values belong to no annotation."""
        return sum(len(values.get(name, ())) for values in self._by_id.values() for name in values if name != NAME)


def keeps(name: str, value: Any) -> bool:
    """Whether lines of brat can hold an attribute: true, or texts that begin and end in no blank, on one line."""
    values = value if isinstance(value, tuple) and len(value) > 1 else (value,)
    return _KEY.fullmatch(name) is not None and all(
        item is True or (isinstance(item, str) and _TEXT.fullmatch(item)) for item in values
    )


def attribute_lines(id: str, attributes: Mapping[str, Any], numbers: Iterator[int]) -> Iterator[str]:
    """The lines that say what the attributes of an annotation say."""
    kept = {name: _several(value) for name, value in attributes.items() if keeps(name, value)}
    references, names = kept.get(IDENTIFIER, ()), kept.get(NAME, ())
    if references and all(map(_is_reference, references)) and len(names) in (0, len(references)):
        del kept[IDENTIFIER]
        kept.pop(NAME, None)
        for reference, name in zip(references, names or [""] * len(references), strict=True):
            yield f"N{next(numbers)}\tReference {id} {reference}\t{name}\n"
    for name, values in kept.items():
        for value in values:
            if value is True:
                yield f"A{next(numbers)}\t{name} {id}\n"
            elif _VALUE.fullmatch(value):
                yield f"A{next(numbers)}\t{name} {id} {value}\n"
            else:
                yield f"#{next(numbers)}\t{name} {id}\t{value}\n"


def _several(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _is_reference(value: Any) -> bool:
    return isinstance(value, str) and _REFERENCE.fullmatch(value) is not None
