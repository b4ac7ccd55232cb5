from pathlib import Path

import pytest

import nearspan
from nearspan.formats import Corpus, jsonl, sample, statistics
from nearspan.formats.corpus import Problem
from nearspan.formats.markup import parse
from nearspan.formats.source import Source
from nearspan.formats.synonyms import Synonyms, coverage

NAMES = Synonyms([("heart attack", "MI"), ("flu", "influenza"), ("lonely",)], format="tsv")


def cover(*texts: str):
    return coverage(Corpus(tuple(map(parse, texts))), NAMES)


def test_entities_and_texts_by_label():
    found = cover("[Heart attack](D) and [heart-attack](D), [lonely](D)", "[zap](D) [zap](D) [zip](D) [MI](PLACE)")
    disease = found["labels"]["D"]
    assert (disease["entities"], disease["known"], disease["covered"]) == (6, 3, 2)
    assert (disease["texts"], disease["known_texts"], disease["covered_texts"]) == (4, 2, 1)
    assert disease["unknown"] == ["zap", "zip"]
    assert (found["entities"], found["known"], found["covered"]) == (7, 4, 3)
    assert (found["texts"], found["covered_texts"]) == (5, 2)
    assert (found["concepts"], found["names"], found["format"]) == (3, 5, "tsv")


def test_a_text_with_two_labels_counts_once_in_the_whole():
    found = cover("[flu](A) [flu](B)")
    assert (found["entities"], found["texts"]) == (2, 1)
    assert [counts["texts"] for counts in found["labels"].values()] == [1, 1]


def test_the_fragments_of_a_discontinuous_entity_are_one_name():
    assert cover("[heart](D#1) and lung [attack](D#1)")["covered"] == 1


def test_the_first_spelling_of_the_most_frequent_unknown_texts():
    found = cover(*(f"[Name {number}](D)" for number in range(7)), "[name-6](D)")
    assert found["labels"]["D"]["unknown"] == ["Name 6", "Name 0", "Name 1", "Name 2", "Name 3"]


def test_an_annotation_given_twice_counts_twice():
    line = '{"text": "flu", "entities": [[0, 3, "D"], [0, 3, "D"]]}'
    found = statistics(jsonl.read(Source(Path("a.jsonl"), line)), NAMES)
    assert found["synonyms"]["entities"] == found["entities"] == 2


def test_a_corpus_without_entities():
    found = cover("nothing")
    assert (found["entities"], found["texts"], found["labels"]) == (0, 0, {})


def test_check_has_the_key_only_if_asked():
    corpus = Corpus((parse("[flu](D)"),))
    names = Synonyms([("flu", "influenza")], problems=[Problem("malformed", "m", "f", 3)])
    assert "synonyms" not in nearspan.check(corpus)
    found = nearspan.check(corpus, synonyms=names)
    assert found["synonyms"] == coverage(corpus, names)
    assert found["synonyms"]["problems"] == [{"kind": "malformed", "message": "m", "file": "f", "line": 3}]
    assert found["problems"] == []


@pytest.fixture(scope="module")
def covered():
    corpus = nearspan.read([sample.path(split) for split in sample.SPLITS])
    return corpus, nearspan.synonyms("sample")


def test_the_sample_has_synonyms_of_every_label(covered):
    found = coverage(*covered)
    assert found["problems"] == []
    assert found["covered"] > found["entities"] / 2
    assert all(counts["covered_texts"] >= 20 for counts in found["labels"].values())


def test_every_concept_of_the_sample_names_one_of_its_entities(covered):
    corpus, names = covered
    assert names.concepts >= 120
    texts = Synonyms([[entity.span.text(document.text)] for document in corpus for entity in document.entities])
    assert [concept for concept in names if len(concept) < 2 or not any(name in texts for name in concept)] == []


def test_no_two_concepts_of_the_sample_are_the_same(covered):
    _, names = covered
    seen = [frozenset(map(str.casefold, concept)) for concept in names]
    assert len(set(seen)) == len(seen)
