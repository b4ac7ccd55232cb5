"""Audit a corpus: which annotations do the training spans around them contradict?"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from nearspan.document import Document
from nearspan.errors import NearspanError
from nearspan.explain import Neighbour
from nearspan.explain.neighbour import neighbour
from nearspan.heads import NearestHead
from nearspan.io.atomic import write_file
from nearspan.knn.leave_one_out import LeaveOneOut
from nearspan.model import Model
from nearspan.report.label_issues import Doubt, doubts
from nearspan.report.leave_one_out import Opinions, Progress, opinions, others_of, places
from nearspan.segment import Coverage

UNKNOWN = "with a label unknown to the model"


@dataclass(frozen=True)
class Audit:
    """Doubts, the gravest first, and what of the corpus could be looked at."""

    doubts: Sequence[Doubt]
    coverage: Coverage
    strength: str  # `exact` where the neighbours' shares are how the model decides, else `nearest`
    found: int  # doubts before the list was cut to the gravest

    @property
    def kinds(self) -> dict[str, int]:
        """How many doubts of each kind are listed."""
        return dict(Counter(one.kind for one in self.doubts).most_common())

    def lines(self) -> Iterator[str]:
        """The list as JSON lines."""
        return (json.dumps(one.to_dict(), ensure_ascii=False) + "\n" for one in self.doubts)

    def write(self, path: Path | str) -> None:
        """Write the list as JSON lines."""
        write_file(Path(path), self.lines())


def audit(
    model: Model,
    documents: Sequence[Document],
    *,
    most: int | None = None,
    count: int = 3,
    progress: Progress | None = None,
) -> Audit:
    """List the annotations of a corpus that the model's memory contradicts, and what looks like a missing entity.

    The corpus may be the one that the model was trained on: a sentence and its copies are left out of the memory
    whenever its own spans are asked about. `most` cuts the list; `count` training spans are given for each side.

        found = nearspan.audit(model, nearspan.read("train.conll").documents)
        for one in found.doubts[:10]:
            print(one.kind, one.entity.span.text(one.document.text), one.doubt)
    """
    if model.classifies_given_spans:
        raise NearspanError(
            "this model was trained for typing and has no opinion on what is an entity: audit with one that finds "
            "entities, trained with suggester.kind=all"
        )
    documents, others = tuple(documents), others_of(model)
    sentences, coverage = places(model, documents)
    if not sentences:
        raise NearspanError("the corpus holds no words, so there is nothing to audit")
    strange = sum(label not in model.labels for place in sentences for _, _, label in place.entities)
    coverage += Coverage(unreachable={UNKNOWN: strange} if strange else {})
    found = opinions(model, sentences, others, progress or _silent)
    every = doubts(model, documents, found)
    listed = _with_evidence(model, others, found, every[:most], count)
    strength = "exact" if isinstance(model.network.head, NearestHead) else "nearest"
    return Audit(listed, coverage, strength, len(every))


def _silent(what: str, done: int, whole: int) -> None:
    """Nobody watches."""


@torch.inference_mode()
def _with_evidence(
    model: Model, others: LeaveOneOut, found: Opinions, listed: Sequence[Doubt], count: int
) -> list[Doubt]:
    """The doubts with the training spans that speak for either side."""
    number = {label: i for i, label in enumerate(model.labels)}
    sides = [
        (i, side, number[entity.label] if entity else 0)
        for i, one in enumerate(listed)
        for side, entity in (
            ("against", one.suggested if one.kind != "wrong boundary" else None),
            ("backing", one.annotated),
        )
    ]
    spoken: dict[tuple[int, str], list[Neighbour]] = {}
    for label in {label for _, _, label in sides}:
        mine = [(i, side) for i, side, its in sides if its == label]
        rows = torch.tensor([listed[i].row for i, _ in mine], device=found.vectors.device)
        for key, near in zip(mine, _speakers(model, others, found, rows, label, count), strict=True):
            spoken[key] = near
    return [replace(one, against=spoken[i, "against"], backing=spoken[i, "backing"]) for i, one in enumerate(listed)]


def _speakers(
    model: Model, others: LeaveOneOut, found: Opinions, rows: Tensor, label: int, count: int
) -> Iterator[list[Neighbour]]:
    """For each span the nearest others with a label, with their shares in its probabilities or else their cosines."""
    memory, label_name = others.memory, model.labels[label]
    scores, near = others.speakers(found.vectors[rows], found.own[rows], label, count, cosine=found.totals is None)
    weights = scores if found.totals is None else (scores - found.totals[rows, None]).exp()
    real = scores.isfinite().sum(1).tolist()
    for some, its, size in zip(weights.tolist(), near.tolist(), real, strict=True):
        pairs = zip(its[:size], some[:size], strict=True)
        yield [replace(neighbour(memory, model.labels, row, weight), label=label_name) for row, weight in pairs]
