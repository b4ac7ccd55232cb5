"""The report on models for the typing task: their scores as what they are, and the figures that go with them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nearspan.document import Document
from nearspan.evaluation import Counts, Evaluation, evaluate
from nearspan.model import Model
from nearspan.report import confidence
from nearspan.report.elements import chip, measured, percent, section, table, text
from nearspan.report.figures import colour
from nearspan.report.outputs import Outputs
from nearspan.report.page import framed
from nearspan.report.vectors import gold_spans


@dataclass(frozen=True)
class Typed:
    """A model for the typing task and what it does on the corpus."""

    name: str
    model: Model
    losses: list[float]
    evaluation: Evaluation
    outputs: Outputs


@dataclass(frozen=True)
class TypingFindings:
    """What was found out about one such model, or about two side by side."""

    subjects: list[Typed]
    fingerprint: str  # of the corpus

    @classmethod
    def of(
        cls,
        models: Sequence[tuple[str, Model, list[float]]],
        documents: Sequence[Document],
        fingerprint: str,
        most: int,
    ) -> TypingFindings:
        """Score named models with their losses, and read at most `most` gold spans."""
        found = []
        for name, model, losses in models:
            spans = list(gold_spans(model, documents).values())
            drawn = sorted(random.Random(0).sample(range(len(spans)), min(most, len(spans))))
            outputs = Outputs.of(model, [spans[i] for i in drawn])
            found.append(Typed(name, model, losses, evaluate(model, documents), outputs))
        return cls(found, fingerprint)

    @property
    def labels(self) -> list[str]:
        """All labels of models and corpus; the order gives them their colours."""
        models = {label for subject in self.subjects for label in subject.model.labels[1:]}
        return sorted(models.union(*(subject.evaluation.scores.labels for subject in self.subjects)))

    def to_dict(self) -> dict[str, Any]:
        """The numbers, for JSON."""
        return {
            "corpus": {"fingerprint": self.fingerprint},
            "models": [
                {
                    "name": one.name,
                    "recipe": one.model.recipe.model_dump(exclude_none=True),
                    **one.evaluation.to_dict(),
                    "losses": one.losses,
                    "outputs": one.outputs.to_dict(),
                }
                for one in self.subjects
            ],
        }

    def page(self) -> str:
        """The report as HTML."""
        names = [subject.name for subject in self.subjects]
        first = self.subjects[0].evaluation
        return framed(
            " against ".join(map(text, names)),
            f"Accuracy <b>{percent(first.value)}</b> on {text(first.coverage)}. "
            f"Corpus <code>{self.fingerprint}</code>.",
            [
                self._scores(),
                confidence.losses(names, [subject.losses for subject in self.subjects]),
                confidence.outputs(names, [subject.outputs for subject in self.subjects], self.labels),
            ],
        )

    def _scores(self) -> str:
        base = self.subjects[0].evaluation.baseline
        columns = [(text(one.name), one.evaluation.scores) for one in self.subjects]
        columns += [("majority by string", base)] if base else []
        rows = [
            [
                chip(label, self.labels),
                *(measured(own.labels.get(label, _NONE).recall, colour(i)) for i, (_, own) in enumerate(columns)),
                f"{max(own.labels.get(label, _NONE).gold for _, own in columns):,}",
            ]
            for label in self.labels
        ]
        for name, which in (("all: accuracy", "value"), ("macro-F1 of labels", "macro_f1")):
            rows.append([f"<b>{name}</b>", *(f"<b>{percent(getattr(own, which))}</b>" for _, own in columns), ""])
        return section(
            "typing",
            "Typing",
            "<p>The entities are given and only their labels are predicted, so these are no scores of recognition: "
            "nothing can be missed and nothing found too many. By label, the share of its entities that got it. The "
            "majority by string gives an entity the label that its text has most often in the training data, and a "
            "text that is new there the most frequent label.</p>",
            table(["label", *(name for name, _ in columns), "gold"], rows),
        )


_NONE = Counts()
