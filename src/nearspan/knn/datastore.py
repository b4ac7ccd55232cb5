"""The datastore: training spans with their vectors, labels and where they came from."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.errors import ModelError
from nearspan.knn.carried import Carried
from nearspan.knn.concepts import Concepts
from nearspan.knn.memory_sentence import MemorySentence, folded
from nearspan.knn.vote import AS_TRAINED, Vote
from nearspan.knn.word_index import WordIndex
from nearspan.knn.word_scan import WordScan
from nearspan.knn.word_table import PART, WordTable
from nearspan.segment import Fragments, LabelledSpan, digests
from nearspan.spans import AllSpans, Candidates, SpanMetric, WordSums, candidate_number

TIE = 1e-6  # cosines that differ by less are taken to be the same
OF_WORDS = ("word_index", "sentence_marks")  # what is computed once, and the same while the sentences' words are
OF_LABELS = ("entity_rows", "entity_directions", "labels_by_text")  # the same while the spans' labels are, too


@dataclass(frozen=True)
class Datastore:
    """N training spans, null ones included unless spans are given, sentence after sentence.

    Rows of sentence m are `starts[m]` to `starts[m] + counts[m]`, in the order of the suggester's candidates. Their
    vectors are kept as they are, or by words where they add up over words; `rows` gives them in either case.
    """

    sentences: Sequence[MemorySentence]
    ids: Sequence[int]  # [M] rising; a sentence keeps its id through all edits
    max_width: int
    vectors: Tensor | WordTable  # [N, H], or by words
    labels: Tensor  # [N] 0 is null, -1 a span that was removed; of a span with several labels the first
    further: Tensor  # [W, N] the second and later labels of spans that have several, 0 elsewhere
    sentence_vectors: Tensor  # [M, E] of length 1, column by column: a search is quicker so
    sentence: Tensor  # [N] which sentence a span is of
    first: Tensor  # [N]
    stop: Tensor  # [N]
    starts: Tensor  # [M]
    counts: Tensor  # [M]
    log_weights: Tensor  # [N] of how many times a span counts; -inf: only where its words are read, if it is carried
    _: KW_ONLY
    names: tuple[str, ...]  # of the labels by their numbers, null's "" first
    own_labels: int  # of these the model's own come first; the others are labels because sentences have them
    forgotten: frozenset[int] = frozenset()  # digests of training sentences whose words the encoder shall not recall
    vote: Vote = AS_TRAINED  # how spans count where labels are not those of the training
    metric: SpanMetric | None = None  # after which the vectors were made, where all labels are new

    @classmethod
    def of(
        cls,
        sentences: Sequence[MemorySentence],
        labels: Sequence[str],
        suggester: AllSpans,
        vectors: Tensor | WordSums,
        sentence_vectors: Tensor,
        ids: Sequence[int] | None = None,
    ) -> Datastore:
        """Put a datastore together from the vectors of all candidates of some sentences, or of their words.

        The sentences are numbered from 0 where no `ids` are given. Labels that they have beside `labels` are new ones.
        """
        lengths = torch.tensor([len(sentence.words) for sentence in sentences], dtype=torch.long)
        spans = suggester.candidates(lengths, [sentence.entities for sentence in sentences])
        if isinstance(vectors, WordSums):
            kind, count, expected = "words", len(vectors.steps), int(lengths.sum())
        else:
            kind, count, expected = "spans", len(vectors), int(spans.counts.sum())
        if count != expected or len(sentences) != len(sentence_vectors):
            raise ModelError(
                f"the memory holds vectors of {count} {kind} and {len(sentence_vectors)} sentences where its "
                f"{len(sentences)} sentences have {expected} {kind}: build it again"
            )
        names = label_names(labels, sentences)
        first_labels, further, weights = label_spans(sentences, names, spans, suggester.has_null)
        starts = spans.counts.cumsum(0) - spans.counts
        places = (spans.sentence, spans.first, spans.stop, starts, spans.counts, weights)
        device = sentence_vectors.device
        return cls(
            sentences,
            range(len(sentences)) if ids is None else ids,
            suggester.max_width,
            WordTable.of(vectors, lengths).with_entities(sentences, spans, first_labels)
            if isinstance(vectors, WordSums)
            else vectors,
            first_labels.to(device),
            further.to(device),
            sentence_vectors.T.contiguous().T,
            *(tensor.to(device) for tensor in places),
            names=names,
            own_labels=len(labels),
        )

    @property
    def own_names(self) -> tuple[str, ...]:
        """The labels that are there whatever the sentences have."""
        return self.names[1 : 1 + self.own_labels]

    def keep(self, source: Datastore, *more: str) -> Datastore:
        """This datastore, with what `source` has computed of the words, which are the same, and `more` of that."""
        for name in (*OF_WORDS, *more):
            if name in source.__dict__:
                self.__dict__[name] = source.__dict__[name]
        return self

    def with_names(self, names: tuple[str, ...]) -> Datastore:
        """The same spans with their labels numbered otherwise; those that the spans have must all be there."""
        if names == self.names:
            return self
        numbers = {name: number for number, name in enumerate(names)}
        table = torch.tensor([*(numbers.get(name, 0) for name in self.names), -1], device=self.labels.device)
        vectors = self.vectors  # the last of the table is for -1, a span that was removed
        if isinstance(vectors, WordTable):
            vectors = replace(vectors, labels=table[vectors.labels])
        renamed = replace(self, names=names, labels=table[self.labels], further=table[self.further], vectors=vectors)
        return renamed.keep(self, *OF_LABELS)

    def with_vectors(self, vectors: Tensor | WordSums | WordTable, sentence_vectors: Tensor) -> Datastore:
        """The same spans with other vectors; or with those that it has, after `labels` or `sentences` have changed."""
        if isinstance(vectors, WordSums):
            vectors = WordTable.of(vectors, torch.tensor([len(each.words) for each in self.sentences]))
        if isinstance(vectors, WordTable):
            vectors = vectors.with_entities(self.sentences, self, self.labels)
        return replace(self, vectors=vectors, sentence_vectors=sentence_vectors.T.contiguous().T)

    def with_weights(self, sentences: Sequence[MemorySentence], log_weights: Tensor) -> Datastore:
        """The same spans, which count otherwise; the sentences differ in nothing else."""
        vectors = self.vectors
        if isinstance(vectors, WordTable):
            pairs = enumerate(zip(self.sentences, sentences, strict=True))
            vectors = vectors.with_weights(sentences, [place for place, (old, new) in pairs if old is not new])
        weighed = replace(self, sentences=sentences, log_weights=log_weights, vectors=vectors)
        return weighed.keep(self, *OF_LABELS)

    def with_vote(self, vote: Vote) -> Datastore:
        """The same spans, of which those of a label count otherwise."""
        return replace(self, vote=vote).keep(self, *OF_LABELS) if vote != self.vote else self

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        entities = int((self.labels > 0).sum())
        return f"Datastore({len(self.sentences):,} sentences, {len(self):,} spans, {entities:,} entities)"

    def rows(self, rows: Tensor | slice) -> Tensor:
        """The vectors [..., H] of the spans at some rows."""
        if isinstance(self.vectors, Tensor):
            return self.vectors[rows]
        first, stop = self.first[rows], self.stop[rows]
        return self.vectors.spans(self.vectors.starts[self.sentence[rows]] + first, stop - first)

    def scores(self, queries: Tensor) -> Tensor:
        """Inner products [n, N] of vectors [n, H] with all spans."""
        if isinstance(self.vectors, WordTable):
            return self.vectors.scores(queries, self.max_width).flatten(1)[:, self._cells]
        scores = queries.new_empty(len(queries), len(self))
        for vectors, part in zip(self.vectors.split(PART), scores.split(PART, dim=1), strict=True):
            torch.mm(queries, vectors.to(queries.dtype).T, out=part)
        return scores

    @cached_property
    def lengths(self) -> Tensor:
        """The lengths [N] of all spans' vectors."""
        if isinstance(self.vectors, WordTable):
            return self.vectors.lengths(self.max_width).flatten()[self._cells]
        return torch.cat([vectors.float().norm(dim=1) for vectors in self.vectors.split(PART)])

    @cached_property
    def entity_rows(self) -> Tensor:
        """The rows [E] of the spans that have a label."""
        return (self.labels > 0).nonzero().flatten()

    @cached_property
    def entity_directions(self) -> Tensor:
        """The vectors [E, H] of the spans that have a label, of length 1."""
        parts = [self.rows(rows).float() for rows in self.entity_rows.split(PART)]
        return functional.normalize(torch.cat(parts), dim=1)

    @cached_property
    def word_scan(self) -> WordScan:
        """The words as they are asked all together, where the vectors are kept by words."""
        assert isinstance(self.vectors, WordTable)
        return WordScan.of(self.vectors, self.max_width)

    @cached_property
    def entities_by_label(self) -> tuple[Tensor, Tensor, Tensor]:
        """Vectors [E, H] of the spans that have a label and count, their labels [E], which rise, and log of their
        weights [E].

        Kept by words, the vectors are without what all spans begin with.
        """
        labels, order = self.labels[self.entity_rows].sort(stable=True)
        counts = self.log_weights[self.entity_rows[order]] > -torch.inf
        labels, order = labels[counts], order[counts]
        rows = self.entity_rows[order]
        vectors = self.vectors.entities[:-1][order] if isinstance(self.vectors, WordTable) else self.rows(rows).float()
        return vectors, labels, self.log_weights[rows]

    def labels_of_text(self, text: str) -> frozenset[str]:
        """The labels of the entities with a text, whatever its case and blanks are."""
        return self.labels_by_text.get(folded(text), frozenset())

    @cached_property
    def labels_by_text(self) -> dict[str, frozenset[str]]:
        """The labels of all entities by their texts."""
        labels: dict[str, set[str]] = {}
        for sentence in self.sentences:
            for gold in sentence.entities:
                first, stop = gold.fragments[0]
                if len(gold.fragments) == 1 and stop - first <= self.max_width:
                    text = sentence.text[sentence.words[first][0] : sentence.words[stop - 1][1]]
                    labels.setdefault(folded(text), set()).add(gold.label)
        return {text: frozenset(names) for text, names in labels.items()}

    @cached_property
    def concepts(self) -> Concepts | None:
        """The memory's entities by the concepts that they are linked to; None where no identifier is given."""
        return Concepts.of(self.sentences, self.ids)

    @property
    def _cells(self) -> Tensor:
        """Where the spans [N] are among those by the row of their first word and their width."""
        assert isinstance(self.vectors, WordTable)
        return (self.vectors.starts[self.sentence] + self.first) * self.max_width + self.stop - self.first - 1

    def offsets(self, rows: Tensor | slice) -> Tensor:
        """What is added to the scores [...] of the spans at some rows: log of their weight, -inf where removed."""
        return self.log_weights[rows].masked_fill(self.labels[rows] < 0, -torch.inf)

    @cached_property
    def aside(self) -> Tensor:
        """Which sentences [M] take no place among the nearest, unless there are no others: they speak for their carried
        spans' words alone."""
        weights = [sentence.weight for sentence in self.sentences]
        aside = torch.tensor(weights, device=self.starts.device) == 0
        return aside & ~aside.all()

    @cached_property
    def sentence_offsets(self) -> Tensor:
        """What is added to the sentences' cosines [M]: of equal ones those whose spans count more come first, then the
        earlier ones, whatever the rounding of a cosine; -inf for those that are aside."""
        device = self.starts.device
        favoured, marks = torch.zeros_like(self.starts, dtype=torch.bool), self.sentence_marks
        favoured[self.sentence[self.log_weights > 0]] = True
        order = favoured.byte().argsort(descending=True, stable=True)
        order = order[marks[order].argsort(stable=True)]  # those that are the same but for rounding are neighbours
        steps = torch.arange(len(order), device=device)
        begins = torch.ones_like(steps)
        begins[1:] = marks[order].diff() != 0
        before = steps - (steps * begins).cummax(0).values  # how many of its kind come before each
        offsets = -TIE * torch.empty_like(before).scatter_(0, order, before).float()
        return offsets.masked_fill_(self.aside, -torch.inf)

    @cached_property
    def sentence_marks(self) -> Tensor:
        """A number for each sentence [M], the same for those whose vectors are the same but for rounding."""
        vectors = self.sentence_vectors
        factors = torch.randint(2**62, vectors.shape[1:], generator=torch.Generator().manual_seed(0)).to(vectors.device)
        return torch.cat([((part.float() * 2**12).round().long() * factors).sum(1) for part in vectors.split(PART)])

    @cached_property
    def word_index(self) -> WordIndex:
        """Where the words of the sentences are."""
        return WordIndex.of(self.sentences)

    @cached_property
    def carried(self) -> Carried | None:
        """The spans that are compared with the same words wherever these are read."""
        if not any(sentence.carried for sentence in self.sentences):
            return None
        return Carried.of(self.sentences, self.starts, self.labels, self.max_width)

    @cached_property
    def by_digest(self) -> dict[int, int]:
        """Where the sentences are by their digests, which tell a sentence whatever its id."""
        numbers = digests((sentence.tokens for sentence in self.sentences), self.forgotten)
        return {digest: number for number, digest in enumerate(numbers)}

    def labels_of(self, row: int) -> list[str]:
        """All labels of the span at a row; `labels` holds the first of them."""
        sentence, span = self.sentences[int(self.sentence[row])], ((int(self.first[row]), int(self.stop[row])),)
        return [gold.label for gold in sentence.entities if gold.fragments == span]

    def identifier_of(self, row: int, label: str) -> str:
        """The identifier of the span at a row as an entity of a label; "" where it has none."""
        sentence, span = self.sentences[int(self.sentence[row])], ((int(self.first[row]), int(self.stop[row])),)
        entities = (gold for gold in sentence.entities if gold.fragments == span and gold.label == label)
        return next((gold.identifier for gold in entities), "")

    def fragments(self) -> Iterator[tuple[int, LabelledSpan[str]]]:
        """The rows of the fragments of discontinuous entities, each with its entity."""
        for number, sentence in enumerate(self.sentences):
            for gold in (gold for gold in sentence.entities if gold.discontinuous):
                first, stop = torch.tensor(gold.fragments).unbind(1)
                numbers = candidate_number(first, stop, torch.tensor(len(sentence.words)), self.max_width)
                yield from ((int(self.starts[number]) + row, gold) for row in numbers.tolist())

    def has_label(self, label: int) -> Tensor:
        """Which spans [N] have a label, 0 for none; removed ones count as having every label."""
        further = self.further == label if label else self.further < 0
        return (self.labels == label) | (self.labels < 0) | further.any(0)

    def to(self, device: torch.device | str) -> Datastore:
        """The same datastore on a device."""
        moved: dict[str, Any] = {
            field.name: value.to(device)
            for field in fields(self)
            if isinstance(value := getattr(self, field.name), Tensor | WordTable | SpanMetric)
        }
        return replace(self, **moved)


def label_names(own: Sequence[str], sentences: Iterable[MemorySentence]) -> tuple[str, ...]:
    """All labels by their numbers: null, a model's own ones, then those that some sentences have beside them.

    >>> label_names(["PLACE"], [MemorySentence("", 0, "aspirin", ((0, 7),), (LabelledSpan.of(0, 1, "DRUG"),))])
    ('', 'PLACE', 'DRUG')
    """
    used = {gold.label for sentence in sentences for gold in sentence.entities}
    return ("", *own, *sorted(used.difference(own)))


def label_spans(
    sentences: Sequence[MemorySentence], names: Sequence[str], spans: Candidates, weighted: bool = True
) -> tuple[Tensor, Tensor, Tensor]:
    """Of the candidates of some sentences the labels [N] by their numbers, -1 for spans that were removed; the second
    and later labels [W, N] of those that have several; and, where they are `weighted`, log of how many times they count
    [N].
    """
    number = {label: i for i, label in enumerate(names)}
    label_marks: list[tuple[int, int, int, int, int]] = []  # sentence, first, stop, how many labels before, label
    weight_marks: list[tuple[int, int, int, float]] = []
    for m, sentence in enumerate(sentences):
        before: Counter[Fragments] = Counter()
        for gold in sentence.entities:
            if not gold.discontinuous:
                label_marks.append((m, *gold.fragments[0], before[gold.fragments], number[gold.label]))
                before[gold.fragments] += 1
        label_marks += [(m, *span, 0, -1) for span in sentence.removed]
        weight_marks += [(m, first, stop, math.log(times)) for first, stop, times in sentence.span_weights]
    places = torch.tensor([mark[:3] for mark in (*label_marks, *weight_marks)], dtype=torch.long).view(-1, 3)
    rows, real = spans.find(places)  # wider ones are no candidates
    label_rows, label_real = rows[: len(label_marks)], real[: len(label_marks)]
    rank, label_numbers = torch.tensor([mark[3:] for mark in label_marks], dtype=torch.long).view(-1, 2).unbind(1)
    table = torch.zeros(int(rank.max()) + 1 if label_marks else 1, len(spans.first), dtype=torch.long)
    table[rank[label_real], label_rows[label_real]] = label_numbers[label_real]
    logs = torch.zeros(len(spans.first))
    if weighted:
        logs = torch.tensor([sentence.weight for sentence in sentences]).log()[spans.sentence]
        entity_logs = torch.tensor([sentence.entity_weight for sentence in sentences]).log()[spans.sentence]
        logs = torch.where(table[0] > 0, logs + entity_logs, logs)
        times, weight_real = torch.tensor([mark[3] for mark in weight_marks]), real[len(label_marks) :]
        logs[rows[len(label_marks) :][weight_real]] += times[weight_real]
    return table[0], table[1:], logs
