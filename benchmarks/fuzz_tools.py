"""The files of annotation tools and libraries that `fuzz.py` damages, made from its documents.

JSON is made as each tool writes it; `.spacy` and parquet files are made by spaCy and pyarrow.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from io import BytesIO
from random import Random
from typing import Any

Shape = tuple[list[str], str, str, str]


def to_rows(document: Any, _: Random) -> dict[str, Any]:
    """A row of words and tags."""
    tags = ["O"] * len(document.words)
    for [(first, last)], label in document.entities:
        tags[first : last + 1] = [f"B-{label}"] + [f"I-{label}"] * (last - first)
    return {"id": document.id, "tokens": document.words, "ner_tags": tags}


def inclusive(document: Any) -> list[list[Any]]:
    return [[first, last, label] for [(first, last)], label in document.entities]


def to_gliner(document: Any, _: Random) -> dict[str, Any]:
    return {"tokenized_text": document.words, "ner": inclusive(document)}


def to_dygie(document: Any, chance: Random) -> dict[str, Any]:
    """Two sentences where a cut is inside no entity."""
    cut = chance.randrange(len(document.words))
    if any(first < cut <= last for [(first, last)], _ in document.entities):
        cut = 0
    entities = inclusive(document)
    ner = [[entity for entity in entities if entity[0] < cut], [entity for entity in entities if entity[0] >= cut]]
    return {"doc_key": document.id, "sentences": [document.words[:cut], document.words[cut:]], "ner": ner}


def to_langextract(document: Any, chance: Random) -> dict[str, Any]:
    extractions = [
        {
            "extraction_class": label,
            "extraction_text": document.text[start:end],
            "char_interval": None if chance.random() < 0.05 else {"start_pos": start, "end_pos": end},
            "alignment_status": chance.choice(("match_exact", "match_fuzzy", None)),
            "group_index": chance.randrange(3),
            "attributes": chance.choice((None, {"note": "x"})),
        }
        for start, end, label in document.flat()
    ]
    return {"extractions": extractions, "text": document.text, "document_id": document.id}


def spans(document: Any) -> list[dict[str, Any]]:
    return [{"start": start, "end": end, "label": label} for start, end, label in document.flat()]


def to_prodigy(document: Any, chance: Random) -> dict[str, Any]:
    further = chance.choice(({}, {"_input_hash": 1, "_task_hash": 2, "_session_id": "a"}))
    return {"text": document.text, "spans": spans(document), "answer": "accept"} | further


def to_label_studio(document: Any, chance: Random) -> dict[str, Any]:
    results: list[dict[str, Any]] = [
        {
            "id": f"r{start}",
            "from_name": "label",
            "to_name": "text",
            "type": "labels",
            "value": {"start": start, "end": end, "text": document.text[start:end], "labels": [label]},
        }
        for start, end, label in document.flat()
    ]
    if len(results) > 1 and chance.random() < 0.5:
        results.append({"type": "relation", "from_id": results[0]["id"], "to_id": results[1]["id"]})
    annotations = [{"id": 1, "completed_by": 1, "was_cancelled": False, "result": results}]
    return {"id": int(document.id), "data": {"text": document.text}, "annotations": annotations, "predictions": []}


def to_label_studio_min(document: Any, _: Random) -> dict[str, Any]:
    labels = [{"start": start, "end": end, "labels": [label]} for start, end, label in document.flat()]
    return {"id": 1, "text": document.text, "label": labels, "annotator": 1, "annotation_id": 2, "lead_time": 1.5}


def to_doccano(document: Any, chance: Random) -> dict[str, Any]:
    record = {"id": int(document.id), "text": document.text, "Comments": []}
    if chance.random() < 0.5:
        return record | {"label": [list(place) for place in document.flat()]}
    entities = [
        {"id": number, "label": label, "start_offset": start, "end_offset": end}
        for number, (start, end, label) in enumerate(document.flat(), 1)
    ]
    return record | {"entities": entities, "relations": [{"id": 1, "from_id": 1, "to_id": len(entities), "type": "x"}]}


def to_argilla(document: Any, chance: Random) -> dict[str, Any]:
    if chance.random() < 0.3:
        annotation = [[label, start, end] for start, end, label in document.flat()]
        return {"text": document.text, "annotation": annotation, "annotation_agent": "a", "status": "Validated"}
    answer = {"value": spans(document), "user_id": "00000000-0000-0000-0000-000000000001"}
    return {"id": document.id, "fields": {"text": document.text}, "responses": {"span": [answer]}, "suggestions": {}}


def to_spacy_json(document: Any, chance: Random) -> Any:
    kind = chance.randrange(4)
    if kind == 0:
        return {"text": document.text, "ents": spans(document), "tokens": []}
    if kind == 1:
        return {"text": document.text, "ents": spans(document)[:1], "spans": {"sc": spans(document)}}
    if kind == 2:
        return [document.text, {"entities": [list(place) for place in document.flat()]}]
    row = to_rows(document, chance)
    tokens = [{"orth": word, "ner": tag} for word, tag in zip(row["tokens"], row["ner_tags"], strict=True)]
    return {"id": 1, "paragraphs": [{"raw": document.text, "sentences": [{"tokens": tokens}]}]}


RECORDS: dict[str, Callable[[Any, Random], Any]] = {
    "ner-tags": to_rows,
    "gliner": to_gliner,
    "dygie": to_dygie,
    "langextract": to_langextract,
    "prodigy": to_prodigy,
    "label-studio": to_label_studio,
    "label-studio-min": to_label_studio_min,
    "doccano": to_doccano,
    "argilla": to_argilla,
    "spacy-json": to_spacy_json,
}


def to_shape(name: str) -> Callable[[list[Any], Random], Shape]:
    """What makes documents records of a format, a line each or in an array."""

    def make(documents: list[Any], chance: Random) -> Shape:
        plain = chance.random() < 0.5
        lines = [json.dumps(RECORDS[name](document, chance), ensure_ascii=plain) for document in documents]
        return (lines, "[", ",\n", "]\n") if chance.random() < 0.4 else (lines, "", "\n", "\n")

    return make


SHAPES = {name: to_shape(name) for name in RECORDS}


def to_spacy(documents: list[Any], chance: Random, damage: Callable[[bytes, Random], bytes] | None) -> bytes:
    """A DocBin, damaged as a whole or below its compression."""
    from spacy.tokens import Doc, DocBin, Span
    from spacy.vocab import Vocab

    vocab, file = Vocab(), DocBin(store_user_data=True)
    for document in documents:
        doc = Doc(vocab, words=document.words, spaces=[True] * (len(document.words) - 1) + [False])
        entities = [Span(doc, first, last + 1, label) for [(first, last)], label in document.entities]
        if chance.random() < 0.5:
            doc.set_ents(entities)
        else:
            doc.spans["sc"] = entities
        file.add(doc)
    data = file.to_bytes()
    if damage is None:
        return data
    return zlib.compress(damage(zlib.decompress(data), chance)) if chance.random() < 0.7 else damage(data, chance)


def to_parquet(documents: list[Any], chance: Random, damage: Callable[[bytes, Random], bytes] | None) -> bytes:
    """A parquet file with tags as names or as numbers."""
    import pyarrow
    import pyarrow.parquet

    rows = [to_rows(document, chance) for document in documents]
    metadata: dict[str, str] = {}
    if chance.random() < 0.5:
        names = sorted({tag for row in rows for tag in row["ner_tags"]})
        rows = [row | {"ner_tags": [names.index(tag) for tag in row["ner_tags"]]} for row in rows]
        feature = {"feature": {"names": names, "_type": "ClassLabel"}, "_type": "Sequence"}
        metadata = {"huggingface": json.dumps({"info": {"features": {"ner_tags": feature}}})}
    stream = BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows).replace_schema_metadata(metadata), stream)
    data = stream.getvalue()
    return data if damage is None else damage(data, chance)


BINARY = {"spacy": to_spacy, "parquet": to_parquet}
