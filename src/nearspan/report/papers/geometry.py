"""Geometry of span vectors: how long they are, how alike within and between labels (table 5 of Zhu et al., 2023), and
how alike where spans overlap (table 4)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.heads import Query
from nearspan.model import Model
from nearspan.report.papers.spans import WordSpan, span_batches

LEVELS = ("non-overlapping", "weakly overlapping", "strongly overlapping")
NEAR = 5  # words on either side of an entity that its neighbouring spans may reach into


@dataclass(frozen=True, slots=True)
class Cosine:
    """A mean over pairs of vectors; None where there are no pairs."""

    mean: float | None
    pairs: int

    @classmethod
    def of(cls, total: float, pairs: int) -> Self:
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
    weight, count = getattr(model.network.head, "weight", None), len(model.labels) - 1  # without null
    if not isinstance(weight, Tensor) or weight.ndim != 2 or not count or len(weight) not in (count, count + 1):
        return None
    null, entities = weight.double().tensor_split([len(weight) - count])
    units, null_units = _units(entities), _units(null)
    pairs = count * (count - 1) // 2
    return Templates(
        norm=float(entities.norm(dim=1).mean()),
        cosine=Cosine.of(float((units @ units.T).abs().triu(1).sum()), pairs),
        null=Cosine.of(float((units @ null_units.T).abs().sum()), count * len(null)),
    )


@torch.inference_mode()
def coupling(model: Model, spans: Sequence[WordSpan], widest: int, near: int = NEAR) -> dict[str, Cosine]:
    """The mean cosine between entities and their neighbouring spans, by how much the two overlap.

    The neighbouring spans of an entity are the candidates of its sentence that begin at most `near` words before
    it, end at most `near` words after it and have at most `widest` words; not its own span. What is within it,
    around it, across its ends and beside it is among them. One sentence's vectors are held at a time.
    """
    sums = torch.zeros(len(LEVELS), dtype=torch.double, device=model.device)
    counts = torch.zeros(len(LEVELS), dtype=torch.long, device=model.device)
    for batch in span_batches(model, spans):
        query = Query(model.network, batch.batch)
        vectors, candidates = query.vectors, query.candidates
        sizes = candidates.counts
        starts = (sizes.cumsum(0) - sizes).tolist()
        for sentence, row in zip(batch.places[:, 0].tolist(), candidates.find(batch.places)[0].tolist(), strict=True):
            mine = slice(starts[sentence], starts[sentence] + int(sizes[sentence]))
            first, stop = candidates.first[mine], candidates.stop[mine]  # [C]
            units = functional.normalize(vectors[mine].float(), dim=1)  # [C, H]
            entity = row - mine.start
            close = neighbour_mask(first, stop, entity, widest, near)
            level = overlap_levels(first, stop, entity)[close]
            cosines = (units[close] @ units[entity]).double()
            sums.index_add_(0, level, cosines)
            counts += torch.bincount(level, minlength=len(LEVELS))
    totals = zip(LEVELS, sums.tolist(), counts.tolist(), strict=True)
    return {level: Cosine.of(total, pairs) for level, total, pairs in totals}


def neighbour_mask(first: Tensor, stop: Tensor, entity: int, widest: int, near: int = NEAR) -> Tensor:
    """Which of a sentence's candidates [C] are neighbouring spans of the one with number `entity`."""
    close = (first >= first[entity] - near) & (stop <= stop[entity] + near) & (stop - first <= widest)
    close[entity] = False
    return close


def overlap_levels(first: Tensor, stop: Tensor, entity: int) -> Tensor:
    """The level [C] at which candidates overlap one of them: alpha = 0, up to 0.5, above.

    alpha is the overlapping ratio: the words that two spans share, as a part of the words that are in either.

    >>> overlap_levels(torch.tensor([0, 0, 0, 2]), torch.tensor([2, 3, 4, 3]), entity=0).tolist()
    [2, 2, 1, 0]
    """
    shared = (torch.minimum(stop, stop[entity]) - torch.maximum(first, first[entity])).clamp(min=0)
    union = (stop - first) + (stop[entity] - first[entity]) - shared
    return (shared > 0).long() + (2 * shared > union).long()


def _units(vectors: Tensor) -> Tensor:
    return functional.normalize(vectors.double(), dim=1)
