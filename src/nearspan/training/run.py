"""A finished training, and the record of it."""

from __future__ import annotations

import json
import platform
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from nearspan.errors import NearspanError
from nearspan.evaluation import Evaluation
from nearspan.io.model_folder import RESULT
from nearspan.model import Model


@dataclass(frozen=True)
class Run:
    """A trained model, how it came about and what it scores."""

    model: Model
    seed: int
    fingerprint: str  # of the training data
    best_epoch: int
    epochs: int
    seconds: float  # spent on training, development scoring included
    dev: Evaluation | None
    test: Evaluation | None
    processes: int = 1
    main: bool = True  # whether this process saved the model

    def __repr__(self) -> str:
        results = (("dev", self.dev), ("test", self.test))
        scores = [f"{split} {result.measure} {100 * result.value:.2f}" for split, result in results if result]
        epochs = f"best epoch {self.best_epoch} of {self.epochs}"
        return f"Run({', '.join([self.model.recipe.name, epochs, *scores])})"

    def to_dict(self) -> dict[str, Any]:
        """Everything needed to tell this run from another."""
        gpu = self.model.device.type == "cuda"
        return {
            "recipe": self.model.recipe.model_dump(exclude_none=True),
            "command": [Path(sys.argv[0]).name.replace("__main__.py", "nearspan"), *sys.argv[1:]],
            "seed": self.seed,
            "data": self.fingerprint,
            "best_epoch": self.best_epoch,
            "epochs": self.epochs,
            "processes": self.processes,
            "seconds": round(self.seconds, 1),
            "hardware": torch.cuda.get_device_name() if gpu else platform.machine(),
            "torch": torch.__version__,
            "dev": self.dev.to_dict() if self.dev else None,
            "test": self.test.to_dict() if self.test else None,
        }

    def write(self, folder: Path) -> None:
        """Write `result.json`."""
        content = json.dumps(self.to_dict(), indent=1, ensure_ascii=False)
        try:
            (folder / RESULT).write_text(content, encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise NearspanError(f"cannot write {folder / RESULT}: {error}") from error
