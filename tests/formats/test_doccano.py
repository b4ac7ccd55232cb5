"""doccano, with relations."""

import json
from collections.abc import Callable
from pathlib import Path

from nearspan.formats import read, write
from nearspan.formats.markup import parse

Put = Callable[..., Path]

RECORD = {
    "id": 1,
    "text": "Ada in Oslo",
    "entities": [
        {"id": 7, "label": "PER", "start_offset": 0, "end_offset": 3},
        {"id": 8, "label": "LOC", "start_offset": 7, "end_offset": 11},
    ],
    "relations": [{"id": 3, "from_id": 7, "to_id": 8, "type": "in"}],
    "Comments": ["why?"],
}


def test_relations_are_attributes_and_comments_are_counted(put: Put):
    corpus = read(put("a", json.dumps(RECORD)))
    person, place = corpus[0].entities
    assert person.to_dict()["attributes"] == {"id": 7, "relations": [{"to": 8, "id": 3, "type": "in"}]}
    assert place.attributes == {"id": 8}
    assert [problem.message for problem in corpus.problems] == ["comments: 1"]


def test_plain_entities_are_written_as_triples(tmp_path: Path):
    write([parse("[Ada](PER) wrote")], tmp_path / "a", "doccano")
    assert json.loads((tmp_path / "a").read_text())["label"] == [[0, 3, "PER"]]


def test_relations_of_unknown_ends_are_said_not_to_be_kept(put: Put, tmp_path: Path):
    record = RECORD | {"entities": RECORD["entities"][:1]}
    changes = write(read(put("a", json.dumps(record))), tmp_path / "b", "doccano")
    assert [change.message for change in changes] == ["entities whose attributes are not kept: 1"]


def test_what_is_no_entity_is_listed(put: Put):
    corpus = read(put("a", json.dumps({"text": "Ada", "label": [[0, 3], 7, [0, 3, "PER"]], "Comments": []})))
    assert (corpus.entity_count, [problem.lost for problem in corpus.problems]) == (1, [1, 1])
