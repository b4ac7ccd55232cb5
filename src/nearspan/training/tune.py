"""Tuning: trials of a recipe's settings, by the development F1 that they reach."""

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
from nearspan.io.paths import exists, is_file
from nearspan.losses import SynonymSource
from nearspan.training.data import digest
from nearspan.training.loop import train as train_recipe
from nearspan.training.space import OPTION, Space
from nearspan.training.trials import BEST, STUDY, TRIALS, Trial, ranked, tuned, write_best, write_trials
from nearspan.training.tuning_callback import Finished, Pruned, TrialWatch, TuneWatch

if TYPE_CHECKING:  # Optuna is an extra
    from nearspan.training.study import Asked, Study

SCRATCH = "trial"  # folder of the trial that runs
HOPELESS = 5  # trials that fail before any does not: what is wrong is not in the settings that are tried


@dataclass(frozen=True)
class Tuned:
    """The best recipe of a tuning, and all that was tried."""

    recipe: Recipe
    trials: list[Trial]

    @property
    def best(self) -> Trial:
        """The trial with the best development F1."""
        return ranked(self.trials)[0]


def tune(
    recipe: Recipe | str,
    train: Sequence[Document],
    dev: Sequence[Document],
    *,
    space: Space | Mapping[str, Any] | Path | str,
    out: Path | str,
    trials: int = 20,
    seed: int = 0,
    device: str = "",
    resume: bool = False,
    console: Console | None = None,
    synonyms: SynonymSource | None = None,
) -> Tuned:
    """Try settings of a recipe, or of the one of this name, and keep those with the best development F1.

    `space` maps settings to `LOW..HIGH`, `LOW..HIGH:log`, `LOW..HIGH:STEP`, `a|b|c` or a list of choices,
    or is a TOML file that does. The best settings so far are in `out/best.toml`, a recipe; no model is
    kept. With `resume` a tuning that was stopped goes on, up to `trials` in all, and on a CPU tries what it
    would have tried. `synonyms` are for recipes that generate them.
    """
    recipe = load(recipe) if isinstance(recipe, str) else recipe
    space = _space(space).checked(recipe)
    folder = Path(out)
    if recipe.suggester.kind == "given":
        raise ConfigError(
            "tuning goes by the F1 of recognition, and this recipe's task is typing: try suggester.kind=all"
        )
    if not dev:
        raise ConfigError("tuning needs development documents to score the trials on: give `dev`")
    if trials < 1:
        raise ConfigError(f"`trials` takes a number from 1, found {trials}")
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ConfigError("tuning runs in one process: start it without accelerate launch, and train best.toml with it")
    place, seed = usable_device(device), usable_seed(seed)
    board = TuneWatch(console, trials)
    with _opened(folder, recipe, space, train, dev, seed, synonyms, resume=resume) as study:
        tuner = _Tuner(study, recipe, train, dev, folder, seed, place, board, synonyms)
        tuner.run(trials)
        return tuner.result()


class _Tuner:
    """Runs the trials of a study one after the other."""

    def __init__(
        self,
        study: Study,
        recipe: Recipe,
        train: Sequence[Document],
        dev: Sequence[Document],
        folder: Path,
        seed: int,
        device: torch.device,
        board: TuneWatch,
        synonyms: SynonymSource | None,
    ) -> None:
        self.study = study
        self.recipe = recipe
        self.train = train
        self.dev = dev
        self.folder = folder
        self.seed = seed
        self.device = device
        self.board = board
        self.synonyms = synonyms
        self.written: Recipe | None = None

    def run(self, trials: int) -> None:
        """Go on until so many trials have ended."""
        done = self.keep()
        self.board.begin(done)
        failed = 0
        try:
            while sum(trial.state != "interrupted" for trial in done) < trials and failed < HOPELESS:
                self._one()
                done = self.keep()
                failed = failed + 1 if not ranked(done) else 0
                self.board.ended(done[-1], done)
        finally:
            self.board.close(self.keep())

    def keep(self) -> list[Trial]:
        """Write what there is: all trials, and the best one's recipe where there is a better one."""
        done = self.study.trials()
        write_trials(self.folder, done)
        if ranked(done) and (best := self._best(done)) != self.written:
            write_best(self.folder, best)
            self.written = best
        return done

    def result(self) -> Tuned:
        """What came of it; an error if nothing did."""
        done = self.study.trials()
        if not ranked(done):
            errors = [trial.error for trial in done if trial.error]
            raise NearspanError(f"all {len(errors)} trials failed; the last one: {errors[-1]}")
        return Tuned(self._best(done), done)

    def _best(self, done: Sequence[Trial]) -> Recipe:
        best = ranked(done)[0]
        return tuned(self.recipe.override(best.overrides), best, self.seed)

    def _one(self) -> None:
        asked = self.study.ask()
        self.board.trial(asked.number)
        if asked.same is not None:
            asked.repeat(asked.same)
        else:
            self._train(asked)

    def _train(self, asked: Asked) -> None:
        began = time.monotonic()
        try:
            self._attempt(asked)
        except Finished:
            asked.end("complete", time.monotonic() - began)
        except Pruned:
            asked.end("pruned", time.monotonic() - began)
        except (NearspanError, torch.cuda.OutOfMemoryError) as error:
            asked.end("failed", time.monotonic() - began, str(error))

    def _attempt(self, asked: Asked) -> None:
        scratch = self.folder / SCRATCH
        shutil.rmtree(scratch, ignore_errors=True)  # of a trial that was killed
        try:
            recipe = self.recipe.override(asked.overrides, OPTION)
            asked.begin(recipe)
            train_recipe(
                recipe,
                self.train,
                self.dev,
                out=scratch,
                seed=self.seed,
                device=str(self.device),
                callbacks=[TrialWatch(asked.report, self.board)],
                synonyms=self.synonyms,
            )
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
            if self.device.type == "cuda":
                gc.collect()  # the networks of earlier trials


def _space(given: Space | Mapping[str, Any] | Path | str) -> Space:
    if isinstance(given, Path | str):
        return Space.read(given)
    return given if isinstance(given, Space) else Space.of(given)


def _opened(
    folder: Path,
    recipe: Recipe,
    space: Space,
    train: Sequence[Document],
    dev: Sequence[Document],
    seed: int,
    synonyms: SynonymSource | None,
    *,
    resume: bool,
) -> AbstractContextManager[Study]:
    """The study in a folder, which knows what it is a study of."""
    try:
        from nearspan.training import study
    except ModuleNotFoundError as error:
        raise ResourceError("tuning needs optuna, which is not installed: pip install 'nearspan[tune]'") from error
    if resume and not is_file(folder / STUDY):
        raise NearspanError(f"nothing to resume in {folder}: there is no {STUDY}; leave `resume` out to begin")
    if not resume and any(exists(folder / name) for name in (STUDY, TRIALS, BEST)):
        raise NearspanError(f"{folder} already holds a tuning: give another `out`, or `resume` to go on with it")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NearspanError(f"cannot make the folder {folder}: {error}") from error
    settings = recipe.override(["training.checkpoint_minutes=0"]).model_dump_json()
    what = f"{settings}\0{space}\0{digest(train)}\0{digest(dev)}\0{seed}\0{_told(train, synonyms)}"
    name = hashlib.sha256(what.encode()).hexdigest()[:16]
    return study.opened(folder, name, space, seed, resume=resume)


def _told(train: Sequence[Document], synonyms: SynonymSource | None) -> str:
    """What the synonyms say of the training entities."""
    if synonyms is None:
        return ""
    texts = {entity.span.text(document.text) for document in train for entity in document.entities}
    return repr([(text, synonyms.of(text)) for text in sorted(texts)])
