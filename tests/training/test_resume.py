"""Killed with SIGKILL and resumed, a run ends with the very weights of an uninterrupted one."""

import json
import multiprocessing
import os
import random
import signal
from pathlib import Path

import pytest
from safetensors.torch import load_file

import nearspan
from nearspan.errors import ModelError, NearspanError
from nearspan.io.tensors import metadata_of, save_tensors
from nearspan.memory.editor import Editor
from nearspan.model import Model
from nearspan.model import folder as model_folder
from nearspan.training import CHECKPOINT, REFUSED, TrainingCallback

RECIPES = ("instance", "classifier")
SETTINGS = ("training.epochs=4", "training.batch=2", "training.checkpoint_minutes=0")
STEPS = 6  # a dozen sentences in batches of two


def die(*_, **__) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Doomed(TrainingCallback):
    """Kills the process after a number of steps."""

    def __init__(self, steps: int) -> None:
        super().__init__(logging_steps=1)
        self.left = steps

    def on_step(self, *_) -> None:
        self.left -= 1
        if self.left == 0:
            die()


def run_until_killed(work) -> None:
    """Do work in a process of its own that does not survive it."""
    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL


@pytest.fixture
def train(tiny, documents, tmp_path: Path):
    def run(name: str, out: str, *settings: str, data=documents, dev=documents[:4], **options):
        recipe = tiny(name, *SETTINGS, *settings)
        options = {"callbacks": [TrainingCallback(logging_steps=1)], **options}
        return nearspan.train(recipe, data, dev, out=tmp_path / out, device="cpu", **options)

    return run


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


def metrics(folder: Path) -> list[dict]:
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("seed", range(3))
def test_killed_at_a_random_step(train, tmp_path: Path, name: str, seed: int):
    whole = train(name, "whole")
    steps = random.Random(f"{name} {seed}").sample(range(2, 4 * STEPS), 2)
    run_until_killed(lambda: train(name, "cut", callbacks=[Doomed(steps[0])]))
    assert (tmp_path / "cut" / CHECKPOINT).exists()
    if steps[1] < 4 * STEPS - steps[0]:  # and once more, on the way on
        run_until_killed(lambda: train(name, "cut", callbacks=[Doomed(steps[1])], resume=True))
    run = train(name, "cut", resume=True)
    assert weights(tmp_path / "cut") == weights(tmp_path / "whole")
    assert (tmp_path / "cut" / "memory.safetensors").read_bytes() == (
        tmp_path / "whole" / "memory.safetensors"
    ).read_bytes()
    assert run.best_epoch == whole.best_epoch
    assert metrics(tmp_path / "cut") == metrics(tmp_path / "whole")


@pytest.mark.parametrize("name", RECIPES)
def test_killed_with_another_optimizer_schedule_and_objective(train, tmp_path: Path, name: str):
    settings = ["training.optimizer=adamw", "training.schedule=linear", "losses.boundary_smoothing.epsilon=0.2"]
    train(name, "whole", *settings)
    run_until_killed(lambda: train(name, "cut", *settings, callbacks=[Doomed(9)]))
    train(name, "cut", *settings, resume=True)
    assert weights(tmp_path / "cut") == weights(tmp_path / "whole")


def test_killed_with_a_memory_of_training_words(train, tmp_path: Path):
    settings = ["encoder.sentence_context.size=3", "training.learning_rate=0.3"]
    train("hire", "whole", *settings)
    for cut, steps in (("at once", 3), ("within", 2 * STEPS + 3), ("between", 2 * STEPS)):
        run_until_killed(lambda steps=steps, cut=cut: train("hire", cut, *settings, callbacks=[Doomed(steps)]))
        train("hire", cut, *settings, resume=True)
        assert weights(tmp_path / cut) == weights(tmp_path / "whole")  # what words recall included
        assert metrics(tmp_path / cut) == metrics(tmp_path / "whole")


def test_killed_with_momentum(train, tmp_path: Path):
    settings = ["training.optimizer=sgd", "training.momentum=0.9", "training.weight_decay=0.001"]
    train("classifier", "whole", *settings)
    run_until_killed(lambda: train("classifier", "cut", *settings, callbacks=[Doomed(9)]))
    train("classifier", "cut", *settings, resume=True)
    assert weights(tmp_path / "cut") == weights(tmp_path / "whole")


def test_killed_with_draws_a_growing_weight_and_tuned_thresholds(train, tmp_path: Path):
    settings = ["representation.kind=endpoint_mean", "bottleneck.size=6", "bottleneck.beta=0.01", "head.kind=sigmoid"]
    settings += ["head.tuned=true", "head.threshold=0.1"]
    train("classifier", "whole", *settings)
    for cut, steps in (("within", 9), ("between", 2 * STEPS)):
        run_until_killed(lambda steps=steps, cut=cut: train("classifier", cut, *settings, callbacks=[Doomed(steps)]))
        train("classifier", cut, *settings, resume=True)
        assert weights(tmp_path / cut) == weights(tmp_path / "whole")


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("place", ["before the save", "in the save"])
def test_killed_between_the_last_checkpoint_and_the_end(train, tmp_path: Path, monkeypatch, name: str, place: str):
    train(name, "whole")
    with monkeypatch.context() as patched:
        if place == "before the save":
            patched.setattr(Model, "save", die)
        else:  # weights and memory are written, settings are not
            patched.setattr(model_folder.tomli_w, "dumps", die)
        run_until_killed(lambda: train(name, "cut"))
    with pytest.raises(ModelError, match="`resume`"):
        nearspan.load(tmp_path / "cut", device="cpu")
    train(name, "cut", resume=True)
    assert weights(tmp_path / "cut") == weights(tmp_path / "whole")
    assert nearspan.load(tmp_path / "cut", device="cpu")


def test_killed_while_a_checkpoint_is_written(train, tmp_path: Path, monkeypatch):
    from nearspan.io import tensors

    train("classifier", "whole")
    with monkeypatch.context() as patched:
        save, calls = tensors.save_file, []

        def torn(content, path, metadata):
            calls.append(path)
            if len(calls) == 4:
                assert path.name == CHECKPOINT
                path.write_bytes(b"half of a checkp")
                die()
            save(content, path, metadata)

        patched.setattr(tensors, "save_file", torn)
        run_until_killed(lambda: train("classifier", "cut"))
    assert (tmp_path / "cut" / f".{CHECKPOINT}.new" / CHECKPOINT).exists()
    train("classifier", "cut", resume=True)
    assert weights(tmp_path / "cut") == weights(tmp_path / "whole")


def test_a_finished_run_can_be_resumed_without_harm(train, tmp_path: Path):
    train("classifier", "m")
    before = weights(tmp_path / "m")
    train("classifier", "m", resume=True)
    assert weights(tmp_path / "m") == before


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("built", [False, True])
def test_a_finished_run_is_not_resumed_over_an_edited_memory(train, tmp_path: Path, built: bool):
    train("instance", "m")
    editor = Editor.open(tmp_path / "m", device="cpu")
    editor.forget("d3")
    if built:
        editor.build()
    for cut_off in (False, True):
        if cut_off:  # as a save over it leaves it that is killed
            (tmp_path / "m" / "config.toml").unlink()
        before = contents(tmp_path / "m")
        with pytest.raises(NearspanError, match=r"nothing to resume in .* edited .* another `out`"):
            train("instance", "m", resume=True)
        assert contents(tmp_path / "m") == before


def test_edits_of_a_replaced_model_do_not_stop_its_successor(train, tmp_path: Path):
    train("instance", "m")
    Editor.open(tmp_path / "m", device="cpu").forget("d3")
    for name in REFUSED:  # as `nearspan demo` replaces an earlier one
        (tmp_path / "m" / name).unlink(missing_ok=True)
    run_until_killed(lambda: train("instance", "m", callbacks=[Doomed(9)]))
    train("instance", "m", resume=True)
    assert len(nearspan.load(tmp_path / "m", device="cpu").datastore.sentences) == 12


def test_more_checkpoints_are_no_other_run(train, tmp_path: Path):
    run_until_killed(lambda: train("classifier", "m", callbacks=[Doomed(9)]))
    train("classifier", "m", "training.checkpoint_minutes=7", resume=True)


@pytest.fixture
def stopped(train, tmp_path: Path) -> Path:
    run_until_killed(lambda: train("classifier", "m", callbacks=[Doomed(9)]))
    return tmp_path / "m"


def test_another_runs_checkpoint_is_refused(train, stopped: Path, documents):
    changed = [*documents[:-1], nearspan.markup("[Zed](PERSON) came")]
    before = (stopped / CHECKPOINT).read_bytes()
    for settings, options in (
        ([], {"data": changed}),
        ([], {"dev": documents[:3]}),
        ([], {"seed": 7}),
        (["training.learning_rate=0.5"], {}),
        (["encoder.bilstm.size=9"], {}),
        (["training.epochs=5"], {}),
    ):
        with pytest.raises(ModelError, match="belongs to another run"):
            train("classifier", "m", *settings, resume=True, **options)
    with pytest.raises(ModelError, match="belongs to another run"):
        train("instance", "m", resume=True)
    assert (stopped / CHECKPOINT).read_bytes() == before


def write_vectors(path: Path, number: float) -> Path:
    path.write_text("".join(f"{word} {number} {number / 2} 0.5\n" for word in ("ada", "oslo", "zebra")))
    return path


@pytest.mark.parametrize("trainable", ["false", "true"])
def test_other_word_vectors_for_the_same_words_are_refused(train, tmp_path: Path, trainable: str):
    vectors = write_vectors(tmp_path / "vectors.txt", 1.25)
    settings = [f"encoder.vectors.file={vectors}", f"encoder.vectors.trainable={trainable}"]
    train("classifier", "whole", *settings)
    run_until_killed(lambda: train("classifier", "m", *settings, callbacks=[Doomed(9)]))
    write_vectors(vectors, 2.5)
    with pytest.raises(ModelError, match="the word vectors or the encoder have changed since"):
        train("classifier", "m", *settings, resume=True)
    write_vectors(vectors, 1.25)
    train("classifier", "m", *settings, resume=True)
    assert weights(tmp_path / "m") == weights(tmp_path / "whole")


def test_nothing_to_resume(train, tmp_path: Path):
    with pytest.raises(ModelError, match="nothing to resume"):
        train("classifier", "absent", resume=True)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError, match="nothing to resume"):
        train("classifier", "empty", resume=True)


def rewrite(path: Path, change) -> None:
    save_tensors(change(load_file(path)), path, {"progress": metadata_of(path)["progress"]})


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-9] ^= 1
    path.write_bytes(content)


def shrink_a_weight(tensors):
    name = next(name for name in tensors if name.startswith("network/"))
    return {**tensors, name: tensors[name][:1].contiguous()}


DAMAGE = {
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-50]),
    "cut in the head": lambda path: path.write_bytes(path.read_bytes()[:50]),
    "garbage": lambda path: path.write_bytes(b"\xff" * 1000),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "a bit flip_a_bit": flip_a_bit,
    "no progress": lambda path: save_tensors(load_file(path), path),
    "odd progress": lambda path: save_tensors(load_file(path), path, {"progress": '{"x": 1}'}),
    "no tensors": lambda path: rewrite(path, lambda _: {}),
    "other shapes": lambda path: rewrite(path, shrink_a_weight),
    "odd names": lambda path: rewrite(path, lambda t: {name.replace("/", "/x/"): v for name, v in t.items()}),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_checkpoint_is_a_model_error(train, stopped: Path, damage: str):
    DAMAGE[damage](stopped / CHECKPOINT)
    with pytest.raises(ModelError):
        train("classifier", "m", resume=True)


def test_stopped_at_the_first_checkpoint_a_run_begins_anew(train, tmp_path: Path, monkeypatch):
    """Nothing is left that the next run would take for another's."""
    with monkeypatch.context() as patched:

        def full(*_, **__):
            raise OSError(28, "No space left on device")

        patched.setattr("nearspan.training.checkpoint.save_tensors", full)
        with pytest.raises(ModelError, match=r"cannot write a checkpoint .* No space left"):
            train("classifier", "m")
    assert not (tmp_path / "m").exists()
    assert train("classifier", "m").epochs == 4


def test_a_second_process_does_not_train_in_the_same_folder(train, tmp_path: Path):
    class Second(TrainingCallback):
        def on_train_begin(self, *_) -> None:
            self.expect_refusal(resume=False)

        def on_epoch_end(self, *_) -> None:
            self.expect_refusal(resume=True)

        def expect_refusal(self, resume: bool) -> None:
            with pytest.raises(NearspanError, match=r"another process is training in .* another `out`"):
                train("classifier", "m", resume=resume)

    assert train("classifier", "m", callbacks=[Second(logging_steps=1)]).epochs == 4
    assert not (tmp_path / "m" / "training.lock").exists()
