"""Findings: everything that a report says, before it is put into words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearspan.evaluation import FalsePositives
from nearspan.explain import Neighbour
from nearspan.report.failures import Failure
from nearspan.report.generation import Generation
from nearspan.report.geometry import Cosine, Geometry
from nearspan.report.outputs import Outputs
from nearspan.report.projection import Components
from nearspan.report.retrieval import Agreement, closeness
from nearspan.report.subject import Subject
from nearspan.report.trainings import Point
from nearspan.report.vectors import GoldSpan


@dataclass(frozen=True)
class Retrieved:
    """A gold span as a query, and for each model what it said of it and its nearest training spans."""

    query: GoldSpan
    said: list[list[str]]
    neighbours: list[list[Neighbour]]


@dataclass(frozen=True)
class Space:
    """How the span vectors of a model lie."""

    projection: NDArray[np.float32]  # t-SNE [N, 2], in the order of the findings' spans
    components: Components  # the same spans
    coupling: dict[str, Cosine]  # by level of overlap
    geometry: Geometry
    posteriors: dict[str, NDArray[np.float32]]  # t-SNE [N, 2] of the representation's vectors and of the latents


@dataclass(frozen=True)
class Findings:
    """What was found out about one model, or about two side by side; lists go with `subjects`."""

    subjects: list[Subject]
    fingerprint: str  # of the corpus
    errors: list[dict[str, int]]  # by kind
    positives: list[FalsePositives]
    failures: list[Failure]  # of the first model
    retrieved: list[Retrieved]
    agreements: list[Agreement]
    spans: Sequence[GoldSpan]
    spaces: list[Space]
    outputs: list[Outputs]
    generations: list[Generation | None]  # None: a model without generators
    sizes: list[Point] = field(default_factory=list)  # the data-size curve
    occurrences: list[Point] = field(default_factory=list)  # the curve over what a word recalls

    @property
    def labels(self) -> list[str]:
        """All labels of models and corpus; the order gives them their colours."""
        models = {label for subject in self.subjects for label in subject.model.labels[1:]}
        return sorted(models.union(*(subject.evaluation.scores.labels for subject in self.subjects)))

    def to_dict(self) -> dict[str, Any]:
        """The numbers, for JSON."""
        names = [subject.name for subject in self.subjects]
        return {
            "corpus": {"fingerprint": self.fingerprint},
            "models": [
                {
                    **subject.to_dict(),
                    "errors": errors,
                    "false_positives": positives.to_dict(),
                    "retrieval": {"by": closeness(subject), **agreement.to_dict()},
                    "coupling": {level: asdict(cosine) for level, cosine in space.coupling.items()},
                    "geometry": space.geometry.to_dict(),
                    "outputs": outputs.to_dict(),
                    "generation": told.to_dict() if told else None,
                }
                for subject, errors, positives, agreement, space, outputs, told in zip(
                    self.subjects,
                    self.errors,
                    self.positives,
                    self.agreements,
                    self.spaces,
                    self.outputs,
                    self.generations,
                    strict=True,
                )
            ],
            "failures": [failure.to_dict() for failure in self.failures],
            "retrieval": [
                {
                    "text": one.query.span.text(one.query.sentence.text),
                    "fragments": one.query.span.fragments,
                    "sentence": one.query.sentence.text,
                    "gold": one.query.entity.label,
                    "predicted": dict(zip(names, one.said, strict=True)),
                    "neighbours": {
                        name: [neighbour.to_dict() for neighbour in found]
                        for name, found in zip(names, one.neighbours, strict=True)
                    },
                }
                for one in self.retrieved
            ],
            "projection": {
                "spans": [
                    {"text": span.span.text(span.sentence.text), "label": span.entity.label} for span in self.spans
                ],
                "points": {name: _rounded(space.projection) for name, space in zip(names, self.spaces, strict=True)},
                "posteriors": {
                    name: {key: _rounded(points) for key, points in space.posteriors.items()}
                    for name, space in zip(names, self.spaces, strict=True)
                },
                "components": {
                    name: {"explained": space.components.explained, "points": _rounded(space.components.points)}
                    for name, space in zip(names, self.spaces, strict=True)
                },
            },
            "curve": [point.to_dict("share") for point in self.sizes],
            "occurrences": [point.to_dict("most") for point in self.occurrences],
        }


def _rounded(points: NDArray[np.float32]) -> list[list[float]]:
    return [[round(float(x), 3), round(float(y), 3)] for x, y in points]
