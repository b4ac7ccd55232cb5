"""Tuning: trials of a recipe's settings, compared by their development F1."""

from __future__ import annotations

import gc
import hashlib
import logging
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from accelerate import Accelerator
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.text import Text

from nearspan.config import Recipe, TrainingSettings, load
from nearspan.device import usable_device, usable_seed
from nearspan.document import Document
from nearspan.errors import ConfigError, NearspanError, ResourceError
from nearspan.evaluation import Evaluation
from nearspan.formats import Documents, as_documents
from nearspan.losses import SynonymSource
from nearspan.training.callbacks import TrainingCallback
from nearspan.training.checkpoint import Progress
from nearspan.training.data import TrainingData, digest
from nearspan.training.loop import train as train_recipe
from nearspan.training.tuning.space import SOURCE, Space
from nearspan.training.tuning.trials import Trial, rank_trials, trials_table, tuned_recipe, write_trials

if TYPE_CHECKING:  # Optuna is an extra
    from nearspan.training.tuning.study import RunningTrial, Study

logger = logging.getLogger("nearspan.training")

INTERVAL = 10.0  # seconds between two lines of the log
SCRATCH = "trial"  # folder of the trial that runs
MOST_FAILURES = 5  # trials that fail before any does not: the error is not in the settings that are tried


@dataclass(frozen=True)
class TuningResult:
    """The best recipe of a tuning, and all trials."""

    recipe: Recipe
    trials: list[Trial]

    @property
    def best(self) -> Trial:
        """The trial with the best development F1."""
        return rank_trials(self.trials)[0]

    def __repr__(self) -> str:
        return f"TuningResult({self.recipe.name}, trials: {len(self.trials)}, best dev F1 {self.best.percent})"


def tune(
    recipe: Recipe | str,
    train: Documents,
    dev: Documents,
    *,
    space: Space | Mapping[str, Any] | Path | str,
    out: Path | str,
    trials: int = 20,
    seed: int = 0,
    device: str = "",
    resume: bool = False,
    console: Console | None = None,
    synonyms: SynonymSource | None = None,
) -> TuningResult:
    """Try settings of a recipe, or of the one of this name, and keep those with the best development F1.

        space = {"training.learning_rate": "1e-4..1e-2:log", "training.batch": [8, 16]}
        nearspan.tune("instance", "train.conll", "dev.conll", space=space, out="tuned").recipe

    `space` maps settings to `LOW..HIGH`, `LOW..HIGH:log`, `LOW..HIGH:STEP`, `a|b|c` or a list of choices, or is a TOML
    file that does. The best settings so far are in `out/best.toml`, a recipe; no model is kept. With `resume` a tuning
    that was stopped goes on, up to `trials` in all, and on a CPU tries what it would have tried. `synonyms` are for
    recipes that generate them.
    """
    recipe = load(recipe) if isinstance(recipe, str) else recipe
    space = Space.of(space).for_recipe(recipe)
    train, dev = as_documents(train).documents, as_documents(dev).documents
    if not recipe.build_suggester().has_null:
        raise ConfigError(
            "tuning compares the F1 of recognition, and this recipe classifies given spans: set suggester.kind=all"
        )
    if not dev:
        raise ConfigError("tuning needs development documents to score the trials on: give `dev`")
    if trials < 1:
        raise ConfigError(f"`trials` is a number from 1, found {trials}")
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ConfigError("tuning runs in one process: start it without accelerate launch, and train best.toml with it")
    try:
        from nearspan.training.tuning.study import open_study
    except ModuleNotFoundError as error:
        raise ResourceError("tuning needs optuna, which is not installed: pip install 'nearspan[tune]'") from error
    place, seed, folder = str(usable_device(device)), usable_seed(seed), Path(out)
    name = _study_name(recipe, space, train, f"{digest(train)}\0{digest(dev)}", seed, synonyms)
    with open_study(folder, name, space, seed, resume=resume) as study:
        run_trial = partial(
            train_recipe, train=train, dev=dev, out=folder / SCRATCH, seed=seed, device=place, synonyms=synonyms
        )
        return _Tuner(study, recipe, folder, seed, run_trial, console or Console(quiet=True), trials).run()


@dataclass
class _Tuner:
    """Runs the trials of a study one after the other. A bar shows which one runs, how far it is and the best so far."""

    study: Study
    recipe: Recipe
    folder: Path
    seed: int
    train: Callable[..., Any]  # a recipe with callbacks
    console: Console
    count: int
    written: Recipe | None = None  # in best.toml

    def __post_init__(self) -> None:
        columns = (
            TextColumn("trial {task.fields[trial]}/{task.total}"),
            BarColumn(),
            TextColumn("{task.fields[epoch]}{task.fields[best]}"),
            TimeElapsedColumn(),
        )
        self.logged = time.monotonic()
        self.bar = Bar(*columns, console=self.console, transient=True, disable=not self.console.is_terminal)
        self.task = self.bar.add_task("", trial=0, epoch="", best="", total=self.count)

    def run(self) -> TuningResult:
        """Go on until `count` trials have ended, and show the best; an error if all failed."""
        trials = self.write()
        self.bar.start()
        failures = 0
        try:
            while sum(trial.state != "interrupted" for trial in trials) < self.count and failures < MOST_FAILURES:
                self._run_trial()
                trials = self.write()
                failures = failures + 1 if not rank_trials(trials) else 0
                self.show(trials[-1].number, 1.0)
                self.console.print(Text(str(trials[-1]), style="dim"), highlight=False, soft_wrap=True)
        finally:
            trials = self.write()
            self.bar.stop()
            if rank_trials(trials):
                self.console.print(trials_table(trials))
        if not rank_trials(trials):
            errors = [trial.error for trial in trials if trial.error]
            raise NearspanError(f"all {len(errors)} trials failed; the last one: {errors[-1]}")
        return TuningResult(tuned_recipe(self.recipe, trials, self.seed), trials)

    def write(self) -> list[Trial]:
        """Write all trials, and the recipe of the best one where there is a better one."""
        trials, best = self.study.trials(), None
        for trial in rank_trials(trials)[:1]:
            best = tuned_recipe(self.recipe, trials, self.seed)
            self.bar.update(self.task, best=f"best {trial.percent} (trial {trial.number})")
        write_trials(self.folder, trials, best if best != self.written else None)
        self.written = best
        return trials

    def show(self, number: int, done: float, epoch: str = "") -> None:
        """Show that this part of a trial is done; off a terminal log it every some seconds."""
        self.bar.update(self.task, completed=number - 1 + done, trial=number, epoch=epoch)
        if not self.console.is_terminal and epoch and time.monotonic() - self.logged >= INTERVAL:
            self.logged = time.monotonic()
            logger.info("trial %d/%d: %s", number, self.count, epoch.strip())

    def _run_trial(self) -> None:
        trial = self.study.next_trial()
        self.show(trial.number, 0.0)
        if trial.same is not None:
            trial.repeat(trial.same)
            return
        scratch = self.folder / SCRATCH
        shutil.rmtree(scratch, ignore_errors=True)  # of a trial that was killed
        began = time.monotonic()
        try:
            self.train(self.recipe.override(trial.overrides, SOURCE), callbacks=[TrialCallback(trial, self.show)])
        except TrialEnded as ended:
            trial.end(ended.args[0], time.monotonic() - began)
        except (NearspanError, torch.cuda.OutOfMemoryError) as error:
            trial.end("failed", time.monotonic() - began, str(error))
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
            gc.collect()  # the network, which may be on a GPU


class TrialEnded(Exception):
    """A trial has had its last epoch (complete), or is worse than others were after as many (pruned)."""


class TrialCallback(TrainingCallback):
    """Reports the development F1 of each epoch, and ends the run before its model would be saved."""

    keeps_checkpoints = False
    shows_progress = True

    def __init__(self, trial: RunningTrial, show: Callable[[int, float, str], None]) -> None:
        super().__init__()
        self.trial, self.show, self.score = trial, show, ""

    def on_train_begin(self, recipe: Recipe, data: TrainingData, folder: Path, accelerator: Accelerator) -> None:  # noqa: ARG002
        """Take the number of epochs."""
        self.epochs = recipe.training.epochs

    def on_plan(self, settings: TrainingSettings, seconds: float) -> None:  # noqa: ARG002
        """Take the number of epochs that the time allows."""
        self.epochs = settings.epochs

    def on_step(self, progress: Progress, steps: int) -> None:
        """Move the bar."""
        epoch = f"epoch {min(progress.epoch + 1, self.epochs)}/{self.epochs}  {self.score}"
        self.show(self.trial.number, (progress.epoch + progress.step / steps) / self.epochs, epoch)

    def on_epoch_end(self, progress: Progress, dev: Evaluation | None) -> None:
        """Report the score; end the trial after its last epoch, or where it may be pruned."""
        if dev is None:
            raise NearspanError("a trial without development documents has nothing to report")
        self.score = f"dev F1 {100 * dev.value:5.2f}  "
        prunable = self.trial.report(progress.epoch, dev.value, self.epochs)
        if progress.done or prunable:
            raise TrialEnded("complete" if progress.done else "pruned")


def _study_name(
    recipe: Recipe, space: Space, train: Sequence[Document], data: str, seed: int, synonyms: SynonymSource | None
) -> str:
    """Sixteen hexadecimal digits that tell this tuning from another; `data` is the digest of its documents."""
    settings = recipe.override(["training.checkpoint_minutes=0"]).model_dump_json()
    texts = {entity.text for document in train for entity in document.entities}
    learned = repr([(text, synonyms.of(text)) for text in sorted(texts)]) if synonyms is not None else ""
    identity = f"{settings}\0{space}\0{data}\0{seed}\0{learned}"
    return hashlib.sha256(identity.encode()).hexdigest()[:16]
