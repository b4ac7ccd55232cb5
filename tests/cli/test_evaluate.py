"""`nearspan evaluate`."""

import json
from pathlib import Path

import pytest

import nearspan

KEYS = {"precision", "recall", "f1", "macro_f1", "labels", "coverage", "calibration_error"}


@pytest.fixture
def corpus(documents, tmp_path: Path) -> Path:
    nearspan.write(documents, tmp_path / "data.jsonl")
    return tmp_path / "data.jsonl"


@pytest.mark.parametrize("name", ["instance", "classifier"])
def test_json_is_one_object_with_these_keys(nearspan_command, folders, corpus: Path, name: str):
    ran = nearspan_command("evaluate", folders[name], corpus, "--json", "--device", "cpu")
    assert ran.code == 0
    assert ran.err == ""
    content = json.loads(ran.out)
    assert set(content) == KEYS
    assert set(content["labels"]) == {"PERSON", "PLACE"}
    assert content["labels"]["PLACE"]["gold"] == 12
    assert content["coverage"] == {
        "documents": 12, "sentences": 12, "words": content["coverage"]["words"], "entities": 22, "reachable": 22,
        "unreachable": {},
    }  # fmt: skip
    model = nearspan.load(folders[name], device="cpu")
    assert content == json.loads(json.dumps(nearspan.evaluate(model, nearspan.read(corpus).documents).to_dict()))


def test_the_table(nearspan_command, folders, corpus: Path):
    ran = nearspan_command("evaluate", folders["instance"], corpus, "--device", "cpu")
    assert ran.code == 0
    for part in ("PERSON", "PLACE", "micro", "macro", "22 entities in 12 sentences; all reachable"):
        assert part in ran.out


def test_the_whole_memory_can_be_searched(nearspan_command, folders, corpus: Path):
    ran = nearspan_command("evaluate", folders["instance"], corpus, "--json", "--search", "whole", "--device", "cpu")
    assert set(json.loads(ran.out)) == KEYS
    assert nearspan_command("evaluate", folders["classifier"], corpus, "--search", "whole").code == 2


def test_what_cannot_be_reached_is_a_miss(nearspan_command, folders, tmp_path: Path):
    wide = nearspan.markup("[Ada lives in Oslo with Bob and Eve](PERSON)")
    nearspan.write([wide], tmp_path / "wide.jsonl")
    content = json.loads(nearspan_command("evaluate", folders["instance"], tmp_path / "wide.jsonl", "--json").out)
    assert content["coverage"]["unreachable"] == {"wider than 6 words": 1}
    assert content["labels"]["PERSON"]["gold"] == 1
    assert content["recall"] == 0


def test_a_lower_precision_counts_the_entities_that_change(nearspan_command, folders, corpus: Path):
    """This model has no pretrained encoder: nothing changes."""
    command = ("evaluate", folders["classifier"], corpus, "--precision", "bf16", "--device", "cpu")
    content = json.loads(nearspan_command(*command, "--json").out)
    assert set(content) == {*KEYS, "precision", "changed", "float32"}
    assert (content["precision"], content["changed"], content["float32"]) == ("bf16", 0, content["f1"])
    assert "bf16: 0 entities are other than in float32, which predicts" in nearspan_command(*command).out


def test_an_unknown_precision_names_the_option(nearspan_command, folders, corpus: Path):
    ran = nearspan_command("evaluate", folders["classifier"], corpus, "--precision", "int9")
    assert ran.code == 2
    assert "--precision" in ran.err
    assert "did you mean 'int8'" in ran.err
