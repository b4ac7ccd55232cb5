"""Label Studio: tasks with annotations and predictions (JSON), or a record for each annotation (JSON-MIN).

    [{"id": 1, "data": {"text": "Ada wrote"}, "annotations": [{"completed_by": 1, "result": [
        {"id": "a", "type": "labels", "from_name": "label", "to_name": "text",
         "value": {"start": 0, "end": 3, "text": "Ada", "labels": ["PER"]}}]}]}]

An annotation is a document. Where a task has several, each annotator's is a document of its own, and the task is
listed; if some are marked as ground truth, these alone are read. Skipped annotations are listed with their regions, and
predictions are counted and left out, as neither is gold. A task without an annotation is no document.

Who annotated, the id of a region, its notes (`meta`) and the relations that begin at it (`relations.py`) are
attributes.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from nearspan.document import Document, Entity
from nearspan.formats.corpus import NOT_GOLD, Problem, excerpt
from nearspan.formats.draft import Draft, have_same_words
from nearspan.formats.format import (
    ATTRIBUTES,
    Format,
    count_changes,
    list_changes,
    plain_text_changes,
    refuse_entities,
)
from nearspan.formats.json_annotations import (
    add_span,
    count_items,
    leave_out_keys,
    objects,
    other_keys,
    read_id,
)
from nearspan.formats.json_values import Malformed, json_type, read_records, to_line
from nearspan.formats.relations import has_id, keeps_relations, relation_attributes, relations_of
from nearspan.formats.source import Source
from nearspan.formats.utf16 import utf16_offsets
from nearspan.io.atomic import write_file

LABELS = ("labels", "hypertextlabels", "paragraphlabels")
_ANNOTATIONS = ("annotations", "completions")  # the older name
_MIN = ("annotation_id", "annotator", "lead_time")
_REGION = ("id", "from_name", "to_name", "type", "value", "score", "origin", "meta", "parentID")
_VALUE = ("start", "end", "text", "startOffset", "endOffset", "globalOffsets", *LABELS)
_KEPT = ("id", "relations", "meta", "annotator")

Region = dict[str, Any]


def read(source: Source) -> Iterator[Draft]:
    """Read the annotations of tasks."""
    return read_records(source, _count_regions, lambda record, name, line: _read_task(record, name, line, source))


def detect(source: Source) -> bool:
    """Whether one of the first records is a task: its data, and annotations or predictions of it."""
    return any(
        isinstance(record, dict)
        and isinstance(record.get("data"), dict)
        and any(isinstance(record.get(key), list) for key in (*_ANNOTATIONS, "predictions"))
        for record in source.first_records
    )


def read_min(source: Source) -> Iterator[Draft]:
    """Read records that hold an annotation each; those of a task stand one after the other, with its id."""
    drafts = read_records(source, _count_min, lambda record, name, line: [_read_min(record, name, line, source)])
    for (id, _), group in groupby(drafts, key=lambda draft: (draft.id, draft.text)):
        of_task = list(group)
        if len(of_task) > 1:
            _list_several(source, id, len(of_task), of_task[0].line)
            for number, draft in enumerate(of_task, 1):
                draft.id = f"{id}#{number}"
        yield from of_task


def detect_min(source: Source) -> bool:
    """Whether one of the first records says who annotated it, and how long that took; regions have lists of labels."""
    return any(
        isinstance(record, dict)
        and sum(key in record for key in _MIN) > 1
        and "data" not in record
        and (any(map(_labels_of, regions := _regions_of_min(record))) or not regions)
        for record in source.first_records
    )


def write(documents: Iterable[Document], path: Path) -> tuple[Problem, ...]:
    """Write an array of tasks with one annotation each; discontinuous entities do not fit."""
    changes: Counter[str] = Counter()
    numbered = enumerate(count_changes(documents, changes, _changes), 1)
    write_file(path, _array(to_line(_task(document, number)) for number, document in numbered))
    return list_changes(path, changes)


def _changes(document: Document) -> dict[str, int]:
    changes = plain_text_changes([document], [document.id], "label-studio")
    return changes | {"scores not kept": 0, ATTRIBUTES: _count_unkept(document)}


def _annotations(record: Any) -> list[dict[str, Any]]:
    items = next((record[key] for key in _ANNOTATIONS if key in record), None) if isinstance(record, dict) else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _results(annotation: Mapping[str, Any]) -> list[Region]:
    items = annotation.get("result")
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _is_region(item: Region) -> bool:
    """Whether a result is a stretch of text with labels, and no choice or rating, not even one about such a stretch."""
    value, kind = item.get("value"), item.get("type")
    if not isinstance(value, dict) or not ("start" in value or "end" in value):
        return False
    return kind is None or kind in LABELS or any(key in value for key in LABELS)


def _labels_of(value: Mapping[str, Any]) -> list[Any]:
    return next((value[key] for key in LABELS if isinstance(value.get(key), list)), [])


def _count_labels(value: Mapping[str, Any]) -> int:
    """How many entities a region is: one for each of its labels; one that has none is lost."""
    return max(len(_labels_of(value)), 1)


def _count_annotation(annotation: Mapping[str, Any]) -> int:
    return sum(_count_labels(item["value"]) for item in _results(annotation) if _is_region(item))


def _count_regions(record: Any) -> int:
    return sum(map(_count_annotation, _annotations(record)))


def _read_task(record: Any, name: str, line: int, source: Source) -> list[Draft]:
    if not isinstance(record, dict) or not isinstance(record.get("data"), dict):
        raise Malformed("expected an object with the data of a task")
    data, annotations = record["data"], _annotations(record)
    id = read_id(data, read_id(record, name))
    if predictions := count_items(record.get("predictions")):
        source.leave_out("predictions, which are no gold", predictions)
    if drafts_left := count_items(record.get("drafts")):
        source.leave_out("drafts of annotations", drafts_left)
    gold: list[dict[str, Any]] = []
    truths = [annotation for annotation in annotations if annotation.get("ground_truth") is True]
    for annotation in annotations:
        skipped = annotation.get("was_cancelled") is True or annotation.get("skipped") is True
        if skipped or (truths and annotation not in truths):
            lost = _count_annotation(annotation)
            reason = "was skipped" if skipped else "is beside one that is marked as ground truth"
            message = f"an annotation of task {excerpt(id)} {reason}; its {lost} regions are no entities"
            source.add_problem(NOT_GOLD, message, line, lost=lost)
        else:
            gold.append(annotation)
    if not annotations:
        source.add_problem(NOT_GOLD, f"task {excerpt(id)} has no annotation; it is no document", line)
    if len(gold) > 1:
        _list_several(source, id, len(gold), line)
    leave_out_keys(data, ("id", "doc_id", "doc_key", _text_key(data, gold)), source)
    return [
        _read_annotation(annotation, data, id if len(gold) == 1 else f"{id}#{number}", line, source)
        for number, annotation in enumerate(gold, 1)
    ]


def _list_several(source: Source, id: str, count: int, line: int) -> None:
    message = f"task {excerpt(id)} has {count} annotations; each is a document of its own"
    source.add_problem("several annotations", message, line)


def _read_annotation(
    annotation: Mapping[str, Any], data: Mapping[str, Any], id: str, line: int, source: Source
) -> Draft:
    text = data.get(_text_key(data, [annotation]))
    if not isinstance(text, str):
        raise Malformed(f"the text is {json_type(text)}, expected a string among the data of the task")
    draft = Draft(text, source, line, id=id)
    results = _results(annotation)
    regions = [item for item in results if _is_region(item)]
    for item in results:
        if not _is_region(item) and item.get("type") != "relation":
            source.leave_out(f"results of the type {excerpt(str(item.get('type')))}")
    named = relation_attributes(_relations(results, draft))
    to_character = _offsets_in(text, [_value(region) for region in regions])
    annotator = _annotator(annotation.get("completed_by"))
    for region in regions:
        value = _value(region)
        id_of_region = region.get("id") if isinstance(region.get("id"), str | int) else None
        attributes = {"id": id_of_region, "relations": named.get(id_of_region), "annotator": annotator}
        attributes["meta"] = region.get("meta") or None
        attributes |= other_keys(value, _VALUE)
        _add_region(draft, value, attributes, to_character, region.get("score"))
    return draft


def _value(region: Region) -> dict[str, Any]:
    """The value of a region; one of hypertext has its offsets in the whole text beside those in an element."""
    value = dict(region["value"])
    offsets = value.get("globalOffsets")
    return value | offsets if isinstance(offsets, dict) else value


def _add_region(
    draft: Draft,
    value: Mapping[str, Any],
    attributes: Mapping[str, Any],
    to_character: Callable[[Any], Any],
    score: Any,
) -> None:
    item = dict(value) | {"start": to_character(value.get("start")), "end": to_character(value.get("end"))}
    for label in _labels_of(value) or [None]:
        add_span(draft, item | {"score": score}, label, attributes)


def _text_key(data: Mapping[str, Any], annotations: Iterable[Mapping[str, Any]]) -> str:
    """The key of the text among the data of a task: the one that most regions agree with, `text` if several do."""
    keys = [key for key, value in data.items() if isinstance(value, str) and key not in ("id", "doc_id", "doc_key")]
    values = [item["value"] for annotation in annotations for item in _results(annotation) if _is_region(item)]
    return max(keys, key=lambda key: (_count_fits(data[key], values, int), key == "text"), default="text")


def _count_fits(text: str, values: Iterable[Mapping[str, Any]], to_character: Callable[[Any], Any]) -> int:
    """How many regions say the characters that the text has there."""
    places = [(value.get("start"), value.get("end"), value.get("text")) for value in values]
    return sum(
        isinstance(said, str)
        and type(start) is int
        and type(end) is int
        and have_same_words(said, text[max(to_character(start), 0) : max(to_character(end), 0)])
        for start, end, said in places
    )


def _offsets_in(text: str, values: Sequence[Mapping[str, Any]]) -> Callable[[Any], Any]:
    """What makes an offset one in characters: some versions count those beyond U+FFFF twice, as JavaScript does."""
    if not (characters := utf16_offsets(text)):
        return lambda offset: offset

    def to_character(offset: Any) -> Any:
        return characters.get(offset, -1) if type(offset) is int else offset

    fits = _count_fits(text, values, lambda offset: offset)
    return to_character if _count_fits(text, values, to_character) > fits else lambda offset: offset


def _relations(results: Iterable[Region], draft: Draft) -> list[tuple[Any, Any, dict[str, Any]]]:
    relations: list[tuple[Any, Any, dict[str, Any]]] = []
    for item in results:
        if item.get("type") == "relation":
            ends = (item.get("from_id"), item.get("to_id"))
            if all(isinstance(end, str | int) for end in ends):
                relations.append((*ends, other_keys(item, ("from_id", "to_id", "type"))))
            else:
                draft.add_problem("malformed", f"found the relation {excerpt(repr(item))}; not read")
    return relations


def _annotator(value: Any) -> Any:
    """Who annotated: a number, or an object with an e-mail address or an id."""
    if isinstance(value, dict):
        return next((value[key] for key in ("email", "username", "id") if value.get(key)), None)
    return value if isinstance(value, str | int) else None


def _regions_of_min(record: Any) -> list[Any]:
    """The regions of all labels of a JSON-MIN record."""
    lists = [value for value in record.values() if isinstance(value, list)] if isinstance(record, dict) else []
    return [item for items in lists for item in items if isinstance(item, dict) and ("start" in item or "end" in item)]


def _count_min(record: Any) -> int:
    return sum(map(_count_labels, _regions_of_min(record)))


def _read_min(record: Any, name: str, line: int, source: Source) -> Draft:
    if not isinstance(record, dict):
        raise Malformed("expected an object with a text and labels")
    regions = _regions_of_min(record)
    other = {key: value for key, value in record.items() if key not in ("created_at", "updated_at", "agreement")}
    key = _text_key(other, [{"result": [{"value": region} for region in regions]}])
    if not isinstance(record.get(key), str):
        raise Malformed("none of its values is a text")
    draft = Draft(record[key], source, line, id=read_id(record, name))
    to_character = _offsets_in(draft.text, regions)
    annotator = _annotator(record.get("annotator"))
    for region in objects(regions, "regions", draft):
        _add_region(draft, region, {"annotator": annotator} | other_keys(region, _VALUE), to_character, None)
    lists = [
        name for name, value in record.items() if isinstance(value, list) and any(map(regions.__contains__, value))
    ]
    ignored = ("id", "doc_id", "doc_key", key, *_MIN, "created_at", "updated_at", "agreement", *lists)
    leave_out_keys(record, ignored, source)
    return draft


def _task(document: Document, number: int) -> dict[str, Any]:
    refuse_entities(document, "label-studio")
    free = (f"r{index}" for index in range(len(document.entities)))
    results: list[Region] = []
    for entity in document.entities:
        name = next(free)
        value = {"start": entity.start, "end": entity.end, "text": entity.text, "labels": [entity.label]}
        region: Region = {"id": entity.attributes["id"] if has_id(entity) else name, "from_name": "label"}
        region |= {"to_name": "text", "type": "labels", "value": value | _further_values(entity)}
        region |= {} if entity.score is None else {"score": entity.score}
        meta = attributes_as_json(entity).get("meta")
        results.append(region | ({"meta": meta} if meta else {}))
    for begin, end, rest in relations_of(document.entities):
        results.append({"type": "relation", "from_id": begin, "to_id": end} | rest)
    annotation: dict[str, Any] = {"result": results}
    annotators = {entity.attributes.get("annotator") for entity in document.entities}
    if len(annotators) == 1 and isinstance(annotator := annotators.pop(), str | int):
        annotation["completed_by"] = annotator
    data = {"text": document.text} | ({"id": document.id} if document.id else {})
    return {"id": number, "data": data, "annotations": [annotation]}


def attributes_as_json(entity: Entity) -> dict[str, Any]:
    """The attributes of an entity as lists and dictionaries."""
    values: dict[str, Any] = entity.to_dict().get("attributes", {})
    return values


def _further_values(entity: Entity) -> dict[str, Any]:
    """The attributes that a region's value has a place for."""
    return {key: value for key, value in attributes_as_json(entity).items() if key not in (*_KEPT, *_VALUE)}


def _count_unkept(document: Document) -> int:
    """How many entities have attributes that are not written."""
    ids = {entity.attributes["id"] for entity in document.entities if has_id(entity)}
    annotators = {entity.attributes.get("annotator") for entity in document.entities}

    def keeps(entity: Entity) -> bool:
        keys = set(entity.attributes) & {*_VALUE}
        annotator = "annotator" not in entity.attributes or len(annotators) == 1
        return (
            not keys
            and annotator
            and keeps_relations(entity, ids)
            and ("id" not in entity.attributes or has_id(entity))
        )

    return sum(not keeps(entity) for entity in document.entities)


def _array(lines: Iterable[str]) -> Iterable[str]:
    yield "[\n"
    for index, line in enumerate(lines):
        yield (",\n" if index else "") + line
    yield "\n]\n"


FORMAT = Format("label-studio", read, detect, write, discontinuous=False, streams=True)
MIN = Format("label-studio-min", read_min, detect_min)
