"""SciERC, DyGIE++ and GLiNER: last words are included, and words are counted through a document."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nearspan.formats import Corpus, read
from nearspan.formats.markup import render

Put = Callable[..., Path]

SENTENCES = [["Ada", "Lovelace", "wrote"], ["She", "slept"]]


def read_record(put: Put, **more: Any) -> Corpus:
    return read(put("a", json.dumps({"doc_key": "x", "sentences": SENTENCES, **more})))


def test_words_are_counted_through_the_document(put: Put):
    corpus = read_record(put, ner=[[[0, 1, "PER"]], [[3, 3, "PRON"]]])
    assert render(corpus[0]) == "[Ada Lovelace](PER) wrote\n[She](PRON) slept"
    assert corpus[0].sentences == ((0, 18), (19, 28))


def test_relations_clusters_and_predictions_are_counted(put: Put):
    corpus = read_record(put, ner=[[], []], relations=[[[0, 0, 1, 1, "X"]], []], predicted_ner=[[[0, 0, "PER"]], []])
    assert corpus.entity_count == 0
    assert [problem.kind for problem in corpus.problems] == ["left out", "left out"]


def test_entities_beyond_the_document_are_listed(put: Put):
    corpus = read_record(put, ner=[[[0, 9, "PER"], [1, 0, "PER"], [0], [0, 1, "PER"]], []])
    assert (corpus.entity_count, sum(problem.lost for problem in corpus.problems)) == (1, 3)


def test_gliner_counts_the_last_word_in(put: Put):
    corpus = read(put("a", json.dumps([{"tokenized_text": ["Ada", "Lovelace", "wrote"], "ner": [[0, 1, "person"]]}])))
    assert (corpus.format, render(corpus[0])) == ("gliner", "[Ada Lovelace](person) wrote")
