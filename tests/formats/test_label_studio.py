"""Label Studio: annotations, not predictions; each annotator's apart."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nearspan.formats import Corpus, read, write
from nearspan.formats.markup import render

Put = Callable[..., Path]


def region(start: int, end: int, *labels: str, **more: Any) -> dict[str, Any]:
    return {"id": f"r{start}", "type": "labels", "value": {"start": start, "end": end, "labels": labels}, **more}


def annotation(*results: Any, by: int = 1, **more: Any) -> dict[str, Any]:
    return {"completed_by": by, "result": results, **more}


def read_task(put: Put, *annotations: Any, text: str = "Ada wrote in Oslo", **more: Any) -> Corpus:
    task = {"id": 7, "data": {"text": text}, "annotations": annotations, **more}
    return read(put("a", json.dumps([task])), "label-studio")


def test_predictions_are_no_entities(put: Put):
    prediction = {"model_version": "m", "result": [region(13, 17, "LOC")]}
    corpus = read_task(put, annotation(region(0, 3, "PER")), predictions=[prediction])
    assert render(corpus[0]) == "[Ada](PER) wrote in Oslo"
    assert [problem.message for problem in corpus.problems] == ["predictions, which are no gold: 1"]


def test_a_task_without_an_annotation_is_no_document(put: Put):
    corpus = read_task(put, predictions=[{"result": [region(0, 3, "PER")]}])
    assert (len(corpus), corpus.problems[0].kind) == (0, "not gold")


def test_a_skipped_annotation_is_listed_with_its_regions(put: Put):
    corpus = read_task(put, annotation(region(0, 3, "PER"), region(13, 17, "LOC"), was_cancelled=True))
    assert (len(corpus), corpus.problems[0].lost) == (0, 2)


def test_each_annotator_has_a_document(put: Put):
    corpus = read_task(put, annotation(region(0, 3, "PER")), annotation(region(13, 17, "LOC"), by=2))
    assert [(document.id, render(document)) for document in corpus] == [
        ("7#1", "[Ada](PER) wrote in Oslo"),
        ("7#2", "Ada wrote in [Oslo](LOC)"),
    ]
    assert [document.entities[0].attributes["annotator"] for document in corpus] == [1, 2]
    assert corpus.problems[0].kind == "several annotations"


def test_what_is_marked_as_ground_truth_is_read_alone(put: Put):
    corpus = read_task(put, annotation(region(0, 3, "PER")), annotation(region(13, 17, "LOC"), ground_truth=True))
    assert [render(document) for document in corpus] == ["Ada wrote in [Oslo](LOC)"]
    assert [(problem.kind, problem.lost) for problem in corpus.problems] == [("not gold", 1)]


def test_a_region_with_two_labels_is_two_entities_and_one_without_is_listed(put: Put):
    corpus = read_task(put, annotation(region(0, 3, "PER", "AUTHOR"), region(13, 17)))
    assert sorted(entity.label for entity in corpus[0].entities) == ["AUTHOR", "PER"]
    assert [problem.lost for problem in corpus.problems] == [1]


def test_relations_and_notes_are_kept(put: Put, tmp_path: Path):
    relation = {"type": "relation", "from_id": "r0", "to_id": "r13", "labels": ["in"], "direction": "right"}
    corpus = read_task(put, annotation(region(0, 3, "PER", meta={"text": ["sure"]}), region(13, 17, "LOC"), relation))
    person = corpus[0].entities[0].to_dict()["attributes"]
    assert person["relations"] == [{"to": "r13", "labels": ["in"], "direction": "right"}]
    assert person["meta"] == {"text": ["sure"]}
    assert write(corpus, tmp_path / "b", "label-studio") == ()
    again = read(tmp_path / "b")
    assert [each.to_dict() for each in again[0].entities] == [each.to_dict() for each in corpus[0].entities]


def test_choices_are_counted(put: Put):
    choice = {"type": "choices", "value": {"choices": ["good"]}}
    corpus = read_task(put, annotation(region(0, 3, "PER"), choice))
    assert [problem.message for problem in corpus.problems] == ["results of the type 'choices': 1"]


def test_offsets_that_count_units_of_utf_16_are_read_by_their_texts(put: Put):
    item = region(2, 5, "PER")
    item["value"]["text"] = "Ada"
    corpus = read_task(put, annotation(item), text="\U0001f600Ada wrote")
    assert [entity.text for entity in corpus[0].entities] == ["Ada"]


def test_the_text_may_have_any_name(put: Put):
    item = region(0, 3, "PER")
    item["value"]["text"] = "Ada"
    task = {"data": {"title": "Notes", "body": "Ada wrote"}, "annotations": [annotation(item)]}
    assert render(read(put("a", json.dumps([task])))[0]) == "[Ada](PER) wrote"


def test_records_of_json_min_are_documents(put: Put):
    record = {"text": "Ada wrote", "id": 3, "label": [{"start": 0, "end": 3, "labels": ["PER"]}]}
    corpus = read(put("a", json.dumps([record | {"annotator": 2, "annotation_id": 9, "lead_time": 1.0}])))
    assert (corpus.format, corpus[0].id, render(corpus[0])) == ("label-studio-min", "3", "[Ada](PER) wrote")
    assert corpus[0].entities[0].attributes == {"annotator": 2}


def test_records_of_json_min_of_one_task_are_listed_as_such(put: Put):
    records = [
        {"text": text, "id": id, "label": [{"start": 0, "end": 3, "labels": [label]}], "annotator": 1, "lead_time": 1.0}
        for text, id, label in (("Ada wrote", 3, "PER"), ("Ada wrote", 3, "LOC"), ("Bob ran", 4, "PER"))
    ]
    corpus = read(put("a", json.dumps(records)))
    assert [document.id for document in corpus] == ["3#1", "3#2", "4"]
    assert [render(document) for document in corpus] == ["[Ada](PER) wrote", "[Ada](LOC) wrote", "[Bob](PER) ran"]
    [problem] = corpus.problems
    assert (problem.kind, problem.lost) == ("several annotations", 0)
    assert "task '3' has 2 annotations" in problem.message


def test_a_choice_about_a_region_is_no_region(put: Put):
    value = {"start": 0, "end": 3, "text": "Ada", "choices": ["sure"]}
    choice = {"id": "r0", "type": "choices", "from_name": "sure", "to_name": "text", "value": value}
    corpus = read_task(put, annotation(region(0, 3, "PER"), choice))
    assert render(corpus[0]) == "[Ada](PER) wrote in Oslo"
    assert [(problem.message, problem.lost) for problem in corpus.problems] == [("results of the type 'choices': 1", 0)]


def test_entities_that_say_who_annotated_them_are_no_regions(put: Put):
    entities = [{"start": 0, "end": 3, "label": "PER"}]
    record = {"text": "Ada wrote", "annotator": "lin", "annotation_id": 3, "entities": entities}
    corpus = read(put("a", json.dumps(record)))
    assert (corpus.format, render(corpus[0])) == ("jsonl", "[Ada](PER) wrote")
