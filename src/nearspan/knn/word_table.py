"""A datastore's span vectors kept by words: a fifth of the room that one vector for each span takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

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

    tables: Sequence[Tensor]  # [R, H] each: the vectors that there are of steps, of entities, of begins
    rows: Sequence[Tensor]  # [B, X] of each: the rows that are meant
    gaps: Tensor  # [B, W] 0 for words, -inf for gaps and padding
    labels: Tensor  # [B, E] the entities' labels, -1 for padding
    sizes: list[int]  # how many columns are steps, entities and begins

    def end_scores(self, ends: EndSums, scale: float) -> tuple[Tensor, Tensor]:
        """What the left and right ends of B sentences' spans add to the spans' scores [B, T, X], times `scale`."""
        queries = end_queries(ends) * scale
        if len(self) == 1:  # a single pool serves all sentences
            scores = queries @ self._vectors(0).to(queries.dtype).T
        else:
            counts = [queries.shape[1]] * len(queries)
            scores = self.scores_of(queries.flatten(0, 1), counts).view(*queries.shape[:2], -1)
        return scores_by_end(ends, scores)

    def scores_of(self, queries: Tensor, counts: Sequence[int]) -> Tensor:
        """Inner products [N, X] with vectors [N, H] of which so many belong to each pool, in order."""
        scores = queries.new_empty(len(queries), sum(self.sizes))
        room = self.tables[0].new_empty(sum(self.sizes), self.tables[0].shape[1])
        for number, (part, vectors) in enumerate(zip(scores.split(counts), queries.split(counts), strict=True)):
            torch.mm(vectors, self._vectors(number, room).to(vectors.dtype).T, out=part)  # one by one in the cache
        return scores

    def __len__(self) -> int:
        return len(self.gaps)

    def _vectors(self, number: int, room: Tensor | None = None) -> Tensor:
        """The vectors [X, H] of a pool's columns, where there is room for them."""
        room = self.tables[0].new_empty(sum(self.sizes), self.tables[0].shape[1]) if room is None else room
        for part, table, rows in zip(room.split(self.sizes), self.tables, self.rows, strict=True):
            torch.index_select(table, 0, rows[number], out=part)
        return room


@dataclass(frozen=True)
class WordTable:
    """The steps and begins of a datastore's words, as they were given: on disk they may be mapped into memory.

    `WordPool` wants a gap after each sentence. `places` is where its columns are among the words.
    """

    steps: Tensor  # [W, H]
    begins: Tensor  # [W, H], or [1, H] where every span begins alike
    entities: Tensor  # [E + 1, H] without the begin that all share; a row of zeros is the last
    places: Tensor  # [W + M] the row of each column's word; a gap has that of the word before it
    gaps: Tensor  # [W + M] 0 for words, -inf for gaps
    starts: Tensor  # [M] each sentence's first word
    counts: Tensor  # [M] its words, and its gap; 0 for sentences set_apart
    labels: Tensor  # [E] of the entities
    entity_starts: Tensor  # [M] the row of each sentence's first entity
    entity_counts: Tensor  # [M] 0 for sentences set_apart
    set_apart: Tensor  # [M] whether spans are weighed one by one: some were removed, or do not count once

    @classmethod
    def of(cls, sums: WordSums, lengths: Tensor) -> WordTable:
        """Lay out the words of sentences with these lengths, with no entities yet."""
        sizes = lengths.to(sums.steps.device)
        stops = sizes.cumsum(0)
        words = torch.arange(len(sums.steps), device=sizes.device)
        columns = words + torch.repeat_interleave(
            torch.arange(len(sizes), device=sizes.device), sizes, output_size=len(words)
        )
        gaps = torch.full((len(words) + len(sizes),), -torch.inf, device=sizes.device)
        gaps[columns] = 0
        places = torch.zeros(len(gaps), dtype=torch.long, device=sizes.device).index_copy_(0, columns, words)
        places = places.cummax(0).values
        none, zeros = stops.new_empty(0), sums.steps.new_zeros(1, sums.steps.shape[1])
        set_apart = torch.zeros_like(stops, dtype=torch.bool)
        starts = stops - sizes
        counts = torch.zeros_like(starts)
        return cls(sums.steps, sums.begins, zeros, places, gaps, starts, sizes + 1, none, counts, counts, set_apart)

    @property
    def alike(self) -> bool:
        """Whether every span begins with the same."""
        return len(self.begins) == 1

    @property
    def shared(self) -> Tensor:
        """What every span begins with [1, H], 0 where begins differ."""
        return self.begins if self.alike else torch.zeros_like(self.begins[:1])

    def with_entities(
        self, sentences: Sequence[MemorySentence], spans: Candidates | Datastore, labels: Tensor
    ) -> WordTable:
        """The same words in sentences [M] with other weights, and spans [N] with other labels [N]."""
        device = self.gaps.device
        rows = (labels > 0).nonzero().flatten()
        sentence, first, stop, labels = (
            column[rows].to(device) for column in (spans.sentence, spans.first, spans.stop, labels)
        )
        vectors = self.spans(self.starts[sentence] + first, stop - first, with_shared=False)
        counts = torch.bincount(sentence, minlength=len(self.starts))
        entities, entity_starts = functional.pad(vectors, (0, 0, 0, 1)), counts.cumsum(0) - counts
        return replace(self, entities=entities, labels=labels, entity_starts=entity_starts).with_weights(
            sentences, range(len(sentences))
        )

    def with_weights(self, sentences: Sequence[MemorySentence], changed: Sequence[int]) -> WordTable:
        """The same words and entities in sentences [M] of which some have other weights."""
        chosen = [sentences[place] for place in changed]
        apart = [bool(each.removed or each.span_weights) or each.weight * each.entity_weight != 1 for each in chosen]
        set_apart = self.set_apart.clone()
        set_apart[list(changed)] = torch.tensor(apart, dtype=torch.bool, device=self.gaps.device)
        lengths, entity_counts = (
            torch.diff(starts, append=starts.new_tensor([total]))
            for starts, total in ((self.starts, len(self.steps)), (self.entity_starts, len(self.labels)))
        )
        counts, entity_counts = (lengths + 1) * ~set_apart, entity_counts * ~set_apart
        return replace(self, counts=counts, entity_counts=entity_counts, set_apart=set_apart)

    def with_own_begins(self) -> WordTable:
        """The same with a begin for each word, where all spans begin alike; as they do where there is but one word."""
        entities = self.entities + self.shared
        entities[-1] = 0
        return replace(self, entities=entities, begins=self.shared.repeat(len(self.steps), 1))

    @classmethod
    def concatenate(cls, tables: Sequence[WordTable]) -> WordTable:
        """The words and entities of several tables one after the other."""
        if not all(table.alike and torch.equal(table.begins, tables[0].begins) for table in tables):
            tables = [table.with_own_begins() if table.alike else table for table in tables]
        words, entities = [len(table.steps) for table in tables], [len(table.labels) for table in tables]

        def follow(name: str, sizes: Sequence[int]) -> Tensor:
            """Rows of each table, which come after those of the tables before it."""
            return torch.cat([getattr(table, name) + sum(sizes[:place]) for place, table in enumerate(tables)])

        names = ("steps", "gaps", "counts", "labels", "entity_counts", "set_apart")
        joined: dict[str, Any] = {name: torch.cat([getattr(table, name) for table in tables]) for name in names}
        return replace(
            tables[0],
            begins=tables[0].begins if tables[0].alike else torch.cat([table.begins for table in tables]),
            entities=torch.cat([*(table.entities[:-1] for table in tables), tables[0].entities[-1:]]),
            places=follow("places", words),
            starts=follow("starts", words),
            entity_starts=follow("entity_starts", entities),
            **joined,
        )

    def words(self) -> WordSums:
        """The steps and begins alone, as `of` was given them."""
        return WordSums(self.begins, self.steps)

    def spans(self, first: Tensor, width: Tensor, *, with_shared: bool = True) -> Tensor:
        """Vectors [..., H] of spans, given the row of their first word and their width.

        What all spans begin with may be left out: it adds the same to every score.
        """
        vectors = self.begins[first] if not self.alike else self.shared if with_shared else self.shared * 0
        vectors = vectors.expand(*first.shape, -1)
        for more in range(int(width.max()) if width.numel() else 0):
            steps = self.steps[(first + more).clamp(max=len(self.steps) - 1)]
            vectors = vectors + steps.masked_fill((width <= more)[..., None], 0)
        return vectors

    def scores(self, queries: Tensor, max_width: int) -> Tensor:
        """Inner products [n, W, L] of vectors [n, H] with spans, by the row of their first word and their width.

        Scores add up over words as vectors do, so there is no need for the spans' own. What reaches beyond a sentence
        has no meaning.
        """
        words = len(self.steps)
        steps = torch.cat([queries @ part.to(queries.dtype).T for part in self.steps.split(PART)], dim=1)  # [n, W]
        whole = (queries @ self.begins.to(queries.dtype).T).expand_as(steps).clone()
        vectors = steps.new_zeros(*steps.shape, max_width)
        for more in range(min(max_width, words)):
            whole[:, : words - more] += steps[:, more:]
            vectors[..., more] = whole
        return vectors

    def lengths(self, max_width: int) -> Tensor:
        """The lengths [W, L] of the vectors of spans, by the row of their first word and their width."""
        words = len(self.steps)
        vectors = self.steps.new_empty(words, max_width, dtype=torch.float32)
        for first in range(0, words, PART):
            place = vectors[first : first + PART]
            begins = self.begins if self.alike else self.begins[first : first + PART]
            whole = begins.float().expand(len(place), -1).clone()
            for more in range(max_width):
                steps = self.steps[first + more : min(first + more + len(place), words)]
                whole[: len(steps)] += steps
                place[:, more] = whole.norm(dim=1)
        return vectors

    def pool(self, sentences: Tensor, named: Tensor | None = None) -> WordPool:
        """The words and entities of some sentences [B, K], or the entities of others [B, K']."""
        named = sentences if named is None else named
        columns = run_rows(self.starts[sentences] + sentences, self.counts[sentences], -1)  # one gap a sentence
        real, none = columns >= 0, len(self.labels)
        words = self.places[torch.where(real, columns, columns[:, :1].clamp(min=0))]
        entities = run_rows(self.entity_starts[named], self.entity_counts[named], none)
        labels = functional.pad(self.labels, (0, 1), value=-1)[entities]
        tables, rows = [self.steps, self.entities], [words, entities]
        if not self.alike:
            tables, rows = [*tables, self.begins], [*rows, words]
        gaps = self.gaps[columns].masked_fill_(~real, -torch.inf)
        return WordPool(tables, rows, gaps, labels, [part.shape[1] for part in rows])

    def to(self, device: torch.device | str) -> WordTable:
        """The same words on a device."""
        values: list[Any] = [getattr(self, field.name) for field in fields(self)]
        moved: list[Any] = [value.to(device) if isinstance(value, Tensor) else value for value in values]
        return WordTable(*moved)


def end_queries(ends: EndSums) -> Tensor:
    """Vectors [B, n, H] whose scores `scores_by_end` makes scores of ends of.

    The ends are made alike in the mean first, so that neither is far larger than the spans. Where left ends follow from
    right ones, T + 2 vectors are compared instead of 2 T.
    """
    middle = (ends.right - ends.left).mean(1, keepdim=True) / 2
    left, right = ends.left + middle, ends.right - middle
    if ends.shared is None:
        return torch.cat([left, right], dim=1)
    between = ends.shared.expand(len(left), 1, -1)
    return torch.cat([-left[:, :1], right - between, between], dim=1)


def scores_by_end(ends: EndSums, scores: Tensor) -> tuple[Tensor, Tensor]:
    """Scores [B, T, X] of left and right ends from those [B, n, X] of `end_queries`."""
    words = ends.left.shape[1]
    if ends.shared is None:
        return scores[:, :words], scores[:, words:]
    return -scores[:, :words], scores[:, 1:-1] + scores[:, -1:]


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
