"""spaCy's JSON: what `Doc.to_json` gives, the training format of its version 2, and training tuples.

    {"text": "Ada wrote", "ents": [{"start": 0, "end": 3, "label": "PER"}], "tokens": [...], "sents": [...]}
    [{"id": 0, "paragraphs": [{"raw": "Ada wrote", "sentences": [{"tokens": [{"orth": "Ada", "ner": "U-PER"}, ...]}]}]}]
    ["Ada wrote", {"entities": [[0, 3, "PER"]]}]

Entities of span groups have these in their attribute `groups`; "ents" is among them where an entity is there too. A
knowledge base identifier is the attribute `kb_id`. Dependencies, tags and categories are counted and left out.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

from nearspan.document import Document
from nearspan.formats.corpus import Problem, excerpt
from nearspan.formats.draft import Draft
from nearspan.formats.format import Format, count_scores, list_changes, refuse_entities
from nearspan.formats.grid import draft_of_words, drop_empty_words
from nearspan.formats.json_annotations import (
    add_span,
    leave_out_keys,
    other_keys,
    read_id,
    read_offsets,
    read_text,
)
from nearspan.formats.json_values import Malformed, read_records, to_line, write_lines
from nearspan.formats.source import Source
from nearspan.formats.spacy_tokens import SpacyTokens, count_unkept, place
from nearspan.formats.tags import OUTSIDE, chunks, count_entities, parse

_DOC = ("id", "doc_id", "doc_key", "text", "ents", "spans", "sents", "tokens", "title", "settings")
_SPAN = ("start", "end", "label", "text")


def read(source: Source) -> Iterator[Draft]:
    """Read documents of any of the three shapes."""
    return read_records(source, _count, lambda record, name, line: list(_read(record, name, line, source)))


def detect(source: Source) -> bool:
    """Whether one of the first records has one of the three shapes."""
    return any(_is_doc(record) or _is_version_2(record) or _is_tuple(record) for record in source.first_records)


def write(documents: Iterable[Document], path: Path) -> tuple[Problem, ...]:
    """Write what `Doc.to_json` would give, for `Doc.from_json` to read; discontinuous entities do not fit."""
    changes: Counter[str] = Counter()
    write_lines(path, (to_line(_doc(document, changes)) for document in documents))
    return list_changes(path, changes)


def _is_doc(record: Any) -> bool:
    return isinstance(record, dict) and isinstance(record.get("text"), str) and _spans_by_group(record) is not None


def _is_version_2(record: Any) -> bool:
    paragraphs = record.get("paragraphs") if isinstance(record, dict) else None
    return isinstance(paragraphs, list) and any(
        isinstance(paragraph, dict) and isinstance(paragraph.get("sentences"), list) for paragraph in paragraphs
    )


def _is_tuple(record: Any) -> bool:
    if isinstance(record, dict) and isinstance(record.get("annotations"), list):  # as the web page ner-annotator has it
        return any(map(_is_tuple, record["annotations"]))
    right = isinstance(record, list) and len(record) == 2 and isinstance(record[0], str) and isinstance(record[1], dict)
    return right and ("entities" in record[1] or isinstance(record[1].get("spans"), dict))


def _spans_by_group(record: dict[str, Any]) -> list[tuple[str, Any]] | None:
    """The spans of a document with the groups that they are in; None if it has neither `ents` nor groups."""
    ents, groups = record.get("ents"), record.get("spans")
    has_groups = isinstance(groups, dict) and all(isinstance(items, list) for items in groups.values())
    if not isinstance(ents, list) and not has_groups:
        return None
    spans = [("ents", item) for item in ents] if isinstance(ents, list) else []
    return (
        spans + [(name, item) for name, items in groups.items() for item in items] if has_groups and groups else spans
    )


def _tuples(record: Any) -> list[Any]:
    return record["annotations"] if isinstance(record, dict) else [record]


def _count(record: Any) -> int:
    if _is_version_2(record):
        return sum(_count_paragraph(paragraph) for paragraph in record["paragraphs"])
    if _is_tuple(record):
        return sum(len(_merge(_spans_of_tuple(item))) for item in _tuples(record))
    return len(_merge(_spans_by_group(record) or [])) if isinstance(record, dict) else 0


def _read(record: Any, name: str, line: int, source: Source) -> Iterator[Draft]:
    if _is_version_2(record):
        id = read_id(record, name)
        paragraphs = record["paragraphs"]
        for number, paragraph in enumerate(paragraphs, 1):
            yield _read_paragraph(paragraph, id if len(paragraphs) == 1 else f"{id}/{number}", line, source)
    elif _is_tuple(record):
        items = _tuples(record)
        for number, item in enumerate(items, 1):
            yield from _read_tuple(item, name if len(items) == 1 else f"{name}/{number}", line, source)
    elif _is_doc(record):
        yield _read_doc(record, name, line, source)
    else:
        raise Malformed("expected a text with 'ents', paragraphs of sentences, or [text, {'entities': [...]}]")


def _read_doc(record: dict[str, Any], name: str, line: int, source: Source) -> Draft:
    draft = Draft(read_text(record["text"]), source, line, id=read_id(record, name))
    draft.words = read_offsets(record.get("tokens"), "tokens", draft)
    sentences = read_offsets(record.get("sents"), "sentences", draft)
    if sentences is not None:
        draft.sentences = [_strip(draft.text, start, end) for start, end in sentences]
    _add_spans(draft, _spans_by_group(record) or [])
    leave_out_keys(record, _DOC, source)
    return draft


def _strip(text: str, start: int, end: int) -> tuple[int, int]:
    """A stretch without the blanks at its ends."""
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), start + len(part.rstrip())


def _merge(spans: Iterable[tuple[str, Any]]) -> list[tuple[list[str], Any]]:
    """Spans with all the groups that they are in; what is in one group twice stays twice."""
    merged: dict[str, list[tuple[list[str], Any]]] = {}
    for group, item in spans:
        values = [item.get(key) for key in _SPAN[:3]] if isinstance(item, dict) else item
        same = merged.setdefault(repr(values), [])
        free = next((names for names, _ in same if group not in names), None)
        if free is None:
            same.append(([group], item))
        else:
            free.append(group)
    return [entry for entries in merged.values() for entry in entries]


def _add_spans(draft: Draft, spans: Iterable[tuple[str, Any]]) -> None:
    for groups, item in _merge(spans):
        attributes = {} if groups == ["ents"] else {"groups": groups}
        if isinstance(item, list) and len(item) == 3:
            add_span(draft, {"start": item[0], "end": item[1]}, item[2], attributes)
        elif isinstance(item, dict):
            add_span(draft, item, item.get("label"), attributes | other_keys(item, _SPAN))
        else:
            draft.add_problem("malformed", f"found {excerpt(repr(item))}, expected [start, end, label]", lost=1)


def _spans_of_tuple(item: Any) -> list[tuple[str, Any]]:
    if not _is_tuple(item) or not isinstance(item, list):
        return []
    entities, groups = item[1].get("entities"), item[1].get("spans")
    spans = [("ents", span) for span in entities] if isinstance(entities, list) else []
    for name, items in groups.items() if isinstance(groups, dict) else ():
        spans += [(name, span) for span in items] if isinstance(items, list) else []
    return spans


def _read_tuple(item: Any, name: str, line: int, source: Source) -> Iterator[Draft]:
    if not isinstance(item, list) or not _is_tuple(item):
        source.add_unexpected(repr(item), "[text, {'entities': [...]}]; not read", line)
        return
    draft = Draft(item[0], source, line, id=name)
    _add_spans(draft, _spans_of_tuple(item))
    leave_out_keys(item[1], ("entities", "spans"), source)
    yield draft


def _sentences(paragraph: Any) -> list[list[dict[str, Any]]]:
    """The tokens of a paragraph's sentences."""
    sentences = paragraph.get("sentences") if isinstance(paragraph, dict) else None
    tokens = [sentence.get("tokens") for sentence in sentences or () if isinstance(sentence, dict)]
    return [[token for token in part if isinstance(token, dict)] for part in tokens if isinstance(part, list)]


def _tags(paragraph: Any) -> list[str]:
    return [str(token.get("ner") or "O") for tokens in _sentences(paragraph) for token in tokens]


def _count_paragraph(paragraph: Any) -> int:
    """How many entities the tags of a paragraph begin, and the tags that are none."""
    tags = [OUTSIDE if tag == "-" else parse(tag) for tag in _tags(paragraph)]
    in_tags = count_entities([tag or OUTSIDE for tag in tags]) + tags.count(None)
    return len(_merge(_spans_of_paragraph(paragraph))) or in_tags


def _spans_of_paragraph(paragraph: Any) -> list[tuple[str, Any]]:
    """The entities that a paragraph lists, beside the tags of its words, which say the same."""
    entities = paragraph.get("entities") if isinstance(paragraph, dict) else None
    return [("ents", item) for item in entities] if isinstance(entities, list) else []


def _read_paragraph(paragraph: Any, id: str, line: int, source: Source) -> Draft:
    if not isinstance(paragraph, dict):
        raise Malformed("expected a paragraph with sentences")
    sentences = _sentences(paragraph)
    words = [str(token.get("orth", "")) for tokens in sentences for token in tokens]
    begins = [0, *accumulate(map(len, sentences))][: len(sentences)]
    draft = draft_of_words(words, begins, source, line, id)
    raw = paragraph.get("raw")
    if isinstance(raw, str):
        offsets = _find(words, raw)
        if offsets is None:
            draft.add_problem("misaligned", "the words are not those of the raw text; the text is read from the words")
        else:
            ends = [*begins[1:], len(words)]
            draft = Draft(raw, source, line, id=id, words=offsets)
            draft.sentences = [(offsets[a][0], offsets[b - 1][1]) for a, b in zip(begins, ends, strict=True) if a < b]
    tags = [tag if tag != "-" else "O" for tag in _tags(paragraph)]
    if unknown := sum(tag == "-" for tag in _tags(paragraph)):
        source.leave_out("words of which nobody has said what they are (-)", unknown)
    for word, tag in zip(words, tags, strict=True):
        if parse(tag) is None and not _spans_of_paragraph(paragraph):
            draft.add_problem("unknown tag", f"{excerpt(tag)} at {excerpt(word)}; read as O", lost=1)
    spans = _spans_of_paragraph(paragraph)
    _add_spans(draft, spans)
    tagged = chunks([parse(tag) or OUTSIDE for tag in tags])
    if not spans:
        for chunk in tagged:
            draft.add_words([(chunk.first, chunk.stop)], draft.words or (), chunk.label)
    elif len(tagged) > len(_merge(spans)):
        message = f"its words have tags of {len(tagged)} entities, and it lists {len(spans)}; the tags are not read"
        draft.add_problem("malformed", message)
    drop_empty_words(draft)
    leave_out_keys(paragraph, ("raw", "sentences", "entities", "id"), source)
    return draft


def _find(words: Iterable[str], text: str) -> list[tuple[int, int]] | None:
    """Where words are in a text, one after another with nothing but blanks between them; None if they are not."""
    offsets: list[tuple[int, int]] = []
    at = 0
    for word in words:
        start = text.find(word, at)
        if start < 0 or text[at:start].strip():
            return None
        at = start + len(word)
        offsets.append((start, at))
    return None if text[at:].strip() else offsets


def _doc(document: Document, changes: Counter[str]) -> dict[str, Any]:
    """A document, and what is not kept of it counted in `changes`."""
    refuse_entities(document, "spacy-json")
    tokens = SpacyTokens.of(document)
    changes.update(count_unkept([document], ["kb_id"]))
    changes.update(tokens.changes)
    changes["scores not kept"] += count_scores([document])
    record: dict[str, Any] = {"id": document.id} if document.id else {}
    record["text"] = document.text
    groups = place(document)
    record["ents"] = [_span(entity) for entity in groups.pop("")]
    if tokens.sentence_starts is not None:
        ends = [*tokens.sentence_starts[1:], len(tokens.offsets)]
        record["sents"] = [
            {"start": tokens.offsets[first][0], "end": tokens.offsets[stop - 1][1]}
            for first, stop in zip(tokens.sentence_starts, ends, strict=True)
            if first < stop
        ]
    record["tokens"] = [{"id": index, "start": a, "end": b} for index, (a, b) in enumerate(tokens.offsets)]
    if groups:
        record["spans"] = {name: [_span(entity) for entity in entities] for name, entities in groups.items()}
    return record


def _span(entity: Any) -> dict[str, Any]:
    kb_id = entity.attributes.get("kb_id")
    span = {"start": entity.start, "end": entity.end, "label": entity.label}
    return span | {"kb_id": kb_id} if isinstance(kb_id, str) else span


FORMAT = Format("spacy-json", read, detect, write, discontinuous=False, streams=True)
