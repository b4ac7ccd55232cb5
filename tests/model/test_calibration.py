"""Scores to trust: calibration, thresholds, the precision that is promised, strangers."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

import nearspan
from nearspan.document import Document, Entity, Span
from nearspan.errors import ConfigError, ModelError
from nearspan.model import Model
from nearspan.model.calibration import (
    Calibration,
    CalibrationFit,
    Circumstance,
    cross_validate,
    expected_calibration_error,
    score_entities,
)
from nearspan.model.strangers import entity_cosines, nearest_cosines
from nearspan.model.thresholds import choose_threshold, expected_threshold

TEXT = "Ada lives in Oslo"


def overconfident(count: int, temperature: float, seed: int = 0) -> list[tuple[float, bool]]:
    """Probabilities of entities that are right as often as their scores at a temperature say."""
    draw, truth = random.Random(seed), Calibration(temperature)
    probabilities = [draw.uniform(0.5, 0.999) for _ in range(count)]
    return [(p, draw.random() < truth.score(p)) for p in probabilities]


def scored_documents(scored: list[tuple[float, bool]]) -> tuple[list[Document], list[Document]]:
    """Gold documents and predicted ones, with one entity each."""
    gold = [Document("Ada", (Entity.of(0, 3, "PERSON" if right else "PLACE"),)) for _, right in scored]
    return gold, [Document("Ada", (Entity.of(0, 3, "PERSON", score),)) for score, _ in scored]


@pytest.fixture
def model(folders: dict[str, Path]) -> Model:
    return nearspan.load(folders["instance"], device="cpu")


@pytest.fixture
def dev(documents: list[Document]) -> list[Document]:
    return documents * 4  # as many predicted entities as a calibration needs


def test_ece_is_that_of_a_naive_loop():
    scored = [(p, r) for p, r in overconfident(500, 2.0)] + [(0.0, False), (1.0, True), (1.0, False)]
    total = 0.0
    for number in range(15):
        low, high = number / 15, (number + 1) / 15
        inside = [(p, r) for p, r in scored if low <= p < high or (number == 14 and p == 1.0)]
        if inside:
            confidence, accuracy = (sum(column) / len(inside) for column in zip(*inside, strict=True))
            total += len(inside) / len(scored) * abs(confidence - accuracy)
    assert expected_calibration_error(scored) == pytest.approx(total)


def test_the_temperature_that_made_the_scores_is_found():
    assert Calibration.fit(overconfident(20_000, 2.5)).temperature == pytest.approx(2.5, rel=0.05)


def test_calibration_lowers_the_error_of_entities_that_it_has_not_seen():
    seen, unseen = overconfident(500, 3.0), overconfident(5_000, 3.0, seed=1)
    calibration = Calibration.fit(seen)
    after = [(calibration.score(p), right) for p, right in unseen]
    assert expected_calibration_error(after) < expected_calibration_error(unseen) / 2
    assert expected_calibration_error(cross_validate(seen)) < expected_calibration_error(seen) / 2


def test_scores_keep_the_order_of_probabilities():
    scores = [Calibration(3.0).score(p) for p in (0.0, 0.1, 0.3, 0.5, 0.9, 0.99, 0.9999, 1.0)]
    assert scores == sorted(set(scores))
    assert (scores[0] > 0, scores[3], scores[-1] < 1) == (True, 0.5, True)


def test_entities_that_are_all_right_can_be_calibrated():
    assert 0 < Calibration.fit([(0.9, True)] * 60).temperature < 1


def test_as_few_entities_as_a_calibration_takes_are_cross_validated_too(model: Model):
    gold, predicted = scored_documents([(0.9, True)] * 40 + [(0.8, False)] * 10)
    fit = model.fit_calibration(gold, predicted)
    assert 0 <= fit.ece_after < 1


def test_a_calibration_that_fails_leaves_the_last_one(model: Model, dev: list[Document]):
    model.calibrate(dev)
    model.set_threshold(0.7)
    before = model.calibration, dict(model.thresholds)
    with pytest.raises(ConfigError, match="50 predicted entities at least"):
        model.calibrate(dev[:2])
    assert (model.calibration, model.thresholds) == before


def test_too_few_entities_are_refused(model: Model):
    with pytest.raises(ConfigError, match=r"50 predicted entities at least, and there are 49"):
        model.fit_calibration(*scored_documents([(0.9, True)] * 49))


@pytest.mark.parametrize("target", [0.8, 0.9, 0.95])
def test_the_promised_precision_is_kept_on_other_entities(target: float):
    fit = CalibrationFit(Calibration(1.0), overconfident(5_000, 2.0), 5_000)
    choice = fit.threshold_for(target)
    kept = [right for score, right in overconfident(20_000, 2.0, seed=1) if score >= choice.threshold]
    assert choice.precision >= target
    assert sum(kept) / len(kept) == pytest.approx(target, abs=0.02)
    assert choice.recall < choice.full_recall


def test_no_threshold_is_needed_where_all_entities_together_have_the_precision():
    choice = choose_threshold([(0.6, True)] * 30, gold=40, target=0.9)
    assert (choice.threshold, choice.precision, choice.recall) == (0.0, 1.0, 0.75)


def test_a_precision_out_of_reach_says_what_can_be_had():
    scored = [(0.9, True), (0.9, False)] * 30
    with pytest.raises(ConfigError, match=r"no threshold keeps a `target_precision` of 0.95 .* is 0.5000"):
        choose_threshold(scored, gold=60, target=0.95)


def test_a_precision_is_that_of_all_entities_though_few_new_ones_are_right_more_often():
    scored = [(0.9, True)] * 80 + [(0.9, False)] * 20 + [(0.9, True)] * 20
    with pytest.raises(ConfigError, match=r"no threshold keeps a `target_precision` of 0.9 .* is 0.8333"):
        choose_threshold(scored, gold=120, target=0.9, new=[False] * 100 + [True] * 20)


def test_equal_scores_stay_or_go_together():
    scored = [(0.9, True)] * 20 + [(0.8, True)] * 5 + [(0.8, False)] * 5
    assert choose_threshold(scored, gold=30, target=0.95).threshold == pytest.approx(0.85)


def test_what_the_memory_calls_a_text_moves_its_score():
    scored = [(0.8, number % 10 > 0) for number in range(200)] + [(0.8, number % 10 > 4) for number in range(200)]
    known = [Circumstance("PERSON", "same")] * 200 + [Circumstance("PERSON", "new")] * 200
    calibration = Calibration.fit(scored, known)
    scores = [calibration.score(0.8, each) for each in (known[0], known[-1], Circumstance("PERSON"))]
    assert scores == pytest.approx([0.9, 0.5, 0.74], abs=0.02)  # without a memory to ask, what is usual
    assert calibration.score(0.81, known[0]) > scores[0]


def test_a_label_that_is_often_wrong_has_lower_scores():
    scored = [(0.8, True)] * 100 + [(0.8, number % 2 > 0) for number in range(100)]
    labels = [Circumstance("PERSON")] * 100 + [Circumstance("PLACE")] * 100
    calibration = Calibration.fit(scored, labels)
    assert calibration.score(0.8, labels[0]) > 0.9 > 0.6 > calibration.score(0.8, labels[-1])


def test_a_calibration_of_older_files_has_a_temperature_alone():
    calibration = Calibration.from_dict({"temperature": 2.0, "least_cosine": None})
    assert calibration == Calibration(2.0)
    assert Calibration.from_dict(calibration.to_dict()) == calibration


def test_a_promise_holds_where_more_entities_are_new_to_the_memory():
    scored = [(0.9 - number / 10_000, number % 100 < 97) for number in range(800)]  # known ones, 97 in 100 right
    scored += [(0.8 - number / 1_000, number < 60) for number in range(100)]  # new ones; the first 60 right
    known = [Circumstance(called="same")] * 800 + [Circumstance(called="new")] * 100
    plain, careful = (CalibrationFit(Calibration(1.0), scored, 900, each) for each in ((), known))
    assert plain.threshold_for(0.92).threshold == 0.0
    kept = [right for score, right in scored[800:] if score >= careful.threshold_for(0.92).threshold]
    assert len(kept) < 75


def test_a_promise_counts_known_and_new_entities_alike_however_few_of_these_are_kept():
    scored = [(0.9, number < 380) for number in range(400)]  # known ones, 95 in 100 right
    scored += [(0.9, number < 14) for number in range(20)] + [(0.5, False)] * 80  # new ones; few have a high score
    new = [False] * 400 + [True] * 100  # a new one counts 4 times: 380 + 4 * 14 of 400 + 4 * 20 are 0.908
    assert choose_threshold(scored, gold=400, target=0.9, new=new).threshold == pytest.approx(0.7)
    with pytest.raises(ConfigError, match=r"the highest precision of 20 entities or more is 0.9381"):
        choose_threshold(scored, gold=400, target=0.92, new=new)


def test_what_is_far_from_the_memory_has_lower_scores():
    scored = [(0.8, number % 10 > 0) for number in range(200)] + [(0.8, number % 10 > 4) for number in range(200)]
    cosines = [Circumstance("PERSON", "new", cosine) for cosine in [0.999] * 200 + [0.9] * 200]
    calibration = Calibration.fit(scored, cosines)
    usual = Circumstance("PERSON", "new")
    assert [calibration.score(0.8, each) for each in (cosines[0], usual, cosines[-1])] == pytest.approx(
        [0.9, 0.74, 0.5], abs=0.02
    )
    assert Calibration.from_dict(calibration.to_dict()) == calibration


def test_a_promise_is_made_for_texts_that_nobody_has_labelled():
    scored = [(0.99, True)] * 150 + [(0.8, number % 5 > 0) for number in range(50)]
    fit = CalibrationFit(Calibration(1.0), scored, 250)
    assert fit.threshold_for(0.94).threshold == 0.0
    texts = [Document("Ada", (Entity.of(0, 3, "PERSON", score),)) for score in [0.99] * 50 + [0.8] * 50]
    choice = fit.threshold_for(0.94, texts)
    assert (choice.threshold, choice.precision, choice.recall, choice.entities) == (0.9, 1.0, 0.6, 150)
    with pytest.raises(ConfigError, match=r"no threshold keeps a `target_precision` of 0.995"):
        expected_threshold([0.99] * 50, 0.995)
    for few in (texts[:19], [Document("nothing")]):
        with pytest.raises(ConfigError, match="for texts with 20 predicted entities at least"):
            fit.threshold_for(0.94, few)


def test_the_memory_knows_texts_whatever_their_case(model: Model):
    assert model.datastore is not None
    assert model.datastore.labels_of_text("ADA") == {"PERSON"}
    assert model.datastore.labels_of_text("Zanzibar") == set()


def test_right_entities_are_those_of_the_gold():
    gold = [Document("Ada in Oslo", (Entity.of(0, 3, "PERSON"), Entity.of(7, 11, "PLACE")))]
    predicted = [gold[0].with_entities([Entity.of(0, 3, "PLACE", 0.6), Entity.of(7, 11, "PLACE", 0.9)])]
    assert score_entities(gold, predicted) == [(0.6, False), (0.9, True)]


def test_a_model_is_calibrated_saved_and_loaded(model: Model, dev: list[Document], tmp_path: Path):
    before = model(TEXT)
    fit = model.calibrate(dev)
    after = model(TEXT)
    assert after.entities == before.entities
    known = model.circumstances([before])
    assert [each.called for each in known] == ["same", "same"]  # the memory knows Ada and Oslo
    assert [e.score for e in after.entities] == [
        fit.calibration.score(e.score or 0, each) for e, each in zip(before.entities, known, strict=True)
    ]
    model.set_threshold({"PERSON": 0.5}).save(tmp_path / "saved")
    loaded = Model.load(tmp_path / "saved", "cpu")
    assert (loaded.calibration, loaded.thresholds) == (fit.calibration, {"PERSON": 0.5})
    assert [e.score for e in loaded(TEXT).entities] == [e.score for e in after.entities]


def test_calibration_alone_is_kept_in_the_folder(model: Model, dev: list[Document], tmp_path: Path):
    model.save(tmp_path / "saved")
    assert not (tmp_path / "saved" / "calibration.json").exists()
    model.calibrate(dev)
    model.save_calibration()
    assert Model.load(tmp_path / "saved", "cpu").calibration == model.calibration


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": "0"}, "is of another model"),
        ({"calibration": {"temperature": -1}}, "a temperature above 0"),
        ({"calibration": {"temperature": "hot"}}, "a temperature above 0"),
        ({"calibration": {"temperature": 1, "labels": {"PERSON": "much"}}}, "finite numbers by name"),
        ({"calibration": {"temperature": 1, "memory": [1]}}, "finite numbers by name"),
        ({"thresholds": {"PERSON": 5}}, "score from 0 to 1"),
        ({"thresholds": 7}, "damaged"),
    ],
)
def test_a_calibration_that_is_not_sound_is_refused(
    model: Model, dev: list[Document], tmp_path: Path, change: dict[str, object], message: str
):
    model.calibrate(dev)
    model.save(tmp_path / "saved")
    file = tmp_path / "saved" / "calibration.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(ModelError, match=message):
        Model.load(tmp_path / "saved", "cpu")


def test_evidence_stays_exact_after_calibration(model: Model, dev: list[Document]):
    model.calibrate(dev)
    document = model(TEXT)
    assert document.entities
    for entity, evidence in zip(document.entities, model.explain(document, k=1000), strict=True):
        probability = evidence.probabilities[entity.label]
        shares = [near.weight for near in evidence.neighbours[entity.label]]
        assert sum(shares) + evidence.unlisted[entity.label] == pytest.approx(probability)
        assert evidence.score == pytest.approx(entity.score)
        assert evidence.score == pytest.approx(
            model.to_score(probability, entity.label, evidence.text, evidence.cosine)
        )
        assert evidence.score != pytest.approx(probability)


def test_thresholds_leave_out_entities_by_label(model: Model):
    labels = {entity.label: entity.score for entity in model(TEXT).entities}
    assert set(labels) == {"PERSON", "PLACE"}
    assert [entity.label for entity in model(TEXT, threshold={"PERSON": 1.0}).entities] == ["PLACE"]
    assert model(TEXT, threshold=1.0).entities == ()
    assert [document.entities for document in model.pipe([TEXT], threshold=1.0)] == [()]
    assert len(model.set_threshold(1.0)(TEXT, threshold=0).entities) == 2
    assert model(TEXT).entities == ()


@pytest.mark.parametrize(("threshold", "message"), [({"PERSN": 0.5}, "PERSON"), (1.5, "from 0 to 1")])
def test_thresholds_are_checked(model: Model, threshold: object, message: str):
    with pytest.raises(ConfigError, match=message):
        model(TEXT, threshold=threshold)


def test_evaluation_counts_what_thresholds_leave(model: Model, documents: list[Document]):
    full, none = (nearspan.evaluate(model, documents, threshold=value) for value in (0, 1.0))
    assert (full.scores.recall > 0.9, none.scores.recall) == (True, 0.0)
    assert full.to_dict()["calibration_error"] == expected_calibration_error(full.scored)


def test_another_use_of_the_memory_needs_another_calibration(model: Model, dev: list[Document]):
    model.calibrate(dev)
    model.set_search("nearest")
    assert model.calibration is not None
    model.set_search("whole")
    assert model.calibration is None


def test_strangers_are_spans_with_no_entity_near(model: Model):
    datastore = model.datastore
    assert datastore is not None
    vectors = datastore.rows(datastore.entity_rows[:3]).float()
    assert nearest_cosines(vectors, datastore).tolist() == pytest.approx([1.0] * 3)
    assert max(nearest_cosines(-vectors, datastore).tolist()) < 0.99


def test_entities_of_documents_are_compared_as_those_that_are_predicted(model: Model, dev: list[Document]):
    model.calibrate(dev)
    predicted = list(model.pipe([TEXT, "Zanzibar", "Ada met Bo in Oslo"]))
    cosines = entity_cosines(model, predicted)
    entities = [entity for document in predicted for entity in document.entities]
    assert len(cosines) == len(entities) > 2
    scores = [
        model.to_score(evidence.probabilities[evidence.label], evidence.label, evidence.text, cosine)
        for evidence, cosine in zip((e for d in predicted for e in model.explain(d)), cosines, strict=True)
    ]
    assert scores == pytest.approx([entity.score for entity in entities])


def test_entities_that_no_candidate_stands_for_have_no_cosine(model: Model):
    parts = Entity(Span(((0, 3), (13, 17))), "PERSON")
    assert entity_cosines(model, [Document(TEXT, (Entity.of(0, 2, "PERSON"), parts))]) == [None, None]


def test_strangers_are_farther_from_the_memory_than_the_entities_of_a_calibration():
    cosines = [number / 200 for number in range(200)]
    known = [Circumstance("PERSON", "new", cosine) for cosine in cosines]
    assert Calibration.fit([(0.8, True)] * 200, known).least_cosine == pytest.approx(0.05, abs=0.005)
    few = [*known[:49], *[Circumstance("PERSON", "new")] * 151]
    assert Calibration.fit([(0.8, True)] * 200, few).least_cosine is None


def test_strangers_are_marked_on_entities_and_texts(model: Model):
    model.calibration = Calibration(1.0, least_cosine=1.1)  # nothing is so near
    document = model(TEXT)
    assert [entity.stranger for entity in document.entities] == [True, True]
    assert (document.stranger, document.to_dict()["stranger"]) == (True, True)
    assert document.to_dict()["entities"][0]["stranger"] is True
    assert all(evidence.stranger for evidence in model.explain(document))
    model.calibration = replace(model.calibration, least_cosine=-1.0)
    assert not any("stranger" in entity.to_dict() for entity in model(TEXT).entities)
    assert "stranger" not in model(TEXT).to_dict()


@pytest.mark.parametrize(("bias", "score"), [(-1000.0, 0.0), (1000.0, 1.0)])
def test_offsets_beyond_all_measure_give_a_score_all_the_same(bias: float, score: float):
    assert Calibration(1e-4, bias=bias).score(0.5) == score
