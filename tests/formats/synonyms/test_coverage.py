from collections.abc import Iterable
from pathlib import Path

import pytest

import nearspan
from nearspan.document import Document
from nearspan.formats import Corpus, sample, statistics
from nearspan.formats.corpus import Problem
from nearspan.formats.files import read_source
from nearspan.formats.markup import parse
from nearspan.formats.source import Source
from nearspan.formats.synonyms import SynonymCounter, SynonymCoverage, Synonyms

NAMES = Synonyms([("heart attack", "MI"), ("flu", "influenza"), ("lonely",)], format="tsv")


def coverage(documents: Iterable[Document], names: Synonyms) -> SynonymCoverage:
    counter = SynonymCounter(names)
    for document in documents:
        for entity in document.entities:
            counter.add(entity)
    return counter.counts()


def cover(*texts: str) -> SynonymCoverage:
    return coverage(map(parse, texts), NAMES)


def test_entities_and_texts_by_label():
    coverage_counts = cover(
        "[Heart attack](D) and [heart-attack](D), [lonely](D)", "[zap](D) [zap](D) [zip](D) [MI](PLACE)"
    )
    disease = coverage_counts["labels"]["D"]
    assert (disease["entities"], disease["known"], disease["covered"]) == (6, 3, 2)
    assert (disease["texts"], disease["known_texts"], disease["covered_texts"]) == (4, 2, 1)
    assert disease["unknown"] == ["zap", "zip"]
    assert (coverage_counts["entities"], coverage_counts["known"], coverage_counts["covered"]) == (7, 4, 3)
    assert (coverage_counts["texts"], coverage_counts["covered_texts"]) == (5, 2)
    assert (coverage_counts["concepts"], coverage_counts["names"], coverage_counts["format"]) == (3, 5, "tsv")


def test_a_text_with_two_labels_counts_once_in_the_whole():
    coverage_counts = cover("[flu](A) [flu](B)")
    assert (coverage_counts["entities"], coverage_counts["texts"]) == (2, 1)
    assert [counts["texts"] for counts in coverage_counts["labels"].values()] == [1, 1]


def test_the_fragments_of_a_discontinuous_entity_are_one_name():
    assert cover("[heart](D#1) and lung [attack](D#1)")["covered"] == 1


def test_the_first_spelling_of_the_most_frequent_unknown_texts():
    coverage_counts = cover(*(f"[Name {number}](D)" for number in range(7)), "[name-6](D)")
    assert coverage_counts["labels"]["D"]["unknown"] == ["Name 6", "Name 0", "Name 1", "Name 2", "Name 3"]


def test_an_annotation_given_twice_counts_twice():
    line = '{"text": "flu", "entities": [[0, 3, "D"], [0, 3, "D"]]}'
    counts = statistics(read_source(Source(Path("a.jsonl"), line), "jsonl"), NAMES)
    assert counts["synonyms"]["entities"] == counts["entities"] == 2


def test_a_corpus_without_entities():
    coverage_counts = cover("nothing")
    assert (coverage_counts["entities"], coverage_counts["texts"], coverage_counts["labels"]) == (0, 0, {})


def test_check_has_the_key_only_if_asked():
    corpus = Corpus((parse("[flu](D)"),))
    names = Synonyms([("flu", "influenza")], problems=[Problem("malformed", "m", "f", 3)])
    assert "synonyms" not in nearspan.check(corpus)
    counts = nearspan.check(corpus, synonyms=names)
    assert counts["synonyms"] == coverage(corpus, names)
    assert counts["synonyms"]["problems"] == [{"kind": "malformed", "message": "m", "file": "f", "line": 3}]
    assert counts["problems"] == []


@pytest.fixture(scope="module")
def covered():
    corpus = nearspan.read([sample.path(split) for split in sample.SPLITS])
    return corpus, nearspan.synonyms("sample")


def test_the_sample_has_synonyms_of_every_label(covered):
    coverage_counts = coverage(*covered)
    assert coverage_counts["problems"] == []
    assert coverage_counts["covered"] > coverage_counts["entities"] / 2
    assert all(counts["covered_texts"] >= 20 for counts in coverage_counts["labels"].values())


def test_every_concept_of_the_sample_names_one_of_its_entities(covered):
    corpus, names = covered
    assert names.concepts >= 120
    texts = Synonyms([[entity.span.text(document.text)] for document in corpus for entity in document.entities])
    assert [concept for concept in names if len(concept) < 2 or not any(name in texts for name in concept)] == []


def test_no_two_concepts_of_the_sample_are_the_same(covered):
    _, names = covered
    seen = [frozenset(map(str.casefold, concept)) for concept in names]
    assert len(set(seen)) == len(seen)
