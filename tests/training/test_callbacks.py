"""Callbacks: the order of the hooks, the metrics file, the progress that is shown or logged, and trackers."""

import io
import json
import logging
from pathlib import Path

import pytest
from accelerate.tracking import GeneralTracker
from rich.console import Console
from torch.optim.optimizer import register_optimizer_step_pre_hook

import nearspan
from nearspan.errors import ConfigError, ResourceError
from nearspan.training import ProgressBar, TrainingCallback
from nearspan.training.trackers import Trackers

STEPS = 3  # a dozen sentences in batches of four


class Recorder(TrainingCallback):
    """Notes the hooks that are called, and how far the training is."""

    def __init__(self, **options) -> None:
        super().__init__(**options)
        self.calls: list[tuple] = []

    def on_train_begin(self, recipe, data, folder, accelerator) -> None:
        self.calls.append(("train begin", recipe.name, folder.name, str(accelerator.device)))

    def on_resume(self, progress) -> None:
        self.calls.append(("resume", progress.epoch))

    def on_epoch_begin(self, progress, steps) -> None:
        self.calls.append(("epoch begin", progress.epoch, steps))

    def on_step(self, progress, steps) -> None:
        self.calls.append(("step", progress.step, steps))

    def on_epoch_end(self, progress, dev) -> None:
        self.calls.append(("epoch end", progress.epoch, dev and dev.measure, progress.history[-1]["epoch"]))

    def on_checkpoint(self, progress) -> None:
        self.calls.append(("checkpoint", progress.epoch))

    def on_train_end(self, run) -> None:
        self.calls.append(("train end", run.epochs))

    def close(self) -> None:
        self.calls.append(("close",))


@pytest.fixture
def train(tiny, documents, tmp_path: Path):
    def run(*settings: str, dev=documents[:4], **options):
        return nearspan.train(
            tiny("classifier", *settings), documents, dev, out=tmp_path / "m", device="cpu", **options
        )

    return run


def test_hooks_are_called_in_order(train):
    recorder = Recorder()
    train(callbacks=[recorder])
    begin, *epochs, end, close = recorder.calls
    assert begin == ("train begin", "classifier", "m", "cpu")
    assert epochs[:4] == [
        ("epoch begin", 0, STEPS),
        ("step", STEPS, STEPS),
        ("checkpoint", 1),
        ("epoch end", 1, "F1", 1),
    ]
    assert epochs[-2:] == [("checkpoint", 2), ("epoch end", 2, "F1", 2)]
    assert (end, close) == (("train end", 2), ("close",))


def test_an_epoch_that_is_short_beside_the_writing_of_a_checkpoint_gets_none(train, monkeypatch):
    """Writing takes a tenth of the time at most: here it takes a second, and an epoch takes four."""
    now = [1000.0]

    class Clock(Recorder):
        def on_checkpoint(self, progress) -> None:
            super().on_checkpoint(progress)
            now[0] += 1

        def on_epoch_begin(self, progress, steps) -> None:
            now[0] += 4

    monkeypatch.setattr("nearspan.training.trainer.time.monotonic", lambda: now[0])
    clock = Clock()
    train("training.epochs=8", "training.checkpoint_minutes=9", callbacks=[clock])
    assert [call[1] for call in clock.calls if call[0] == "checkpoint"] == [1, 4, 7, 8]


def test_steps_are_told_as_often_as_the_callback_asks_for(train):
    recorder = Recorder(logging_steps=1)
    train("training.epochs=1", callbacks=[TrainingCallback(), recorder])
    assert [call for call in recorder.calls if call[0] == "step"] == [("step", step, STEPS) for step in (1, 2, 3)]


def test_a_resumed_run_says_so(train):
    train()
    recorder = Recorder()
    train(callbacks=[recorder], resume=True)
    assert recorder.calls[1:] == [("resume", 2), ("train end", 2), ("close",)]


def test_callbacks_are_closed_where_an_error_stops_the_training(train):
    class Stopping(Recorder):
        def on_epoch_end(self, progress, dev) -> None:
            raise KeyboardInterrupt

    stopping = Stopping()
    with pytest.raises(KeyboardInterrupt):
        train(callbacks=[stopping])
    assert stopping.calls[-1] == ("close",)


def test_the_metrics_file_has_a_line_an_epoch(train, tmp_path: Path):
    run = train()
    rows = [json.loads(line) for line in (tmp_path / "m" / "metrics.jsonl").read_text().splitlines()]
    assert [set(row) for row in rows] == [{"epoch", "loss", "seconds", "precision", "recall", "f1"}] * 2
    assert max(row["f1"] for row in rows) == run.dev.scores.f1


def test_off_a_terminal_an_epoch_is_a_line_of_the_log(train, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "nearspan")
    train(callbacks=[ProgressBar(Console(file=io.StringIO()))])
    lines = [record.getMessage() for record in caplog.records if record.name == "nearspan.training"]
    assert [line.partition(":")[0] for line in lines] == ["epoch 1/2", "epoch 2/2"]
    assert all("loss " in line and "dev F1 " in line and "best " in line for line in lines)


def test_on_a_terminal_a_bar_shows_the_epochs_and_the_log_does_not(train, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "nearspan")
    console = Console(file=io.StringIO(), force_terminal=True, width=120, record=True)
    train(callbacks=[ProgressBar(console)])
    shown = console.export_text()
    for part in ("classifier on cpu: 22 entities", "labels: PERSON, PLACE", "epoch   2/2", "trained in", "dev F1"):
        assert part in shown
    assert not [record for record in caplog.records if record.name == "nearspan.training"]


# Trackers


class FakeTracker(GeneralTracker):
    """Keeps what it is sent."""

    name = "fake"
    requires_logging_directory = False

    def __init__(self) -> None:
        super().__init__()
        self.config: dict = {}
        self.logged: list[tuple[dict, int | None]] = []
        self.finished = 0

    @property
    def tracker(self):
        return self

    def store_init_configuration(self, values: dict) -> None:
        self.config = values

    def log(self, values: dict, step: int | None = None, **_) -> None:
        self.logged.append((values, step))

    def finish(self) -> None:
        self.finished += 1


def test_a_tracker_gets_the_recipe_the_losses_the_rates_and_the_scores(train, documents, tmp_path: Path):
    fake = FakeTracker()
    run = train("training.decay=1", test=documents[:2], track=[fake], callbacks=[TrainingCallback(logging_steps=1)])
    assert fake.config["name"] == "classifier"
    assert fake.config["training.epochs"] == 2
    assert all(isinstance(value, bool | int | float | str) for value in fake.config.values())
    steps = [(values, step) for values, step in fake.logged if "train/loss" in values]
    assert [step for _, step in steps] == [1, 2, 3, 4, 5, 6]
    assert [values["train/learning_rate"] for values, _ in steps] == pytest.approx([1e-3] * 3 + [5e-4] * 3)
    epochs = [(values, step) for values, step in fake.logged if "epoch" in values]
    rows = [json.loads(line) for line in (tmp_path / "m" / "metrics.jsonl").read_text().splitlines()]
    assert [step for _, step in epochs] == [3, 6]
    for row, (values, _), first in zip(rows, epochs, (0, 3), strict=True):
        assert [values[f"dev/{name}"] for name in ("precision", "recall", "f1")] == [
            row[name] for name in ("precision", "recall", "f1")
        ]
        assert values["train/epoch_loss"] == row["loss"]
        assert sum(values["train/loss"] for values, _ in steps[first : first + 3]) / 3 == pytest.approx(row["loss"])
    assert fake.logged[-1] == (
        {"best_epoch": run.best_epoch, **{f"test/{name}": value for name, value in run.test.scores.metrics().items()}},
        None,
    )
    assert fake.finished == 1


@pytest.mark.parametrize("settings", [(), ("losses.generators.pretraining=1", "losses.generators.size=4")])
def test_the_tracked_learning_rates_are_those_of_the_optimizer(train, settings: tuple[str, ...]):
    rates: list[float] = []
    hook = register_optimizer_step_pre_hook(lambda optimizer, *_: rates.append(optimizer.param_groups[0]["lr"]))
    fake = FakeTracker()
    try:
        train(
            "training.schedule=linear",
            "training.epochs=3",
            *settings,
            track=[fake],
            callbacks=[Recorder(logging_steps=1)],
        )
    finally:
        hook.remove()
    assert [values["train/learning_rate"] for values, _ in fake.logged if "train/loss" in values] == rates
    assert len(set(rates)) > 4


def test_a_tracker_that_fails_does_not_stop_the_training(train, caplog: pytest.LogCaptureFixture):
    class Failing(FakeTracker):
        def log(self, *_, **__) -> None:
            raise ConnectionError("the server is gone")

    failing, fake = Failing(), FakeTracker()
    assert train(track=[failing, fake]).epochs == 2
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert warnings == ["fake fails, training goes on without it: the server is gone"]
    assert fake.logged


def test_a_tracker_that_cannot_begin_is_a_clear_error(train, tmp_path: Path):
    class Failing(FakeTracker):
        def start(self) -> None:
            raise RuntimeError("no account")

    with pytest.raises(ResourceError, match="tracking with fake cannot begin: no account"):
        train(track=[Failing()])
    assert not (tmp_path / "m").exists()


def test_tracking_changes_no_weight(train, tmp_path: Path):
    train(track=[FakeTracker()])
    tracked = (tmp_path / "m" / "model.safetensors").read_bytes()
    (tmp_path / "m").rename(tmp_path / "tracked")
    train()
    assert (tmp_path / "m" / "model.safetensors").read_bytes() == tracked


def test_tensorboard_has_its_events_in_the_folder_of_the_run(train, tmp_path: Path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    train(track=["tensorboard"])
    (events,) = (tmp_path / "m" / "nearspan").glob("events.out.*")
    scalars = EventAccumulator(str(events)).Reload()
    assert {"train/loss", "train/learning_rate", "train/epoch_loss", "dev/precision", "dev/recall", "dev/f1"} <= set(
        scalars.Tags()["scalars"]
    )
    rows = [json.loads(line) for line in (tmp_path / "m" / "metrics.jsonl").read_text().splitlines()]
    assert [event.value for event in scalars.Scalars("dev/f1")] == pytest.approx([row["f1"] for row in rows])
    assert [event.step for event in scalars.Scalars("dev/f1")] == [STEPS, 2 * STEPS]
    assert nearspan.load(tmp_path / "m", device="cpu")


def test_an_unknown_tracker_and_a_missing_package_are_named_before_training(train, tmp_path: Path, monkeypatch):
    with pytest.raises(ConfigError, match="there is no tracker 'tensorbord'; did you mean 'tensorboard'"):
        train(track=["tensorbord"])
    monkeypatch.setattr("nearspan.training.trackers.get_available_trackers", list)
    with pytest.raises(ResourceError, match="needs the package wandb, which is not installed: pip install wandb"):
        Trackers(["wandb"])
    assert not (tmp_path / "m").exists()
