"""What a worker does: it gets the model once, and finds entities in one part of the texts after the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ray

from nearspan.document import Document, Entity
from nearspan.model import Model
from nearspan.model.thresholds import Threshold
from nearspan.model.workers import Annotator, save_snapshot


def send(model: Model) -> list[Any]:
    """A model for all workers, as it is now: a list that holds where Ray keeps it."""
    with TemporaryDirectory(prefix="nearspan-") as room:
        save_snapshot(model, Path(room) / "model.pt")
        return [ray.put((Path(room) / "model.pt").read_bytes())]


class Worker:
    """A model on a worker's device."""

    def __init__(self, sent: list[Any], threshold: Threshold | None, device: str) -> None:
        with TemporaryDirectory(prefix="nearspan-") as room:  # what is mapped stays when the file is gone
            path = Path(room) / "model.pt"
            path.write_bytes(ray.get(sent[0]))
            self._annotate = Annotator(str(path), threshold)
        if device != "cpu":
            self._annotate.predictor.model.to(device)

    def entities(self, documents: Sequence[Document]) -> list[tuple[Entity, ...]]:
        """The entities of each document; an error names the document, by its number among these and by its id."""
        return self._annotate(list(documents), 0)
