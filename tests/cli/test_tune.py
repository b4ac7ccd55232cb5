"""`nearspan tune`: from the command line to a recipe that trains."""

import json
from pathlib import Path

import pytest
import tomli_w

import nearspan


@pytest.fixture
def common(documents, tiny, tmp_path: Path) -> list[str | Path]:
    nearspan.write(documents, tmp_path / "data.jsonl")
    (tmp_path / "tiny.toml").write_text(tomli_w.dumps(tiny("classifier").model_dump(exclude_none=True)))
    data = tmp_path / "data.jsonl"
    return ["tune", tmp_path / "tiny.toml", "--train", data, "--dev", data, "--out", tmp_path / "t", "--device", "cpu"]


def test_a_tuning_leaves_a_recipe_that_trains(nearspan_command, common, tmp_path: Path):
    (tmp_path / "space.toml").write_text('[training]\nlearning_rate = "1e-3..1e-1:log"\nbatch = [2, 4]\n')
    search = ["--space", tmp_path / "space.toml", "--search", "training.batch=3..5", "--set", "training.clip=4"]
    ran = nearspan_command(*common, *search, "--trials", "2", "--seed", "5")
    assert (ran.code, ran.out) == (0, "")
    for part in ("trial 1: dev F1", "trial 2: dev F1", "best.toml"):
        assert part in ran.err
    rows = [json.loads(line) for line in (tmp_path / "t" / "trials.jsonl").read_text().splitlines()]
    assert all(3 <= row["settings"]["training.batch"] <= 5 for row in rows)
    assert nearspan_command(*common, *search, "--seed", "5").code == 2
    ran = nearspan_command(*common, *search, "--trials", "3", "--seed", "5", "--resume")
    assert ran.code == 0
    assert "trial 1:" not in ran.err
    assert "trial 3:" in ran.err
    data = tmp_path / "data.jsonl"
    best = tmp_path / "t" / "best.toml"
    ran = nearspan_command("train", best, "--train", data, "--dev", data, "--out", tmp_path / "m", "--device", "cpu")
    assert ran.code == 0
    assert nearspan.load(tmp_path / "m", device="cpu").recipe.training.clip == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to tune"),
        (["--search", "training.epoch=1..3"], "did you mean 'epochs'?"),
        (["--search", "training.epochs=3..1"], "not below the high end"),
        (["--space", "absent.toml"], "cannot read the space"),
        (["--search", "training.epochs=1..3", "--resume"], "nothing to resume"),
    ],
)
def test_errors_come_before_training(nearspan_command, common, tmp_path: Path, arguments: list[str], message: str):
    ran = nearspan_command(*common, *arguments)
    assert ran.code == 2
    assert message in ran.err
    assert not (tmp_path / "t").exists()


def test_an_interrupted_tuning_says_how_to_go_on(nearspan_command, common, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("nearspan.training.tune", interrupt)
    ran = nearspan_command(*common, "--search", "training.epochs=1..3")
    assert ran.code == 130
    assert "--resume" in ran.err
