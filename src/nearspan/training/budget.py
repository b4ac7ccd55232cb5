"""A training that fits the minutes it was given: its pace is measured first, and its epochs are chosen by it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from math import ceil

from accelerate.utils import broadcast_object_list

from nearspan.evaluation import Evaluator
from nearspan.shares import shared_out
from nearspan.training.trainer import Trainer

SHARE = 0.02  # of the time, to measure the pace of the steps
SCORING = 0.15  # of the time of the steps, at most, goes into scores where time is short
SAVING = 3.0  # seconds to save the model
TOLERANCE = 1.08  # a training that will take so much longer than it may has fallen behind
FITS = 3  # scores of the development data by which it is fitted how often spans count
FEWEST_STEPS = 100  # that are taken before anything is made of the time


@dataclass(frozen=True)
class Pace:
    """Seconds that parts of a training take."""

    epoch: float  # the steps of one
    scoring: float  # of the development data after an epoch, with the datastore before it
    ending: float  # what comes after the last epoch

    scored: int = 1  # every so many epochs one is scored, and the last one always

    def sparing(self, seconds: float, most: int) -> Pace:
        """The same with fewer epochs scored, where the time does not do for `most` epochs and all their scores.

        >>> Pace(epoch=100, scoring=40, ending=20).sparing(600, most=40).scored
        3
        """
        if self.seconds_for(most) <= seconds or not self.epoch:
            return self
        return replace(self, scored=max(1, ceil(self.scoring / (SCORING * self.epoch))))

    def epochs_within(self, seconds: float) -> int:
        """The epochs that fit, one at least.

        >>> Pace(epoch=50, scoring=10, ending=20).epochs_within(600)
        9
        >>> Pace(epoch=50, scoring=10, ending=20, scored=3).epochs_within(600)
        10
        """
        epochs = max(1, int((seconds - self.ending) / self.epoch))
        while epochs > 1 and self.seconds_for(epochs) > seconds:
            epochs -= 1
        return epochs

    def seconds_for(self, epochs: int) -> float:
        """How long so many epochs take, to the end.

        >>> Pace(epoch=50, scoring=10, ending=20).seconds_for(9)
        560
        """
        return epochs * self.epoch + ceil(epochs / self.scored) * self.scoring + self.ending


@dataclass
class Clock:
    """Sees to it that a training which was planned ends in time.

    As long as it keeps to the plan, steps alone count, so that it can be repeated. Where it falls behind, as on a
    machine that gets busier, or where one epoch alone is too long, the learning rate follows the time that is left
    instead, and steps end when it is over.
    """

    pace: Pace
    epochs: int
    seconds: float  # that the whole training may take
    began: float  # when the training did
    planned: float  # when the plan was made
    slowness: float = 1.0  # how much longer steps and scoring take than was measured
    behind: tuple[float, float] | None = None  # when the plan was given up, and the share of all steps done then

    def look(self, epochs: float, steps: int) -> None:
        """Compare the time with what was done since: so many epochs, of so many steps in all."""
        now = time.perf_counter()
        expected = epochs * self.pace.epoch + int(epochs / self.pace.scored) * self.pace.scoring
        if self.behind is not None or steps < FEWEST_STEPS or not expected:
            return
        self.slowness = (now - self.planned) / expected
        needed = self.planned - self.began + self.slowness * self.pace.seconds_for(self.epochs)
        if needed > TOLERANCE * self.seconds:
            self.behind = now, epochs / self.epochs

    @property
    def share(self) -> float | None:
        """The share of the training that is done, where the time decides: 1 when the steps have to end."""
        if self.behind is None:
            return None
        since, share = self.behind
        end = self.began + self.seconds - self.slowness * (self.pace.scoring + self.pace.ending)
        if end <= since:
            return 1.0
        return min(1.0, share + (1 - share) * (time.perf_counter() - since) / (end - since))


def plan_epochs(
    trainer: Trainer, evaluator: Evaluator | None, tested: float, began: float
) -> tuple[int, int, float, Clock | None]:
    """The epochs that fit `training.minutes`, no more than `training.epochs`; every how many of them one is scored; and
    the seconds from `began` to the end.

    With them comes the clock that sees to it, where one process trains alone. `tested` is how many test sentences there
    are for each one of the development data.
    """
    settings = trainer.settings
    whole = 60 * settings.minutes
    pace = _measure(trainer, evaluator, tested, SHARE * whole)
    spent = time.perf_counter() - began
    pace = pace.sparing(whole - spent, settings.epochs)
    least = trainer.pretraining + 1  # an epoch for the head
    epochs = min(settings.epochs, max(least, pace.epochs_within(whole - spent)))
    plan = [epochs, pace.scored, spent + pace.seconds_for(epochs)]
    broadcast_object_list(plan)  # all processes take as many steps
    alone = trainer.accelerator.num_processes == 1 and not trainer.pretraining
    clock = Clock(pace, epochs, whole, began, time.perf_counter()) if alone else None
    least_seconds = spent + pace.scoring + pace.ending
    seconds = min(plan[2], max(whole, least_seconds)) if clock is not None else plan[2]
    return int(plan[0]), int(plan[1]), float(seconds), clock


def _measure(trainer: Trainer, evaluator: Evaluator | None, tested: float, seconds: float) -> Pace:
    """Take some steps and score once; the weights stay as they are."""
    epoch = trainer.time_epoch(seconds)
    began = time.perf_counter()
    with shared_out():
        trainer.refresh()
        filling = time.perf_counter() - began
        if evaluator is not None:
            evaluator.evaluate()
    scoring = time.perf_counter() - began
    scored = tested + (FITS if trainer.model.network.head.tunes_times and evaluator is not None else 0)
    return Pace(epoch, scoring if evaluator else 0.0, filling + scored * (scoring - filling) + SAVING)
