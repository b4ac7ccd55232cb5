"""Subjects: the models under examination, each with a name and its scores on the corpus."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from nearspan.document import Document, Entity
from nearspan.errors import ModelError
from nearspan.evaluation import (
    Error,
    Evaluation,
    Scores,
    by_structure,
    by_vocabulary,
    by_width,
    evaluate,
    find_errors,
)
from nearspan.knn import Datastore
from nearspan.knn.datastore import NO_MEMORY
from nearspan.model import Model
from nearspan.training.callbacks import METRICS

WIDEST = 10  # words; wider entities are counted together


@dataclass(frozen=True)
class Subject:
    """A model, what the page calls it, and what it does on the corpus."""

    name: str
    model: Model
    documents: Sequence[Document]  # gold
    evaluation: Evaluation
    losses: list[float]  # of each epoch of its training, where they are known

    @classmethod
    def of(cls, name: str, model: Model, documents: Sequence[Document], losses: Sequence[float] = ()) -> Subject:
        """Score a model."""
        return cls(name, model, documents, evaluate(model, documents), list(losses))

    @property
    def memory(self) -> Datastore:
        """The training spans, which everything about evidence needs."""
        memory = self.model.datastore
        if memory is None or not len(memory):
            raise ModelError(f"the model {self.name} has no memory to take evidence from: {NO_MEMORY}")
        return memory

    @cached_property
    def widths(self) -> dict[str, Scores]:
        """Scores by width in words."""
        characters = self.model.recipe.characters_as_words
        return by_width(self.documents, self.evaluation.predicted, widest=WIDEST, characters=characters)

    @cached_property
    def structures(self) -> dict[str, Scores]:
        """Scores of flat, nested and covering entities."""
        return by_structure(self.documents, self.evaluation.predicted)

    @cached_property
    def vocabularies(self) -> dict[str, Scores]:
        """Scores by whether an entity's words are known; none for a model without pretrained word vectors."""
        words = self.model.network.encoder.vectors
        if words is None or not words.pretrained:
            return {}
        seen, vectors = set(words.vocabulary["seen"]), set(words.pretrained)
        characters = self.model.recipe.characters_as_words
        return by_vocabulary(self.documents, self.evaluation.predicted, seen, vectors, characters=characters)

    @cached_property
    def errors(self) -> list[Error]:
        """Everything it got wrong."""
        return find_errors(self.documents, self.evaluation.predicted)

    @cached_property
    def _predicted(self) -> list[dict[tuple[tuple[int, int], ...], list[str]]]:
        found: list[dict[tuple[tuple[int, int], ...], list[str]]] = []
        for document in self.evaluation.predicted:
            found.append({})
            for entity in document.entities:
                found[-1].setdefault(entity.span.fragments, []).append(entity.label)
        return found

    def said(self, document: int, entity: Entity) -> list[str]:
        """The labels that it predicted for an entity's span."""
        return self._predicted[document].get(entity.span.fragments, [])

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "recipe": self.model.recipe.model_dump(exclude_none=True),
            "labels": self.model.labels[1:],
            "overlap": self.model.overlap,
            "memory": {"sentences": len(self.memory.sentences), "spans": len(self.memory)},
            **self.evaluation.to_dict(),
            "widths": {key: scores.total.to_dict() for key, scores in self.widths.items()},
            "losses": self.losses,
            "structures": {key: scores.total.to_dict() for key, scores in self.structures.items()},
            "vocabularies": {key: scores.total.to_dict() for key, scores in self.vocabularies.items()},
        }


Named = tuple[str, Model, list[float]]  # a model with what the page calls it, and its losses


def named(models: Sequence[tuple[Path | None, Model]]) -> list[Named]:
    """The models with names that differ: recipes' names, or else folders' names, or else numbers."""
    choices = [
        [model.recipe.name for _, model in models],
        [path.resolve().name if path else "" for path, _ in models],
        [f"{model.recipe.name} {number}" for number, (_, model) in enumerate(models, start=1)],
    ]
    names = next(found for found in choices if all(found) and len(set(found)) == len(found))
    return [(name, model, _losses(path)) for name, (path, model) in zip(names, models, strict=True)]


def _losses(folder: Path | None) -> list[float]:
    """The loss of each epoch, from the record that training left in a model's folder; none where there is none."""
    if folder is None or not (folder / METRICS).is_file():
        return []
    try:
        lines = (folder / METRICS).read_text(encoding="utf-8").splitlines()
        return [float(json.loads(line)["loss"]) for line in lines if line.strip()]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{folder / METRICS} cannot be read: {error}; delete it to do without the losses") from error
