"""The learning rate of every step: its values, what training does with it, and that a resumed run goes on with it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from torch.optim.optimizer import register_optimizer_step_pre_hook

import nearspan
from nearspan.config import TrainingSettings
from nearspan.training.schedule import inverse, linear, rate


def test_linear_rises_from_zero_to_the_peak_and_falls_to_zero():
    rates = [linear(0.1, step, 10, warmup=0.2) for step in range(11)]
    assert rates[:3] == pytest.approx([0, 0.05, 0.1])
    assert rates[2:] == pytest.approx([0.1 * left / 8 for left in range(8, -1, -1)])


@pytest.mark.parametrize("total", [1, 2, 4])
def test_where_the_warm_up_is_less_than_a_step_training_begins_at_the_peak(total: int):
    assert linear(0.1, 0, total, warmup=0.2) == 0.1
    assert linear(0.1, total - 1, total, warmup=0.2) == pytest.approx(0.1 / total)


@pytest.mark.parametrize("warmup", [0.0, 0.5, 0.99])
def test_any_share_may_be_warm_up(warmup: float):
    rates = [linear(1.0, step, 100, warmup) for step in range(101)]
    assert rates.index(max(rates)) == round(100 * warmup)
    assert max(rates) == 1
    assert rates[100] == 0


def test_inverse_is_the_same_through_an_epoch():
    settings = TrainingSettings(decay=0.5)
    assert [inverse(0.1, epoch, 0.5) for epoch in range(3)] == pytest.approx([0.1, 0.1 / 1.5, 0.05])
    assert [rate(settings, 0.1, 2, step, 7) for step in range(7)] == [inverse(0.1, 2, 0.5)] * 7


def test_linear_counts_steps_over_all_epochs():
    settings = TrainingSettings(schedule="linear", epochs=3, warmup=0.5)
    rates = [rate(settings, 0.1, epoch, step, 4) for epoch in range(3) for step in range(4)]
    assert rates == [linear(0.1, step, 12, 0.5) for step in range(12)]


@pytest.mark.parametrize("schedule", ["linear", "inverse"])
def test_the_schedule_begins_anew_when_generators_have_learned_alone(schedule: str):
    settings = TrainingSettings(schedule=schedule, epochs=5)
    rates = [rate(settings, 0.1, epoch, step, 4, pretraining=2) for epoch in range(5) for step in range(4)]
    for epochs, phase in ((2, rates[:8]), (3, rates[8:])):
        alone = TrainingSettings(schedule=schedule, epochs=epochs)
        assert phase == [rate(alone, 0.1, epoch, step, 4) for epoch in range(epochs) for step in range(4)]


def test_one_epoch_has_the_whole_of_the_schedule():
    settings = TrainingSettings(schedule="linear", epochs=1)
    assert [rate(settings, 1.0, 0, step, 5) for step in range(5)] == [0, 1, 0.75, 0.5, 0.25]


@pytest.fixture
def step_rates() -> Iterator[list[tuple[float, ...]]]:
    """The learning rates of every step that an optimizer takes."""
    rates: list[tuple[float, ...]] = []
    hook = register_optimizer_step_pre_hook(
        lambda optimizer, *_: rates.append(tuple(group["lr"] for group in optimizer.param_groups))
    )
    yield rates
    hook.remove()


class Stopped(Exception):
    """Raised in the midst of a run."""


class Stopping(nearspan.training.TrainingCallback):
    """Stops a run once a number of steps are done and kept."""

    def __init__(self, steps: int) -> None:
        super().__init__(logging_steps=1)
        self.left = steps

    def on_step(self, *_) -> None:
        self.left -= 1
        if self.left < 0:
            raise Stopped


def test_a_resumed_run_goes_on_with_the_schedule(tiny, documents, tmp_path: Path, step_rates):
    recipe = tiny("classifier", "training.schedule=linear", "training.checkpoint_minutes=0", "training.epochs=3")
    data = {"train": documents, "out": tmp_path / "m", "device": "cpu"}
    with pytest.raises(Stopped):
        nearspan.train(recipe, callbacks=[Stopping(4)], **data)
    assert len(step_rates) == 5  # the last of them is not in the checkpoint
    del step_rates[4:]
    nearspan.train(recipe, resume=True, **data)
    assert step_rates == [(linear(0.001, step, 9, 0.2),) for step in range(9)]


def test_adamw_decays_the_weights_and_adam_does_not(tiny, documents, tmp_path: Path):
    kinds = {"a": ["adam"], "b": ["adamw", "training.weight_decay=0"], "c": ["adamw", "training.weight_decay=1"]}
    norms = {}
    for out, (optimizer, *more) in kinds.items():
        recipe = tiny("classifier", "training.learning_rate=0.02", f"training.optimizer={optimizer}", *more)
        run = nearspan.train(recipe, documents, out=tmp_path / out, device="cpu")
        norms[out] = run.model.network.head.weight.detach().norm().item()
    assert norms["a"] == pytest.approx(norms["b"], rel=1e-6)
    assert norms["c"] < 0.95 * norms["b"]
