"""A training that fits the minutes it was given: its pace is measured first, and its epochs are chosen by it."""

import time
from dataclasses import dataclass

from accelerate.utils import broadcast_object_list

from nearspan.evaluation import Evaluator
from nearspan.training.trainer import Trainer

SHARE = 0.02  # of the time, to measure the pace of the steps
SAVING = 3.0  # seconds to save the model


@dataclass(frozen=True)
class Pace:
    """Seconds that parts of a training take."""

    epoch: float  # the steps of one
    scoring: float  # of the development data after an epoch, with the datastore before it
    ending: float  # what comes after the last epoch

    def epochs_within(self, seconds: float) -> int:
        """The epochs that fit, one at least.

        >>> Pace(epoch=50, scoring=10, ending=20).epochs_within(600)
        9
        """
        return max(1, int((seconds - self.ending) / (self.epoch + self.scoring)))

    def seconds_for(self, epochs: int) -> float:
        """How long so many epochs take, to the end.

        >>> Pace(epoch=50, scoring=10, ending=20).seconds_for(9)
        560
        """
        return epochs * (self.epoch + self.scoring) + self.ending


def plan_epochs(trainer: Trainer, evaluator: Evaluator | None, tested: float, began: float) -> tuple[int, float]:
    """The epochs that fit `training.minutes`, no more than `training.epochs`; and the seconds from `began` to the end.

    `tested` is how many test sentences there are for each one of the development data.
    """
    settings = trainer.settings
    whole = 60 * settings.minutes
    pace = _measure(trainer, evaluator, tested, SHARE * whole)
    spent = time.perf_counter() - began
    least = trainer.pretraining + 1  # an epoch for the head
    epochs = min(settings.epochs, max(least, pace.epochs_within(whole - spent)))
    plan = [epochs, spent + pace.seconds_for(epochs)]
    broadcast_object_list(plan)  # all processes take as many steps
    return int(plan[0]), float(plan[1])


def _measure(trainer: Trainer, evaluator: Evaluator | None, tested: float, seconds: float) -> Pace:
    """Take some steps and score once; the weights stay as they are."""
    epoch = trainer.time_epoch(seconds)
    began = time.perf_counter()
    trainer.refresh()
    filling = time.perf_counter() - began
    if evaluator is not None:
        evaluator.evaluate()
    scoring = time.perf_counter() - began
    return Pace(epoch, scoring if evaluator else 0.0, filling + tested * (scoring - filling) + SAVING)
