"""Rows of words and tags, as Hugging Face datasets have them: `tokens`, and `ner_tags` as names or as numbers of names.

    {"id": "1", "tokens": ["Ada", "wrote"], "ner_tags": ["B-PER", "O"]}

A row is a document. `sentences`, which we write where there are several, are the numbers of their first words.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

from nearspan.document import Document
from nearspan.formats.corpus import excerpt
from nearspan.formats.draft import Draft
from nearspan.formats.format import unwritable
from nearspan.formats.grid import draft_of_words, drop_empty_words, lay_out
from nearspan.formats.json_annotations import leave_out_keys, read_id
from nearspan.formats.json_values import Malformed
from nearspan.formats.source import Source
from nearspan.formats.tags import (
    OUTSIDE,
    SequenceCheck,
    Tag,
    chunks,
    count_entities,
    is_bare_label,
    is_labelled,
    parse_all,
)

WORDS = ("tokens", "words")
TAGS = ("ner_tags", "ner", "tags", "labels")
ENTITIES = ("entities", "spans")  # beside these, tags are another way to say the same


def is_row(record: Any) -> bool:
    """Whether a record has words and as many tags.

    >>> is_row({"tokens": ["Ada"], "ner_tags": ["B-PER"]}), is_row({"tokens": ["Ada"], "entities": []})
    (True, False)
    """
    if not isinstance(record, Mapping) or any(key in record for key in ENTITIES):
        return False
    words, tags = words_and_tags(record)
    return bool(words) and tags is not None and len(words or ()) == len(tags)


def words_and_tags(record: Mapping[str, Any]) -> tuple[list[str] | None, list[Any] | None]:
    """The words of a row and its tags, None where it has no list of strings, or of strings or of whole numbers."""
    words = next((record[key] for key in WORDS if _all(record.get(key), str)), None)
    tags = next((record[key] for key in TAGS if _all(record.get(key), str) or _all(record.get(key), int)), None)
    return words, tags


@dataclass
class TaggedRows:
    """Makes drafts of rows; `finish` is called when all have been read.

    `names` are those of tags that are numbers. `bare` tags are labels without a prefix.
    """

    source: Source
    names: Sequence[str] | None = None
    bare: bool = False
    _sequences: SequenceCheck = field(default_factory=SequenceCheck)
    _first_bare: int | None = None  # the line of the first entity that has a bare label

    def count(self, record: Any) -> int:
        """How many entities a row has, those that are lost with unknown tags included."""
        words, tags = words_and_tags(record) if isinstance(record, Mapping) else (None, None)
        if words is None or tags is None:
            return 0
        known = [self._parse(tag) for tag in tags]
        return count_entities([tag or OUTSIDE for tag in known]) + sum(tag is None for tag in known)

    def read(self, record: Any, name: str, line: int) -> Draft:
        """A row as a draft."""
        words, tags = words_and_tags(record) if isinstance(record, Mapping) else (None, None)
        if words is None or tags is None:
            raise Malformed("expected words under 'tokens' and their tags under 'ner_tags'")
        if len(words) != len(tags):
            raise Malformed(f"found {len(words)} words and {len(tags)} tags")
        begins = record.get("sentences")
        if begins is not None and not (_all(begins, int) and all(a < b for a, b in pairwise([-1, *begins]))):
            self.source.add_problem("malformed", "the sentences are no numbers of words in order; not read", line)
            begins = None
        draft = draft_of_words(words, begins or [0], self.source, line, read_id(record, name))
        parsed = [self._parse(tag) for tag in tags]
        for word, tag in ((word, tag) for word, tag, known in zip(words, tags, parsed, strict=True) if known is None):
            draft.add_problem("unknown tag", f"{excerpt(repr(tag))} at {excerpt(word)}; read as O", lost=1)
        self._add_entities(draft, [tag or OUTSIDE for tag in parsed])
        leave_out_keys(record, {*WORDS, *TAGS, "id", "doc_id", "doc_key", "sentences"}, self.source)
        return draft

    def finish(self) -> None:
        """List what could be known only once there are many tags."""
        if self._first_bare is not None:
            message = "labels without B- or I-: words in a row with the same label are read as one entity"
            self.source.add_problem("no prefix", message, self._first_bare)
        self._sequences.finish()

    def _add_entities(self, draft: Draft, tags: Sequence[Tag]) -> None:
        words = draft.words or ()
        self._sequences.count(tag.prefix for tag in tags)
        for chunk in chunks(tags):
            if self.bare:
                self._first_bare = self._first_bare or draft.line
            else:
                self._sequences.add(chunk, partial(draft.add_problem, "bad sequence"))
            draft.add_words([(chunk.first, chunk.stop)], words, chunk.label)
        drop_empty_words(draft)

    def _parse(self, tag: Any) -> Tag | None:
        """A tag, or None if it is none."""
        if isinstance(tag, int):
            name = self.names[tag] if self.names is not None and 0 <= tag < len(self.names) else None
        else:
            name = tag
        tags = () if name is None else parse_all(name, self.bare)
        return tags[0] if len(tags) == 1 else None


def are_bare(names: Iterable[Any]) -> bool:
    """Whether some of the tags are labels, and none has a prefix.

    >>> are_bare(["O", "PER"]), are_bare(["O", "B-PER"]), are_bare(["O"])
    (True, False, False)
    """
    texts = {name for name in names if isinstance(name, str)} - {"O"}
    return any(map(is_bare_label, texts)) and not any(map(is_labelled, texts))


def rows(documents: Iterable[Document], format: str, changes: Counter[str]) -> Iterator[dict[str, Any]]:
    """Documents as rows; what they lose by that is counted in `changes`."""
    for grid in lay_out(documents, format, changes):
        tags = ["O"] * len(grid.words)
        for first, stop, entity in grid.entities:
            if any(tag != "O" for tag in tags[first:stop]):
                reason = f"the entity {excerpt(entity.text)} shares words with another"
                instead = "jsonl or conll instead, or say with `unfit` what becomes of such entities"
                raise unwritable(grid.document, reason, format, instead)
            if len(parse_all(f"B-{entity.label}")) != 1:
                raise unwritable(grid.document, f"the label {excerpt(entity.label)} would be read as several", format)
            tags[first:stop] = [f"B-{entity.label}"] + [f"I-{entity.label}"] * (stop - first - 1)
        record = {"id": grid.document.id, "tokens": grid.tokens, "ner_tags": tags}
        yield record | {"sentences": grid.begins} if len(grid.begins) > 1 else record


def tag_names(records: Iterable[Mapping[str, Any]]) -> list[str]:
    """All tags, `O` first, then by label, so that the same labels have the same numbers.

    >>> tag_names([{"ner_tags": ["B-PER", "O", "B-LOC"]}])
    ['O', 'B-LOC', 'I-LOC', 'B-PER', 'I-PER']
    """
    labels = sorted({tag[2:] for record in records for tag in record["ner_tags"] if tag != "O"})
    return ["O", *(f"{prefix}-{label}" for label in labels for prefix in "BI")]


def names_of(features: Any) -> Iterator[list[str]]:
    """The names of tags in the description of a dataset's columns: those of the first column that has tags."""
    for key in TAGS:
        with suppress(KeyError, TypeError, AttributeError):
            column = features[key]
            inner = column[0] if isinstance(column, list) else column.get("feature", column)
            names = inner["names"]
            if _all(names, str):
                yield list(names)


def _all(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(type(item) is kind for item in value)
