"""Geometry: how long span vectors are and how alike within and between labels (table 5 of Zhu et al., 2023)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.model import Model
from nearspan.report.model_access import head_weight


@dataclass(frozen=True, slots=True)
class Cosine:
    """A mean over pairs of vectors; None where there are no pairs."""

    mean: float | None
    pairs: int

    @classmethod
    def of(cls, total: float, pairs: int) -> Cosine:
        """From a sum over pairs.

        >>> Cosine.of(1.5, 3), Cosine.of(0.0, 0)
        (Cosine(mean=0.5, pairs=3), Cosine(mean=None, pairs=0))
        """
        return cls(total / pairs if pairs else None, pairs)


@dataclass(frozen=True, slots=True)
class Templates:
    """A head's weight vectors, one a label."""

    norm: float  # mean l2-norm of the entity labels' vectors
    cosine: Cosine  # absolute, between entity labels
    null: Cosine  # absolute, between entity labels and null, where null has a vector


@dataclass(frozen=True, slots=True)
class Geometry:
    """Norms and cosines of a model's span vectors and templates."""

    spans: int  # entities
    negatives: int  # candidates that are none
    norm: float | None  # mean l2-norm of the entities' vectors
    within: Cosine  # between entities of one label
    between: Cosine  # between entities of different labels
    against: Cosine  # between entities and negatives
    templates: Templates | None  # None: the head has none

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@torch.inference_mode()
def geometry(model: Model, vectors: Tensor, labels: Sequence[str], negatives: Tensor) -> Geometry:
    """Measure the vectors [N, H] of entities with these labels, those [M, H] of negatives, and the head.

    The sum of the cosines of all pairs is the inner product of sums of unit vectors, so that no pair is formed:
    with u(y) the sum over label y and u over all, pairs within y have (|u(y)|^2 - N(y)) / 2 together, and pairs
    of different labels (|u|^2 - sum of |u(y)|^2) / 2.
    """
    names = sorted(set(labels))
    group = torch.tensor([names.index(label) for label in labels], dtype=torch.long, device=vectors.device)  # [N]
    units, negative_units = _units(vectors), _units(negatives)
    sums = units.new_zeros(len(names), units.shape[1]).index_add_(0, group, units)  # u(y) [Y, H]
    sizes = torch.bincount(group, minlength=len(names))  # N(y) [Y]
    count, everything = len(vectors), units.sum(0)  # N, u [H]
    alike = sums.square().sum()
    same, all_pairs = int((sizes * (sizes - 1)).sum()) // 2, count * (count - 1) // 2
    return Geometry(
        spans=count,
        negatives=len(negatives),
        norm=float(vectors.double().norm(dim=1).mean()) if count else None,
        within=Cosine.of(float(alike - units.square().sum()) / 2, same),
        between=Cosine.of(float(everything.square().sum() - alike) / 2, all_pairs - same),
        against=Cosine.of(float(everything @ negative_units.sum(0)), count * len(negatives)),
        templates=templates(model),
    )


@torch.inference_mode()
def templates(model: Model) -> Templates | None:
    """The vectors of the labels in the head's weight matrix, if it has one with a row a label, null first or not."""
    weight, count = head_weight(model), len(model.labels) - 1  # without null
    if weight is None or not count or len(weight) not in (count, count + 1):
        return None
    null, entities = weight.double().tensor_split([len(weight) - count])
    units, null_units = _units(entities), _units(null)
    pairs = count * (count - 1) // 2
    return Templates(
        norm=float(entities.norm(dim=1).mean()),
        cosine=Cosine.of(float((units @ units.T).abs().triu(1).sum()), pairs),
        null=Cosine.of(float((units @ null_units.T).abs().sum()), count * len(null)),
    )


def _units(vectors: Tensor) -> Tensor:
    return functional.normalize(vectors.double(), dim=1)
