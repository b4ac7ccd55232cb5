"""Entities in the shape that transformers' token classification pipelines give."""

from typing import Any

from nearspan.document import Document


def to_pipeline(document: Document) -> list[dict[str, Any]]:
    """The entities of a document as transformers' pipelines give them with an aggregation strategy.

    A discontinuous entity has its `fragments` too: `start` and `end` are then those of the first and of the last.

    >>> from nearspan.document import Entity
    >>> to_pipeline(Document("Ada left Oslo.", (Entity.of(9, 13, "PLACE", 0.97),)))
    [{'entity_group': 'PLACE', 'score': 0.97, 'word': 'Oslo', 'start': 9, 'end': 13}]
    """
    records = []
    for entity in document.entities:
        record: dict[str, Any] = {
            "entity_group": entity.label,
            "score": entity.score,
            "word": entity.text,
            "start": entity.start,
            "end": entity.end,
        }
        if entity.span.discontinuous:
            record["fragments"] = [list(fragment) for fragment in entity.fragments]
        records.append(record)
    return records
