"""Recognition: entities out of reach are named, and count as missed."""

import nearspan
from nearspan.model import Model
from nearspan.segment import split


def test_coverage_names_unknown_labels_and_overlaps_that_decoding_refuses():
    train = [nearspan.markup("[Ada](PERSON) saw [Oslo](PLACE)")]
    sentences = [sentence for document in train for sentence in split(document)]
    model = Model.from_corpus(nearspan.recipe("classifier"), sentences, ["PERSON", "PLACE"], overlap="flat").to("cpu")
    gold = [nearspan.markup("[Ada of [Oslo](PLACE)](PERSON) took [aspirin](DRUG)")]
    evaluation = nearspan.evaluate(model, gold)
    assert evaluation.coverage.entities == 3
    assert evaluation.coverage.unreachable == {
        "with a label unknown to the model": 1,
        "overlapping more than flat decoding allows": 1,
    }
    assert evaluation.scores.total.gold == 3


def test_all_entities_are_reachable_where_labels_and_overlaps_allow():
    train = [nearspan.markup("[Ada of [Oslo](PLACE)](PERSON)")]
    sentences = [sentence for document in train for sentence in split(document)]
    model = Model.from_corpus(nearspan.recipe("classifier"), sentences, ["PERSON", "PLACE"], overlap="nested").to("cpu")
    assert nearspan.evaluate(model, train).coverage.reachable == 2
