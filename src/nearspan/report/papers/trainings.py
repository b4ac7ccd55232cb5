"""The trainings of a curve: a recipe trained again in another way, and what it scores."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from nearspan.config import Recipe
from nearspan.device import usable_device
from nearspan.document import Document
from nearspan.errors import ConfigError, NearspanError
from nearspan.io.atomic import write_file
from nearspan.training import CHECKPOINT, ProgressBar, train
from nearspan.training.data import digest

FOLDER = "curve"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a training scores on the development set, and what it took."""

    sentences: int  # that it learned from
    f1: float
    precision: float
    recall: float
    epochs: int
    seconds: float  # development scoring included


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One training of a curve."""

    name: str  # of the model
    at: float  # where on the curve it is
    seed: int
    outcome: Outcome

    def to_dict(self, at: str) -> dict[str, Any]:
        """For JSON; `at` is what the place on the curve is called."""
        return {"name": self.name, at: self.at, "seed": self.seed, **asdict(self.outcome)}


@dataclass(frozen=True)
class Trainings:
    """Trains, and keeps the outcomes in a folder.

    After a stop, a training that was done is read from there and one that was under way goes on from its checkpoint.
    """

    dev: Sequence[Document]
    out: Path
    device: str = ""
    console: Console | None = None

    def outcome(self, recipe: Recipe, documents: Sequence[Document], seed: int) -> Outcome:
        """An outcome from the folder, or else from a training; times of another kind of device are not taken."""
        device = usable_device(self.device).type
        what = f"{recipe.model_dump_json()}\0{digest(documents)}\0{digest(self.dev)}\0{seed}\0{device}"
        key = hashlib.sha256(what.encode()).hexdigest()[:16]
        path, folder = self.out / FOLDER / f"{key}.json", self.out / FOLDER / key
        try:
            return Outcome(**json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            pass
        except (OSError, ValueError, TypeError) as error:
            raise NearspanError(f"{path} cannot be read: {error}; delete it to train this point again") from error
        outcome = self._train(recipe, documents, seed, folder)
        write_file(path, [json.dumps(asdict(outcome))])
        shutil.rmtree(folder, ignore_errors=True)  # the numbers are kept; a model for each point would fill the disk
        return outcome

    def _train(self, recipe: Recipe, documents: Sequence[Document], seed: int, folder: Path) -> Outcome:
        resume, callbacks = (folder / CHECKPOINT).is_file(), [ProgressBar(self.console)] if self.console else []
        run = train(
            recipe, documents, self.dev, out=folder, device=self.device, seed=seed, resume=resume, callbacks=callbacks
        )
        if run.dev is None or run.model.classifies_given_spans:
            raise ConfigError("a curve needs development documents and a recipe that finds entities")
        scores = run.dev.scores
        sentences = sum(len(run.model.split(document)) for document in documents)  # a memory may hold fewer
        return Outcome(sentences, scores.f1, scores.precision, scores.recall, run.epochs, round(run.seconds, 3))
