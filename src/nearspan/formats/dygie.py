"""SciERC and DyGIE++: a document a line, its sentences as lists of words, and entities by sentence.

    {"doc_key": "1", "sentences": [["Ada", "wrote"], ["Yes"]], "ner": [[[0, 0, "PER"]], []]}

Entities are first word, last word (included) and label; words are counted through the whole document. Relations,
clusters, events and predictions are counted and left out.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

from nearspan.document import Document
from nearspan.formats.corpus import Problem
from nearspan.formats.draft import Draft
from nearspan.formats.format import Format, list_changes
from nearspan.formats.gliner import add_entities
from nearspan.formats.grid import WordGrid, draft_of_words, drop_empty_words, lay_out
from nearspan.formats.json_annotations import count_items, leave_out_keys, read_id
from nearspan.formats.json_values import Malformed, read_records, to_line, write_lines
from nearspan.formats.source import Source


def read(source: Source) -> Iterator[Draft]:
    """Read documents of sentences."""
    return read_records(source, _count, lambda record, name, line: [_read(record, name, line, source)])


def detect(source: Source) -> bool:
    """Whether one of the first records has sentences that are lists of words, and their entities or relations."""
    return any(
        isinstance(record, dict)
        and ("ner" in record or "doc_key" in record)
        and _are_sentences(record.get("sentences"))
        for record in source.first_records
    )


def write(documents: Iterable[Document], path: Path) -> tuple[Problem, ...]:
    """Write documents; an entity stands with the sentence in which it begins. Discontinuous ones do not fit."""
    changes: Counter[str] = Counter()
    write_lines(path, (to_line(_record(grid)) for grid in lay_out(documents, "dygie", changes)))
    return list_changes(path, changes)


def _record(grid: WordGrid) -> dict[str, Any]:
    tokens, begins = grid.tokens, grid.begins
    entities: list[list[list[Any]]] = [[] for _ in begins]
    for first, stop, entity in grid.entities:
        entities[bisect_right(begins, first) - 1].append([first, stop - 1, entity.label])
    sentences = [tokens[begin:end] for begin, end in grid.sentences]
    return {"doc_key": grid.document.id, "sentences": sentences, "ner": entities}


def _are_sentences(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(sentence, list) and all(isinstance(word, str) for word in sentence) for sentence in value
    )


def _by_sentence(record: Any) -> list[Any]:
    value = record.get("ner") if isinstance(record, dict) else None
    return value if isinstance(value, list) else []


def _count(record: Any) -> int:
    return sum(map(count_items, _by_sentence(record)))


def _read(record: Any, name: str, line: int, source: Source) -> Draft:
    if not isinstance(record, dict) or not _are_sentences(record.get("sentences")):
        raise Malformed("expected a list of lists of words under 'sentences'")
    sentences = record["sentences"]
    begins = [0, *accumulate(map(len, sentences))][: len(sentences)]
    words = list(chain.from_iterable(sentences))
    draft = draft_of_words(words, begins, source, line, read_id(record, name))
    by_sentence = _by_sentence(record)
    if len(by_sentence) != len(sentences):
        draft.add_problem("malformed", f"found entities of {len(by_sentence)} sentences, expected {len(sentences)}")
    for entities in by_sentence:
        if not isinstance(entities, list):
            draft.add_problem("malformed", "the entities of a sentence are no list; not read")
        add_entities(draft, entities)
    drop_empty_words(draft)
    leave_out_keys(record, {"id", "doc_id", "doc_key", "sentences", "ner", "dataset"}, source)
    return draft


FORMAT = Format("dygie", read, detect, write, discontinuous=False, streams=True)
