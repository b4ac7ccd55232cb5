"""The vectors of a corpus's gold entities, and of spans that are none, as a model sees them."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import torch
from torch import Tensor

from nearspan.document import Document, Entity, Span
from nearspan.encoders import Batch
from nearspan.model import Model
from nearspan.segment import Gold, Sentence, align
from nearspan.segment.windows import Window, split_windows
from nearspan.spans import Candidates, WordEntity, align_to_candidates

Key = tuple[int, Entity]  # the document's position, and the entity in it


@dataclass(frozen=True, slots=True)
class WordSpan:
    """A span that a model considers: words (or pieces) `first` to `stop` of a sentence, or of a window of one."""

    sentence: Sentence
    first: int
    stop: int


@dataclass(frozen=True, slots=True)
class GoldSpan(WordSpan):
    """A gold entity that a model considers."""

    document: int
    entity: Entity

    @property
    def key(self) -> Key:
        """What it is called whatever the model."""
        return self.document, self.entity

    @property
    def span(self) -> Span:
        """Its characters in the text of its sentence."""
        return self.entity.span.shift(-self.sentence.start)


def gold_spans(model: Model, documents: Sequence[Document]) -> dict[Key, GoldSpan]:
    """The gold entities whose spans are among a model's candidates, in order; of two labels on a span the first."""
    found: dict[Key, GoldSpan] = {}
    for number, document in enumerate(documents):
        sentences = model.split(document)
        aligned = align(sentences, document.entities)
        for sentence, golds, sources in zip(sentences, aligned.golds, aligned.sources, strict=True):
            parts = split_windows(sentence, model.network.max_width) if golds else []
            seen = set()
            for gold, entity in zip(golds, sources, strict=True):
                if gold.discontinuous or gold.width > model.network.max_width or gold.fragments in seen:
                    continue
                seen.add(gold.fragments)
                place = _placed(parts, gold.first, gold.stop)
                if place.stop <= len(place.sentence):
                    found[number, entity] = GoldSpan(place.sentence, place.first, place.stop, number, entity)
    return found


def reachable_spans(model: Model, documents: Sequence[Document]) -> set[Key]:
    """The gold entities that a model can find: some, as wide ones that words are tagged for, are no candidates."""
    joiner, head = model.network.fragment_linker, model.recipe.head
    joined = {model.labels[number] for number in joiner.labels} if joiner is not None else set()
    flags = (head.multilabel, joiner is not None, head.tags_words)
    found: set[Key] = set()
    for number, document in enumerate(documents):
        sentences = model.split(document)
        aligned = align(sentences, document.entities)
        reached = align_to_candidates(sentences, document.entities, model.network.max_width, *flags)
        for position, (golds, sources) in enumerate(zip(aligned.golds, aligned.sources, strict=True)):
            kept = {Gold(((first, stop),), label) for first, stop, label in reached.entities[position]}
            kept.update(gold for gold in reached.discontinuous[position] if gold.label in joined)
            found.update((number, entity) for gold, entity in zip(golds, sources, strict=True) if gold in kept)
    return found


def negative_spans(
    model: Model, documents: Sequence[Document], widest: int, most: int, seed: int = 0
) -> list[WordSpan]:
    """At most `most` spans of up to `widest` words, or pieces, that are no gold entity, drawn evenly from all of them.

    Models with the same words and `widest` get the same spans.
    """
    sentences: list[Sentence] = []
    taken: list[set[tuple[int, int]]] = []  # the gold spans of each sentence
    for document in documents:
        own = model.split(document)
        sentences += own
        golds = align(own, document.entities).golds
        taken += [{gold.fragments[0] for gold in some if not gold.discontinuous} for some in golds]
    ends = list(accumulate(sum(_candidates(len(sentence), widest)) for sentence in sentences))
    total = ends[-1] if ends else 0
    enough = min(total, most + sum(map(len, taken)))  # `most` are left without the gold ones
    found: list[WordSpan] = []
    for number in random.Random(seed).sample(range(total), enough):
        position = bisect_right(ends, number)
        sentence = sentences[position]
        first, stop = _candidate(number - (ends[position - 1] if position else 0), len(sentence), widest)
        if (first, stop) not in taken[position]:
            found.append(_placed(split_windows(sentence, model.network.max_width), first, stop))
        if len(found) == most:
            break
    return found


def _candidates(words: int, widest: int) -> Iterator[int]:
    """How many candidates begin at each word of a sentence."""
    return (min(widest, words - first) for first in range(words))


def _candidate(number: int, words: int, widest: int) -> tuple[int, int]:
    """First word and stop of a sentence's candidate by its number.

    >>> [_candidate(number, words=3, widest=2) for number in range(5)]
    [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]
    """
    for first, count in enumerate(_candidates(words, widest)):
        if number < count:
            return first, first + number + 1
        number -= count
    raise IndexError("a sentence has no so many candidates")


def _placed(parts: Sequence[Window], first: int, stop: int) -> WordSpan:
    """Words of a sentence, in the window that answers for them."""
    part = next(part for part in parts if part.owns(first - part.start))
    return WordSpan(part.sentence, first - part.start, stop - part.start)


@dataclass(frozen=True)
class Read:
    """A batch of sentences as a model reads it, and the wanted spans that are in it."""

    vectors: Tensor  # [S, H] of all candidates, or [S, H'] of the representation
    candidates: Candidates
    wanted: Tensor  # [N] numbers of the wanted spans
    sentences: Tensor  # [N] their sentences in the batch, on the CPU
    rows: Tensor  # [N] their rows in `vectors`


@dataclass(frozen=True)
class _Batch:
    """A batch of the sentences of some spans, and which of the wanted spans are in it."""

    batch: Batch
    wanted: Tensor  # [N] their numbers
    places: Tensor  # [N, 3] sentence in the batch, first and stop, on the CPU

    def rows(self, candidates: Candidates) -> Tensor:
        """Where the wanted spans are among the batch's candidates [N]."""
        longest = int(self.batch.lengths.max()) + 1
        # candidates are sorted by sentence, first and stop, and so are these numbers
        numbers = (candidates.sentence * longest + candidates.first) * longest + candidates.stop
        sentence, first, stop = self.places.unbind(1)
        asked = ((sentence * longest + first) * longest + stop).to(numbers.device)
        return torch.searchsorted(numbers, asked)


def _batches(model: Model, spans: Sequence[WordSpan]) -> Iterator[_Batch]:
    """The sentences of some spans, each once; a model for given spans is given these."""
    if not spans:
        return
    model.network.eval()
    sentences = {_where(span.sentence): span.sentence for span in spans}
    number = {where: i for i, where in enumerate(sentences)}
    wanted = torch.tensor([(number[_where(span.sentence)], span.first, span.stop) for span in spans])  # [N, 3]
    own: list[list[WordEntity]] = [[] for _ in sentences]
    for sentence, first, stop in wanted.tolist():
        own[sentence].append((first, stop, ""))
    prepared = model.encode(list(sentences.values()), own)
    for ids in prepared.order(model.device):
        place = torch.full((len(sentences),), -1)
        place[ids] = torch.arange(len(ids))
        mine = (place[wanted[:, 0]] >= 0).nonzero().flatten()
        places = torch.stack([place[wanted[mine, 0]], wanted[mine, 1], wanted[mine, 2]], dim=1)
        yield _Batch(prepared.batch(ids), mine.to(model.device), places)


@torch.inference_mode()
def read(model: Model, spans: Sequence[WordSpan], inputs: bool = False) -> Iterator[Read]:
    """Read the sentences of some spans, each once; with `inputs` up to what a bottleneck and generators are given."""
    for some in _batches(model, spans):
        found, candidates = model.network.represented(some.batch) if inputs else model.network.spans(some.batch)
        yield Read(found, candidates, some.wanted, some.places[:, 0], some.rows(candidates))


def _where(sentence: Sentence) -> tuple[int, int, int]:
    """What tells sentences and windows apart, without a look at all the words of their documents."""
    return id(sentence.document), sentence.start, sentence.end


@torch.inference_mode()
def span_vectors(model: Model, spans: Sequence[WordSpan]) -> Tensor:
    """The vectors [N, H] of some spans; each sentence is read once."""
    vectors = torch.empty(len(spans), model.network.span_size, device=model.device)
    for batch in read(model, spans):
        vectors[batch.wanted] = batch.vectors[batch.rows].float()
    return vectors


@torch.inference_mode()
def label_probabilities(model: Model, spans: Sequence[WordSpan]) -> Tensor:
    """P(y|s) [N, 1 + Y] of some spans, null first; each sentence is read once."""
    found = torch.empty(len(spans), len(model.labels), device=model.device)
    for some in _batches(model, spans):
        probabilities, candidates = model.network.probabilities(some.batch, model.datastore)
        found[some.wanted] = probabilities[some.rows(candidates)].float()
    return found


@torch.inference_mode()
def input_vectors(model: Model, spans: Sequence[WordSpan]) -> Tensor:
    """The representation's vectors [N, H'] of some spans: what a bottleneck and generators are given."""
    vectors = torch.empty(len(spans), model.network.representation.size, device=model.device)
    for batch in read(model, spans, inputs=True):
        vectors[batch.wanted] = batch.vectors[batch.rows].float()
    return vectors
