"""A datastore's span vectors kept by words: a fifth of the room that one vector for each span takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from nearspan.knn.memory_sentence import MemorySentence
from nearspan.spans import Candidates, EndSums, WordSums

if TYPE_CHECKING:
    from nearspan.knn.datastore import Datastore

PART = 65_536  # words or spans whose vectors are looked at at once


@dataclass(frozen=True)
class WordPool:
    """What some sentences of a datastore hold, B pools side by side: one vector for each of X columns.

    The columns are the words' steps with a gap after each sentence, then the entities, then the words' begins unless
    all spans begin alike (that adds the same to every score, so it is no matter for a softmax).
    """

    table: Tensor  # [R, H] the vectors of all columns there are
    index: Tensor  # [B, X] the rows of it that are meant
    gaps: Tensor  # [B, W] 0 for words, -inf for gaps and padding
    labels: Tensor  # [B, E] the entities' labels, -1 for padding
    sizes: list[int]  # how many columns are steps, entities and begins

    def end_scores(self, ends: EndSums, scale: float) -> tuple[Tensor, Tensor]:
        """What the left and right ends of B sentences' spans add to the spans' scores [B, T, X], times `scale`.

        The ends are made alike in the mean first, so that neither is far larger than the spans. Where left ends follow
        from right ones, T + 2 vectors are compared instead of 2 T.
        """
        middle = (ends.right - ends.left).mean(1, keepdim=True) / 2
        left, right, shared = ends.left + middle, ends.right - middle, ends.shared
        words = left.shape[1]
        if shared is None:
            vectors = torch.cat([left, right], dim=1)
        else:
            between = shared.expand(len(left), 1, -1)
            vectors = torch.cat([-left[:, :1], right - between, between], dim=1)
        queries = vectors * scale
        if len(self.index) == 1:  # a single pool serves all sentences
            scores = queries @ self.table.index_select(0, self.index[0]).to(queries.dtype).T
        else:
            counts = [queries.shape[1]] * len(queries)
            scores = self.scores_of(queries.flatten(0, 1), counts).view(*queries.shape[:2], -1)
        if shared is None:
            return scores[:, :words], scores[:, words:]
        return -scores[:, :words], scores[:, 1:-1] + scores[:, -1:]

    def scores_of(self, queries: Tensor, counts: Sequence[int]) -> Tensor:
        """Inner products [N, X] with vectors [N, H] of which so many belong to each pool, in order."""
        scores = queries.new_empty(len(queries), self.index.shape[1])
        room = self.table.new_empty(self.index.shape[1], self.table.shape[1])
        for part, vectors, rows in zip(scores.split(counts), queries.split(counts), self.index, strict=True):
            torch.mm(vectors, torch.index_select(self.table, 0, rows, out=room).T, out=part)  # one by one in the cache
        return scores


@dataclass(frozen=True)
class WordTable:
    """The steps and begins of a datastore's words, row after row as `WordPool` wants its columns."""

    table: Tensor  # [W + E + W, H]: steps with a gap of zeros after each sentence, entities, begins where they differ
    shared: Tensor  # [1, H] what every span begins with, 0 where begins differ
    gaps: Tensor  # [W] 0 for words, -inf for gaps
    starts: Tensor  # [M] each sentence's first word
    counts: Tensor  # [M] its words, and its gap; 0 for sentences set_apart
    labels: Tensor  # [E] of the entities
    entity_starts: Tensor  # [M] the row of each sentence's first entity
    entity_counts: Tensor  # [M] 0 for sentences set_apart
    set_apart: Tensor  # [M] whether spans are weighed one by one: some were removed, or do not count once
    alike: bool  # whether every span begins with the same

    @classmethod
    def of(cls, sums: WordSums, lengths: Tensor) -> WordTable:
        """Lay out the words of sentences with these lengths, with no entities yet."""
        device = sums.steps.device
        sizes = lengths.to(device)
        starts = (sizes + 1).cumsum(0) - sizes - 1
        words = torch.arange(len(sums.steps), device=device) + torch.repeat_interleave(
            torch.arange(len(sizes), device=device), sizes, output_size=len(sums.steps)
        )
        gaps = sums.steps.new_full((len(sums.steps) + len(sizes),), -torch.inf)
        gaps[words] = 0
        alike = len(sums.begins) == 1
        room = sums.steps.new_zeros(len(gaps), sums.steps.shape[1])
        parts = [room.index_copy(0, words, sums.steps)]
        if not alike:
            parts.append(room.index_copy(0, words, sums.begins))
        shared = sums.begins if alike else torch.zeros_like(sums.steps[:1])
        none = starts.new_empty(0)
        set_apart = torch.zeros_like(starts, dtype=torch.bool)
        return cls(torch.cat(parts), shared, gaps, starts, sizes + 1, none, starts, starts, set_apart, alike)

    def with_entities(
        self, sentences: Sequence[MemorySentence], spans: Candidates | Datastore, labels: Tensor
    ) -> WordTable:
        """The same words in sentences [M] with other weights, and spans [N] with other labels [N]."""
        words, device = len(self.gaps), self.gaps.device
        apart = [bool(each.removed or each.span_weights) or each.weight != 1 for each in sentences]
        set_apart = torch.tensor(apart, dtype=torch.bool, device=device)
        rows = (labels > 0).nonzero().flatten()
        sentence, first, stop, labels = (
            column[rows].to(device) for column in (spans.sentence, spans.first, spans.stop, labels)
        )
        vectors = self.spans(self.starts[sentence] + first, stop - first, with_shared=False)
        counts = torch.bincount(sentence, minlength=len(self.starts))
        return replace(
            self,
            table=torch.cat([self.table[:words], vectors, self.table[words + len(self.labels) :]]),
            counts=torch.diff(self.starts, append=self.starts.new_tensor([words])) * ~set_apart,
            labels=labels,
            entity_starts=words + counts.cumsum(0) - counts,
            entity_counts=counts * ~set_apart,
            set_apart=set_apart,
        )

    def with_own_begins(self) -> WordTable:
        """The same with a begin for each word, where all spans begin alike; as they do where there is but one word."""
        steps, entities = self.table.tensor_split([len(self.gaps)])
        begins = (self.gaps == 0)[:, None] * self.shared
        table = torch.cat([steps, entities + self.shared, begins])
        return replace(self, table=table, shared=torch.zeros_like(self.shared), alike=False)

    @classmethod
    def concatenate(cls, tables: Sequence[WordTable]) -> WordTable:
        """The words and entities of several tables one after the other."""
        if not all(table.alike and torch.equal(table.shared, tables[0].shared) for table in tables):
            tables = [table.with_own_begins() if table.alike else table for table in tables]
        words, entities = [len(table.gaps) for table in tables], [len(table.labels) for table in tables]
        parts = [table.table.tensor_split([a, a + b]) for table, a, b in zip(tables, words, entities, strict=True)]
        steps, vectors, begins = (list(column) for column in zip(*parts, strict=True))
        starts = [table.starts + sum(words[:place]) for place, table in enumerate(tables)]
        entity_starts = [
            table.entity_starts - words[place] + sum(words) + sum(entities[:place])
            for place, table in enumerate(tables)
        ]
        names = ("gaps", "counts", "labels", "entity_counts", "set_apart")
        joined: dict[str, Any] = {name: torch.cat([getattr(table, name) for table in tables]) for name in names}
        return replace(
            tables[0],
            table=torch.cat([*steps, *vectors, *begins]),
            starts=torch.cat(starts),
            entity_starts=torch.cat(entity_starts),
            **joined,
        )

    def words(self) -> WordSums:
        """The steps and begins alone, as `of` was given them."""
        real = self.gaps == 0
        begins = self.shared if self.alike else self.table[-len(real) :][real]
        return WordSums(begins, self.table[: len(real)][real])

    def spans(self, first: Tensor, width: Tensor, *, with_shared: bool = True) -> Tensor:
        """Vectors [..., H] of spans, given the row of their first word and their width.

        What all spans begin with may be left out: it adds the same to every score.
        """
        begins = self.shared if with_shared else torch.zeros_like(self.shared)
        vectors = begins if self.alike else self.table[len(self.gaps) + len(self.labels) + first]
        gap = first.new_tensor(len(self.gaps) - 1)  # a row of zeros
        for more in range(int(width.max()) if width.numel() else 0):
            vectors = vectors + self.table[torch.where(width > more, first + more, gap)]
        return vectors.expand(*first.shape, -1)

    def scores(self, queries: Tensor, max_width: int) -> Tensor:
        """Inner products [n, W, L] of vectors [n, H] with spans, by the row of their first word and their width.

        Scores add up over words as vectors do, so there is no need for the spans' own. What reaches beyond a sentence
        has no meaning.
        """
        words = len(self.gaps)
        parts = self.table[:words].split(PART)
        steps = torch.cat([queries @ part.to(queries.dtype).T for part in parts], dim=1)  # [n, W]
        begins = self.shared if self.alike else self.table[-words:]
        whole = (queries @ begins.to(queries.dtype).T).expand_as(steps).clone()
        vectors = steps.new_zeros(*steps.shape, max_width)
        for more in range(min(max_width, words)):
            whole[:, : words - more] += steps[:, more:]
            vectors[..., more] = whole
        return vectors

    def lengths(self, max_width: int) -> Tensor:
        """The lengths [W, L] of the vectors of spans, by the row of their first word and their width."""
        words = len(self.gaps)
        vectors = self.table.new_empty(words, max_width, dtype=torch.float32)
        for first in range(0, words, PART):
            place = vectors[first : first + PART]
            begins = self.shared if self.alike else self.table[-words:][first : first + PART]
            whole = begins.float().expand(len(place), -1).clone()
            for more in range(max_width):
                steps = self.table[first + more : min(first + more + len(place), words)]
                whole[: len(steps)] += steps
                place[:, more] = whole.norm(dim=1)
        return vectors

    def pool(self, sentences: Tensor, named: Tensor | None = None) -> WordPool:
        """The words and entities of some sentences [B, K], or the entities of others [B, K']."""
        gap = len(self.gaps) - 1  # the row before the first entity's
        named = sentences if named is None else named
        words = run_rows(self.starts[sentences], self.counts[sentences], gap)
        entities = run_rows(self.entity_starts[named], self.entity_counts[named], gap)
        columns = [words, entities] if self.alike else [words, entities, words + (len(self.gaps) + len(self.labels))]
        labels = torch.where(entities > gap, self.labels[(entities - gap - 1).clamp(min=0)], -1)
        sizes = [column.shape[1] for column in columns]
        return WordPool(self.table, torch.cat(columns, dim=1), self.gaps.take(words), labels, sizes)

    def to(self, device: torch.device | str) -> WordTable:
        """The same words on a device."""
        values: list[Any] = [getattr(self, field.name) for field in fields(self)]
        moved: list[Any] = [value.to(device) if isinstance(value, Tensor) else value for value in values]
        return WordTable(*moved)


def run_rows(starts: Tensor, counts: Tensor, padding: int = 0) -> Tensor:
    """Rows [B, N] of runs that begin at `starts` [B, K] and are `counts` long, with `padding` after the last.

    >>> run_rows(torch.tensor([[4, 9], [7, 0]]), torch.tensor([[3, 2], [1, 2]]), padding=-1).tolist()
    [[4, 5, 6, 9, 10], [7, 0, 1, -1, -1]]
    """
    sizes, lengths = counts.flatten(), counts.sum(1)
    known = lengths.tolist()
    total = sum(known)
    ahead = starts.flatten() + sizes - sizes.cumsum(0)  # how much farther a run is from its places
    rows = torch.arange(total, device=ahead.device) + torch.repeat_interleave(ahead, sizes, output_size=total)
    if len(known) == 1:
        return rows[None]
    real = torch.arange(max(known), device=ahead.device) < lengths[:, None]
    return rows.new_full(real.shape, padding).masked_scatter_(real, rows)
