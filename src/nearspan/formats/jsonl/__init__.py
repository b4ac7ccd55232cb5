"""JSON: one document a line, or one array of documents.

The shape of `Document.to_dict` is written, and read without loss; offsets are half-open characters:

    {"id": "1", "text": "pain in arms and legs", "words": [[0, 4], [5, 7], ...], "sentences": [[0, 21]],
     "entities": [{"text": "pain in legs", "label": "SYMPTOM", "start": 0, "end": 21,
                   "fragments": [[0, 7], [17, 21]], "score": 0.97}]}

Read as well (`records.py`): the same with `start` and `end` or `fragments` alone, without `text` and `score`, as
one writes it by hand; with the keys of HAREM (`doc_id`, `doc_text`, `start_offset`, `end_offset`); with entities as
`[start, end, label]`; `{"tokens": [...], "entities": [[start, end, label]]}` with half-open word indexes; and
`{"sentence": [...], "ner": [{"index": [0, 1, 4], "type": "ADR"}]}`, where a gap in the indexes makes it discontinuous.
"""

from nearspan.formats.format import Format
from nearspan.formats.jsonl.reader import detect, read
from nearspan.formats.jsonl.writer import json_line, write

__all__ = ["FORMAT", "detect", "json_line", "read", "write"]

FORMAT = Format("jsonl", read, detect, write, endings=(".jsonl", ".json", ".ndjson"))
