"""Tuning: trials of a recipe's settings, compared by their development F1."""

from __future__ import annotations

import gc
import hashlib
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from rich.console import Console

from nearspan.config import Recipe, load
from nearspan.device import usable_device, usable_seed
from nearspan.document import Document
from nearspan.errors import ConfigError, NearspanError, ResourceError
from nearspan.formats import Documents, as_documents
from nearspan.io.paths import exists, is_file
from nearspan.losses import SynonymSource
from nearspan.training.data import digest
from nearspan.training.loop import train as train_recipe
from nearspan.training.tuning.progress import TrialCallback, TrialFinished, TrialPruned, TuningBar
from nearspan.training.tuning.space import SOURCE, Space
from nearspan.training.tuning.trials import FILES, STUDY, Trial, rank_trials, tuned_recipe, write_trials

if TYPE_CHECKING:  # Optuna is an extra
    from nearspan.training.tuning.study import RunningTrial, Study

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
    place, seed, folder = usable_device(device), usable_seed(seed), Path(out)
    name = _study_name(recipe, space, train, dev, seed, synonyms)
    with _open_study(folder, name, space, seed, resume=resume) as study:
        bar = TuningBar(console, trials)
        return _Tuner(study, recipe, train, dev, folder, seed, place, bar, synonyms).run(trials)


@dataclass
class _Tuner:
    """Runs the trials of a study one after the other."""

    study: Study
    recipe: Recipe
    train: Sequence[Document]
    dev: Sequence[Document]
    folder: Path
    seed: int
    device: torch.device
    bar: TuningBar
    synonyms: SynonymSource | None
    written: Recipe | None = None  # in best.toml

    def run(self, count: int) -> TuningResult:
        """Go on until `count` trials have ended; an error if all failed."""
        trials = self.write()
        self.bar.on_tuning_begin(trials)
        failures = 0
        try:
            while sum(trial.state != "interrupted" for trial in trials) < count and failures < MOST_FAILURES:
                self._run_trial()
                trials = self.write()
                failures = failures + 1 if not rank_trials(trials) else 0
                self.bar.on_trial_end(trials[-1], trials)
        finally:
            self.bar.close(self.write())
        if not rank_trials(trials):
            errors = [trial.error for trial in trials if trial.error]
            raise NearspanError(f"all {len(errors)} trials failed; the last one: {errors[-1]}")
        return TuningResult(tuned_recipe(self.recipe, trials, self.seed), trials)

    def write(self) -> list[Trial]:
        """Write all trials, and the recipe of the best one where there is a better one."""
        trials = self.study.trials()
        best = tuned_recipe(self.recipe, trials, self.seed) if rank_trials(trials) else None
        write_trials(self.folder, trials, best if best != self.written else None)
        self.written = best
        return trials

    def _run_trial(self) -> None:
        trial = self.study.next_trial()
        self.bar.on_trial_begin(trial.number)
        if trial.same is not None:
            trial.repeat(trial.same)
            return
        began = time.monotonic()
        try:
            self._train(trial)
        except TrialFinished:
            trial.end("complete", time.monotonic() - began)
        except TrialPruned:
            trial.end("pruned", time.monotonic() - began)
        except (NearspanError, torch.cuda.OutOfMemoryError) as error:
            trial.end("failed", time.monotonic() - began, str(error))

    def _train(self, trial: RunningTrial) -> None:
        scratch = self.folder / SCRATCH
        shutil.rmtree(scratch, ignore_errors=True)  # of a trial that was killed
        try:
            recipe = self.recipe.override(trial.overrides, SOURCE)
            trial.begin(recipe)
            train_recipe(
                recipe,
                self.train,
                self.dev,
                out=scratch,
                seed=self.seed,
                device=str(self.device),
                callbacks=[TrialCallback(trial.report, self.bar)],
                synonyms=self.synonyms,
            )
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
            if self.device.type == "cuda":
                gc.collect()  # the networks of earlier trials


def _open_study(folder: Path, name: str, space: Space, seed: int, *, resume: bool) -> AbstractContextManager[Study]:
    """The study of this name in a folder."""
    try:
        from nearspan.training.tuning.study import open_study
    except ModuleNotFoundError as error:
        raise ResourceError("tuning needs optuna, which is not installed: pip install 'nearspan[tune]'") from error
    if resume and not is_file(folder / STUDY):
        raise NearspanError(f"nothing to resume in {folder}: there is no {STUDY}; begin without `resume`")
    if not resume and any(exists(folder / file) for file in FILES):
        raise NearspanError(f"{folder} already holds a tuning: give another `out`, or `resume` to go on with it")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NearspanError(f"cannot make the folder {folder}: {error}") from error
    return open_study(folder, name, space, seed, resume=resume)


def _study_name(
    recipe: Recipe,
    space: Space,
    train: Sequence[Document],
    dev: Sequence[Document],
    seed: int,
    synonyms: SynonymSource | None,
) -> str:
    """Sixteen hexadecimal digits that tell this tuning from another."""
    settings = recipe.override(["training.checkpoint_minutes=0"]).model_dump_json()
    texts = {entity.span.text(document.text) for document in train for entity in document.entities}
    learned = repr([(text, synonyms.of(text)) for text in sorted(texts)]) if synonyms is not None else ""
    identity = f"{settings}\0{space}\0{digest(train)}\0{digest(dev)}\0{seed}\0{learned}"
    return hashlib.sha256(identity.encode()).hexdigest()[:16]
