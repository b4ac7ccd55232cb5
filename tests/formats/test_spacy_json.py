"""spaCy's JSON: documents, paragraphs of version 2 and training tuples."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nearspan.formats import Corpus, read
from nearspan.formats.markup import render

Put = Callable[..., Path]


def read_json(put: Put, value: Any) -> Corpus:
    return read(put("a", json.dumps(value)))


def paragraph(**more: Any) -> dict[str, Any]:
    tokens = [{"orth": "Ada", "ner": "U-PER"}, {"orth": "wrote", "ner": "-"}, {"orth": ".", "ner": "O"}]
    return {"id": 3, "paragraphs": [{"raw": "Ada wrote.", "sentences": [{"tokens": tokens}], **more}]}


def test_a_span_of_two_groups_is_one_entity_with_both(put: Put):
    span = {"start": 0, "end": 3, "label": "PER"}
    document = {"text": "Ada wrote", "ents": [span], "spans": {"sc": [span, {"start": 4, "end": 9, "label": "ACT"}]}}
    corpus = read_json(put, document)
    assert [dict(entity.attributes) for entity in corpus[0].entities] == [
        {"groups": ("ents", "sc")},
        {"groups": ("sc",)},
    ]
    assert corpus.problems == ()


def test_paragraphs_of_version_2_have_the_raw_text(put: Put):
    corpus = read_json(put, [paragraph()])
    assert (corpus[0].text, render(corpus[0]), corpus[0].words) == (
        "Ada wrote.",
        "[Ada](PER) wrote.",
        ((0, 3), (4, 9), (9, 10)),
    )
    assert ["nobody has said" in problem.message for problem in corpus.problems] == [True]


def test_words_that_are_not_those_of_the_raw_text_are_listed(put: Put):
    corpus = read_json(put, [paragraph(raw="Ada read.")])
    assert (render(corpus[0]), corpus.problems[0].kind) == ("[Ada](PER) wrote .", "misaligned")


def test_tuples_may_stand_in_lines_or_in_an_array(put: Put):
    pair = ["Ada wrote", {"entities": [[0, 3, "PER"]]}]
    line = json.dumps(pair) + "\n"
    for content in (line * 2, json.dumps([pair, pair]), json.dumps({"classes": ["PER"], "annotations": [pair, pair]})):
        corpus = read(put("a", content))
        assert (corpus.format, [render(document) for document in corpus]) == ("spacy-json", ["[Ada](PER) wrote"] * 2)


def test_what_else_is_there_is_counted(put: Put):
    corpus = read_json(put, [["Ada", {"entities": [], "cats": {"x": 1}}]])
    assert [problem.kind for problem in corpus.problems] == ["left out"]


def test_a_single_tuple_on_a_line_is_no_array_of_documents(put: Put):
    corpus = read(put("a", '["Ada wrote", {"entities": [[0, 3, "PER"]]}]\n'))
    assert (corpus.format, list(map(render, corpus))) == ("spacy-json", ["[Ada](PER) wrote"])
