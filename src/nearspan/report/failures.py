"""Failures: some of a model's errors, each with the training spans that explain it."""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from nearspan.document import Entity
from nearspan.errors import NearspanError
from nearspan.evaluation import Error
from nearspan.explain import Evidence
from nearspan.report.subject import Subject
from nearspan.report.vectors import Key

UNREACHABLE = "out of reach"
KINDS = ("wrong label", "wrong boundary", "wrong label and boundary", "spurious", "missed", UNREACHABLE)


@dataclass(frozen=True)
class Failure:
    """An error with the evidence for each span in it: the predicted one first, then the gold one."""

    kind: str
    error: Error
    evidence: list[Evidence]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "kind": self.kind,
            "document": self.error.document.id,
            "gold": _entity(self.error.gold, self.error.document.text),
            "predicted": _entity(self.error.predicted, self.error.document.text),
            "evidence": [one.to_dict() for one in self.evidence],
        }


def by_kind(subject: Subject, reachable: Collection[Key]) -> dict[str, list[Error]]:
    """The errors by kind; a missed entity that is not `reachable` for the model is out of reach."""
    number = {id(document): i for i, document in enumerate(subject.documents)}
    found: dict[str, list[Error]] = {kind: [] for kind in KINDS}
    for error in subject.errors:
        missed = error.gold if error.kind == "missed" else None
        lost = missed is not None and (number[id(error.document)], missed) not in reachable
        found[UNREACHABLE if lost else error.kind].append(error)
    return {kind: errors for kind, errors in found.items() if errors}


def failures(
    subject: Subject, errors: dict[str, list[Error]], most: int = 30, count: int = 4, seed: int = 0
) -> list[Failure]:
    """At most `most` errors, drawn evenly from the kinds, with `count` training spans for each span in them."""
    kinds = {kind: found for kind, found in errors.items() if kind != UNREACHABLE}
    share = max(1, most // max(1, len(kinds)))
    chosen = []
    for kind, found in kinds.items():
        picked = random.Random(seed).sample(range(len(found)), min(share, len(found)))
        chosen += [(kind, found[i]) for i in sorted(picked)]
    return [Failure(kind, error, _evidence(subject, error, count)) for kind, error in chosen[:most]]


def _evidence(subject: Subject, error: Error, count: int) -> list[Evidence]:
    spans = dict.fromkeys(entity.span for entity in (error.predicted, error.gold) if entity is not None)
    found = []
    for span in spans:
        try:
            found.append(subject.model.neighbours(error.document, span, count))
        except (
            NearspanError
        ):  # no candidate of this model: a gold span that is too wide, or discontinuous without a joiner
            continue
    return found


def _entity(entity: Entity | None, text: str) -> dict[str, Any] | None:
    if entity is None:
        return None
    return {
        "text": entity.span.text(text),
        "fragments": entity.span.fragments,
        "label": entity.label,
        "score": entity.score,
    }
