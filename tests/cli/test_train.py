"""`nearspan train`: what it writes, what it says, and several processes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import nearspan
from nearspan import training

TINY = [
    part
    for setting in (
        "encoder.vectors.size=8",
        "encoder.characters.filters=4",
        "encoder.bilstm.size=8",
        "head.neighbours=4",
        "training.epochs=2",
        "training.batch=3",
    )
    for part in ("--set", setting)
]

CLASSIFIER = [part for setting in TINY[1::2] if "neighbours" not in setting for part in ("--set", setting)]


@pytest.fixture
def corpus(documents, tmp_path: Path) -> Path:
    nearspan.write(documents, tmp_path / "data.jsonl")
    return tmp_path / "data.jsonl"


def test_a_run_leaves_a_model_its_card_and_its_record(nearspan_command, corpus: Path, tmp_path: Path):
    ran = nearspan_command(
        "train", "instance", "--train", corpus, "--dev", corpus, "--test", corpus, "--out", tmp_path / "m",
        "--seed", "7", "--device", "cpu", *TINY,
    )  # fmt: skip
    assert ran.code == 0
    assert ran.out == ""
    for part in ("instance on cpu: 22 entities in 12 sentences", "PERSON, PLACE", "dev F1", "test F1", "saved to"):
        assert part in " ".join(ran.err.split())
    result = json.loads((tmp_path / "m" / "result.json").read_text())
    assert (result["seed"], result["epochs"]) == (7, 2)
    card = (tmp_path / "m" / "README.md").read_text()
    for part in ("# A nearspan model: instance", "PERSON, PLACE", "Seed 7", "| dev |", "| test |", result["data"]):
        assert part in card
    assert len((tmp_path / "m" / "metrics.jsonl").read_text().splitlines()) == 2
    assert nearspan.load(tmp_path / "m", device="cpu").recipe.training.epochs == 2


def test_the_same_run_by_command_and_by_call(nearspan_command, corpus: Path, documents, tmp_path: Path):
    nearspan_command(
        "train", "classifier", "--train", corpus, "--out", tmp_path / "a", "--device", "cpu",
        *[part for part in TINY if part != "head.neighbours=4"][:6], "--set", "training.epochs=1",
    )  # fmt: skip
    recipe = nearspan.load(tmp_path / "a", device="cpu").recipe
    nearspan.train(recipe, nearspan.read(corpus).documents, out=tmp_path / "b", device="cpu")
    assert (tmp_path / "a" / "model.safetensors").read_bytes() == (tmp_path / "b" / "model.safetensors").read_bytes()


def test_vectors_are_named_by_an_option(nearspan_command, corpus: Path, tmp_path: Path):
    (tmp_path / "v 1.txt").write_text("oslo 1 0 0\nrome 0 1 0\n")
    ran = nearspan_command(
        "train", "classifier", "--train", corpus, "--out", tmp_path / "m", "--device", "cpu", *CLASSIFIER,
        "--vectors", tmp_path / "v 1.txt",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    model = nearspan.load(tmp_path / "m", device="cpu")
    assert model.network.encoder.vectors.pretrained_words == ["oslo", "rome"]


def test_an_encoder_is_named_by_an_option(nearspan_command, corpus: Path, tmp_path: Path):
    ran = nearspan_command(
        "train", "shallow", "--train", corpus, "--out", tmp_path / "m", "--encoder", tmp_path / "none"
    )
    assert ran.code == 2
    assert str(tmp_path / "none") in ran.err


def test_several_files_and_formats_train_together(nearspan_command, corpus: Path, tmp_path: Path):
    (tmp_path / "more.conll").write_text("Zoe B-PERSON\nslept O\n\n")
    ran = nearspan_command(
        "train", "instance", "--train", corpus, "--train", tmp_path / "more.conll", "--out", tmp_path / "m",
        "--device", "cpu", *TINY,
    )  # fmt: skip
    assert ran.code == 0
    assert "23 entities in 13 sentences" in " ".join(ran.err.split())


def test_problems_in_the_data_are_shown(nearspan_command, corpus: Path, tmp_path: Path):
    bad = tmp_path / "bad.conll"
    bad.write_text("Ada B-PERSON\nslept Q-PERSON\n\nBob B-PERSON\n\nEve B-PERSON\n\n")
    ran = nearspan_command(
        "train", "instance", "--train", bad, "--train", corpus, "--out", tmp_path / "m", "--device", "cpu", *TINY
    )
    assert ran.code == 0
    assert "bad.conll:2" in ran.err


def test_the_rest_of_many_problems_is_to_be_seen_in_all_files(nearspan_command, corpus: Path, tmp_path: Path):
    bad = tmp_path / "a bad.conll"
    bad.write_text("Ada B-PERSON\nleft O\n\n" * 20 + "slept Q-PERSON\n\n" * 7)
    given = ("--train", corpus, "--train", bad, "--out", tmp_path / "m", "--device", "cpu")
    ran = nearspan_command("train", "instance", *given, *TINY)
    assert f"and 2 more problems: see  nearspan check {corpus} '{bad}'" in ran.err.replace("\n", " ")


def test_bf16_where_it_cannot_be_computed_is_a_clear_error(
    nearspan_command, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def unable(*_):
        raise RuntimeError("could not create a primitive")

    monkeypatch.setattr("torch.nn.functional.linear", unable)
    given = ("--train", corpus, "--out", tmp_path / "m", "--device", "cpu", "--set", "training.precision=bf16")
    ran = nearspan_command("train", "instance", *given, *TINY)
    assert ran.code == 2
    assert "cpu cannot compute in bf16: set training.precision to float32" in " ".join(ran.err.split())


def test_labels_that_look_like_markup(nearspan_command, tmp_path: Path):
    texts = ("[Ada]([/b]) left", "[Bob]([/b]) stayed", "[Eve]([red]) slept", "[Ada]([/b]) slept")
    documents = [nearspan.markup(text) for text in texts]
    nearspan.write(documents, tmp_path / "odd.jsonl")
    odd = tmp_path / "odd.jsonl"
    ran = nearspan_command("train", "instance", "--train", odd, "--dev", odd, "--out", tmp_path / "m", *TINY)
    assert ran.code == 0
    assert "labels: [/b], [red]" in ran.err
    ran = nearspan_command("evaluate", tmp_path / "m", odd)
    assert ran.code == 0
    assert "[/b]" in ran.out


@pytest.mark.parametrize(
    ("checkpoint", "advice"), [(True, "with --resume goes on"), (False, "without --resume begins")]
)
def test_a_stopped_run_says_whether_there_is_a_checkpoint(
    nearspan_command, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checkpoint: bool, advice: str
):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "train", stop)
    if checkpoint:
        (tmp_path / "checkpoint.safetensors").touch()
    ran = nearspan_command("train", "classifier", "--train", corpus, "--out", tmp_path)
    assert ran.code == 130
    assert advice in " ".join(ran.err.split())


def test_resume_by_command(nearspan_command, corpus: Path, tmp_path: Path):
    common = ["train", "instance", "--train", corpus, "--out", tmp_path / "m", "--device", "cpu", *TINY]
    assert nearspan_command(*common).code == 0
    assert nearspan_command(*common).code == 2
    assert nearspan_command(*common, "--resume").code == 0


def test_synonyms_are_learned_by_command(nearspan_command, corpus: Path, tmp_path: Path):
    common = ["train", "classifier", "--train", corpus, "--device", "cpu", *CLASSIFIER]
    settings = ["--set", "losses.generators.pretraining=0", "--set", "losses.generators.size=4"]
    ran = nearspan_command(*common, *settings, "--out", tmp_path / "m", "--synonyms", "sample")
    assert ran.code == 0, ran.err
    assert nearspan.load(tmp_path / "m", device="cpu").network.generators.vocabulary.synonyms
    missing = nearspan_command(*common, *settings, "--out", tmp_path / "n", "--synonyms", tmp_path / "none.tsv")
    assert missing.code == 2


def test_metrics_go_to_tensorboard(nearspan_command, corpus: Path, tmp_path: Path):
    pytest.importorskip("tensorboard")
    common = ["train", "classifier", "--train", corpus, "--dev", corpus, "--device", "cpu", *CLASSIFIER]
    ran = nearspan_command(*common, "--out", tmp_path / "m", "--track", "tensorboard")
    assert ran.code == 0, ran.err
    assert list((tmp_path / "m" / "nearspan").glob("events.out.*"))
    ran = nearspan_command(*common, "--out", tmp_path / "n", "--track", "wanbd")
    assert ran.code == 2
    assert "did you mean 'wandb'?" in ran.err
    assert not (tmp_path / "n").exists()


POOLED = [
    "--set",
    "representation.kind=pooling",
    "--set",
    "representation.projection.size=4",
    "--set",
    "training.batch=1",
]


@pytest.mark.parametrize("name", ["instance", "classifier"])
def test_two_processes_train_one_model(corpus: Path, tmp_path: Path, name: str):
    """The classifier with pooled spans and sentences of one word, which have no wide spans to learn from."""
    (tmp_path / "short.conll").write_text("Ada B-PERSON\n\n" * 4)
    source = str(Path(nearspan.__file__).parents[1])
    settings = {"PYTHONPATH": source, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "ACCELERATE_USE_CPU": "1"}
    environment = {**os.environ, **settings}
    command = [
        sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "-m", "nearspan",
        "train", name, "--train", corpus, "--train", tmp_path / "short.conll", "--dev", corpus, "--out", tmp_path / "m",
        "--device", "cpu", *(TINY if name == "instance" else [*CLASSIFIER, *POOLED]),
    ]  # fmt: skip
    done = subprocess.run(
        list(map(str, command)), env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    model = nearspan.load(tmp_path / "m", device="cpu")
    assert len(list(model.pipe(["Ada lives in Oslo"]))) == 1
    assert len((tmp_path / "m" / "metrics.jsonl").read_text().splitlines()) == 2
    assert json.loads((tmp_path / "m" / "result.json").read_text())["processes"] == 2
    assert done.stderr.count("saved to") == 1


def test_without_a_recipe_it_starts_and_ends_with_what_to_do_next(nearspan_command, documents, tmp_path, monkeypatch):
    monkeypatch.setattr("nearspan.training.start.is_installed", lambda _: False)
    nearspan.write([document for document in documents for _ in range(2)], tmp_path / "data.jsonl")
    tiny = [setting.replace("characters.filters", "spelling.size") for setting in TINY]
    ran = nearspan_command(
        "train", "--train", tmp_path / "data.jsonl", "--out", tmp_path / "my model", "--device", "cpu",
        "--minutes", "5", *tiny,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    for part in ("start-static on cpu", "pip install 'nearspan[encoder]'", "held out for development: 2 documents"):
        assert part in " ".join(ran.err.split())
    lines = ran.err.splitlines()
    assert any("2 epochs, about 0:" in line for line in lines)
    out = f"'{tmp_path / 'my model'}'"
    assert lines[-3].strip() == f"nearspan evaluate {out} CORPUS"
    assert lines[-2].strip() == f"nearspan explain {out} 'Ada lives in Oslo'"
    assert lines[-1].strip() == f"nearspan serve {out}"
