"""`nearspan calibrate`, and the thresholds that follow from it."""

import json
import shutil
from pathlib import Path

import pytest

import nearspan
from nearspan.cli.options import parse_thresholds
from nearspan.errors import ConfigError


@pytest.fixture
def dev(documents, tmp_path: Path) -> Path:
    nearspan.write([document for _ in range(4) for document in documents], tmp_path / "dev.jsonl")
    return tmp_path / "dev.jsonl"


@pytest.fixture
def model(folders, tmp_path: Path) -> Path:
    shutil.copytree(folders["instance"], tmp_path / "model")
    return tmp_path / "model"


def test_a_model_is_calibrated_and_says_how_to_use_the_threshold(nearspan_command, model: Path, dev: Path):
    ran = nearspan_command("calibrate", model, dev, "--target-precision", "0.9", "--device", "cpu")
    assert (ran.code, ran.err) == (0, "")
    for part in ("calibration error (ECE)", "calibration.json", "keeps a precision of 0.9", "--threshold"):
        assert part in ran.out
    loaded = nearspan.load(model, device="cpu")
    assert (loaded.calibration is not None, loaded.thresholds) == (True, {})


def test_the_threshold_can_be_kept_with_the_model(nearspan_command, model: Path, dev: Path):
    predicted = list(nearspan.load(model, device="cpu").pipe(nearspan.read(dev)))
    lowest = min(entity.score for document in predicted for entity in document.entities)
    gold = [doc.with_entities(entity for entity in doc.entities if entity.score > lowest) for doc in predicted]
    nearspan.write(gold, dev, force=True)
    options = ("--target-precision", "0.99", "--save-threshold", "--json", "--device", "cpu")
    choice = json.loads(nearspan_command("calibrate", model, dev, *options).out)["threshold"]
    assert (choice["precision"], choice["recall"]) == (1, 1)
    loaded = nearspan.load(model, device="cpu")
    assert loaded.thresholds == dict.fromkeys(["PERSON", "PLACE"], choice["threshold"])
    assert nearspan.evaluate(loaded, gold).scores.precision == 1
    assert nearspan.evaluate(loaded, gold, threshold=0).scores.precision < 1


def test_a_calibration_is_kept_where_no_threshold_keeps_the_precision(nearspan_command, model: Path, dev: Path):
    gold = [document.with_entities(document.entities[:1]) for document in nearspan.read(dev)]
    nearspan.write(gold, dev, force=True)
    loaded = nearspan.load(model, device="cpu")
    loaded.set_threshold(0.01)
    loaded.save_calibration()
    ran = nearspan_command("calibrate", model, dev, "--target-precision", "0.999", "--device", "cpu")
    assert ran.code == 2
    assert "thresholds that the model had are dropped" in ran.err
    assert nearspan.load(model, device="cpu").calibration is not None


def test_a_threshold_to_keep_needs_a_precision(nearspan_command, model: Path, dev: Path):
    ran = nearspan_command("calibrate", model, dev, "--save-threshold")
    assert ran.code == 2
    assert "--target-precision" in ran.err


def test_a_threshold_is_for_texts_that_nobody_has_labelled(nearspan_command, model: Path, dev: Path, tmp_path: Path):
    texts = tmp_path / "texts.txt"
    texts.write_text("Ada lives in Oslo. " * 20)
    options = ("--target-precision", "0.5", "--texts", texts, "--device", "cpu")
    ran = nearspan_command("calibrate", model, dev, *options)
    assert (ran.code, "on the texts a precision of 0.5 is to be expected" in ran.out) == (0, True)
    ran = nearspan_command("calibrate", model, dev, "--texts", texts, "--device", "cpu")
    assert (ran.code, "--target-precision is for" in ran.err) == (2, True)


def test_errors_name_the_option(nearspan_command, model: Path, dev: Path):
    ran = nearspan_command("calibrate", model, dev, "--target-precision", "95", "--device", "cpu")
    assert (ran.code, "--target-precision is a share between 0 and 1" in ran.err) == (2, True)


def test_annotate_and_evaluate_leave_out_entities_below_the_threshold(nearspan_command, model: Path, dev: Path):
    options = ("--threshold", "PERSON=1", "--device", "cpu")
    annotated = [json.loads(line) for line in nearspan_command("annotate", model, dev, *options).out.splitlines()]
    assert {entity["label"] for document in annotated for entity in document["entities"]} == {"PLACE"}
    scores = json.loads(nearspan_command("evaluate", model, dev, "--json", *options).out)
    assert (scores["labels"]["PERSON"]["recall"], scores["labels"]["PLACE"]["recall"] > 0.9) == (0, True)


def test_a_label_counts_before_all():
    assert parse_thresholds(["PER=0.8", "0.5"], ["PER", "LOC"]) == {"PER": 0.8, "LOC": 0.5}
    assert parse_thresholds(["LOC=0"], ["PER", "LOC"]) == {"LOC": 0.0}
    with pytest.raises(ConfigError, match="found 'high'"):
        parse_thresholds(["high"], ["PER"])
