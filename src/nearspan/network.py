"""The parts as one network: encoder, span representation, bottleneck and head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from nearspan.decoding import Guess
from nearspan.encoders import Batch, Encoded, Encoder
from nearspan.errors import ConfigError
from nearspan.heads import Crf, Head, Instances, Pool, Sigmoid, SpanHead
from nearspan.heads.instances import streamed_probabilities
from nearspan.memory import Memory, WordTable, nearest_sentences, pools
from nearspan.objectives import Generators, ObjectiveSettings, SpanTexts, Vocabulary, idle, smoothed
from nearspan.recipes import Recipe
from nearspan.spans import (
    Bottleneck,
    Candidates,
    Deep,
    Ends,
    Minus,
    Representation,
    SpanLabels,
    WordSums,
    enumerate_spans,
)
from nearspan.spans.sums import widths_of

CELLS = 2**20  # scores of spans with words at once: what a CPU's caches like
CELL = 52  # bytes that one of them takes, in single and at worst in double precision
WORDS = 8192  # of the memory at once, if all its sentences were as long as the longest


@dataclass(frozen=True)
class Labelled:
    """A batch, with the labels of the corpus it is from: of its spans, or of its words; for generators its texts."""

    batch: Batch
    labels: SpanLabels
    texts: SpanTexts | None = None
    tags: Tensor | None = None  # [R] of the corpus's words, for a head over words


class Network(nn.Module):
    """Word states, span vectors, label probabilities.

    A span's vector is what the head reads: that of the representation or, with a bottleneck, the mean of its
    compressed distribution. In training the head reads draws from the distribution instead.
    """

    def __init__(
        self,
        encoder: Encoder,
        representation: Representation,
        head: Head,
        labels: int,
        max_width: int,
        objective: ObjectiveSettings,
        bottleneck: Bottleneck | None = None,
        generators: Generators | None = None,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.representation = representation
        self.head = head
        self.labels = labels + 1  # null is a label like the others
        self.max_width = max_width
        self.objective = objective
        self.bottleneck = bottleneck
        self.generators = generators

    @property
    def size(self) -> int:
        """H, the width of a span's vector."""
        return self.bottleneck.size if self.bottleneck is not None else self.representation.size

    @property
    def span_head(self) -> SpanHead:
        """The head, where it reads spans."""
        if isinstance(self.head, Crf):
            raise TypeError("this head reads words")
        return self.head

    @property
    def adds_up(self) -> Minus | None:
        """The representation, if span vectors are sums over words as the head reads them."""
        spans = self.representation
        return spans if isinstance(spans, Minus) and self.bottleneck is None else None

    def pretrained(self) -> list[nn.Parameter]:
        """The weights that come from a pretrained encoder; they learn at a rate of their own."""
        transformer, spans = self.encoder.transformer, self.representation
        copies = spans.pretrained() if isinstance(spans, Deep) else []
        return [*(transformer.parameters() if transformer is not None else []), *copies]

    def spans(self, batch: Batch) -> tuple[Tensor, Candidates]:
        """Vectors [S, H] of all candidates of a batch."""
        vectors, candidates, _ = self.read(batch)
        return vectors, candidates

    def read(self, batch: Batch) -> tuple[Tensor, Candidates, Encoded]:
        """Vectors [S, H] of all candidates of a batch, and what the encoder made of it."""
        candidates = enumerate_spans(batch.lengths, self.max_width, batch.rows.device)
        encoded = self.encoder(batch)
        return self.vectors(encoded, candidates), candidates, encoded

    def vectors(self, encoded: Encoded, candidates: Candidates) -> Tensor:
        """Vectors [S, H] of candidates, as the head reads them when nothing is drawn."""
        found: Tensor = self.representation(encoded, candidates)
        return found if self.bottleneck is None else self.bottleneck(found).mean

    def labelled_spans(self, labelled: Labelled) -> tuple[Tensor, Tensor]:
        """Vectors [S, H] and gold labels [S]."""
        vectors, candidates = self.spans(labelled.batch)
        return vectors, labelled.labels.targets(labelled.batch.ids, candidates)

    def forward(
        self, labelled: Labelled, neighbours: Labelled | None = None, epoch: int = 0, done: float = 0.0
    ) -> Tensor:
        """The loss in an epoch, when a share of all training is done.

        The head's and the bottleneck's are summed over a sentence's spans, or words, the mean over the batch's
        sentences; the generators' is a mean over gold spans (Nguyen et al., 2023, equation 7).
        """
        batch, generators = labelled.batch, self.generators
        encoded = self.encoder(batch)
        if isinstance(self.head, Crf):
            return self._tagged(self.head, encoded, labelled)
        candidates = enumerate_spans(batch.lengths, self.max_width, batch.rows.device)
        vectors = self.representation(encoded, candidates)
        if generators is None or labelled.texts is None:
            return self._classified(vectors, candidates, labelled, neighbours, epoch)
        with torch.autocast(vectors.device.type, enabled=False):
            generated = generators.loss(vectors.float(), labelled.texts.of(batch.ids, candidates), done)
        settings = generators.settings
        if epoch < settings.pretraining:
            return generated + idle(self)
        loss = self._classified(vectors, candidates, labelled, neighbours, epoch - settings.pretraining)
        return loss + settings.gamma * generated

    def _tagged(self, head: Crf, encoded: Encoded, labelled: Labelled) -> Tensor:
        """The loss of a head over words."""
        if labelled.tags is None:
            raise ValueError("a head over words needs the tags of the words: TrainingData.word_tags")
        batch = encoded.batch
        with torch.autocast(encoded.states.device.type, enabled=False):
            return head.loss(encoded.states.float(), batch.mask, labelled.tags[batch.rows]) / len(batch)

    def _classified(
        self, vectors: Tensor, candidates: Candidates, labelled: Labelled, neighbours: Labelled | None, epoch: int
    ) -> Tensor:
        """The loss of head and bottleneck for what the representation made of a batch's candidates [S, H']."""
        pool = self.pool(neighbours) if neighbours is not None else None
        batch = labelled.batch
        targets = self.targets(labelled.labels.hot(batch.ids, candidates, self.labels), candidates)
        if self.bottleneck is None:
            return self._scored([vectors], targets, pool) / len(batch)
        found = self.bottleneck(vectors)
        drawn = self._scored(self.bottleneck.samples(found), targets, pool)
        return (drawn + self.bottleneck.loss(found, epoch)) / len(batch)

    def _scored(self, drawn: Sequence[Tensor], targets: Tensor, pool: Pool | None) -> Tensor:
        """The head's loss, the mean over several draws [S, H] of the span vectors."""
        with torch.autocast(targets.device.type, enabled=False):  # scores want full precision
            losses = [self.span_head.loss(vectors.float(), targets, pool) for vectors in drawn]
        return torch.stack(losses).mean()

    def targets(self, hot: Tensor, candidates: Candidates) -> Tensor:
        """What the loss asks for [S, 1 + Y], given gold labels as ones: the same, or smoothed over boundaries."""
        smoothing = self.objective.smoothing
        return hot if smoothing is None else smoothed(hot, candidates, smoothing)

    def pool(self, neighbours: Labelled) -> Pool:
        """Spans of some training sentences to compare with: constants without dropout, unless told otherwise."""
        if isinstance(self.head, Instances) and self.head.settings.through_neighbours:
            return Pool(*self.labelled_spans(neighbours))
        training = self.training
        self.eval()
        with torch.no_grad():
            pool = Pool(*self.labelled_spans(neighbours))
        self.train(training)
        return pool

    def probabilities(self, batch: Batch, memory: Memory | None) -> tuple[Tensor, Candidates]:
        """P(y|s) [S, 1 + Y] for all candidates of a batch."""
        head = self.head
        if isinstance(head, Crf):
            candidates = enumerate_spans(batch.lengths, self.max_width, batch.rows.device)
            return self.marginals(batch, candidates.sentence, candidates.first, candidates.stop), candidates
        if not isinstance(head, Instances):
            vectors, candidates = self.spans(batch)
            return head.probabilities(vectors.float()), candidates
        if memory is None:
            raise ValueError("the instance head needs a memory: Model.remember builds one")
        candidates = enumerate_spans(batch.lengths, self.max_width, batch.rows.device)
        encoded = self.encoder(batch)
        sentences = None
        if head.settings.search == "nearest":
            sentences = nearest_sentences(memory, encoded.sentence_vectors(), head.settings.neighbours)  # [B, K]
        spans = self.adds_up
        if spans is not None and isinstance(memory.vectors, WordTable) and not encoded.states.is_cuda:
            asked = spans.sums(encoded.states)
            return self._by_words(head, asked, candidates, memory.vectors, sentences), candidates
        vectors = self.vectors(encoded, candidates).float()
        if sentences is None:
            return streamed_probabilities(vectors, memory, head.labels, head.budget), candidates
        return _side_by_side(head, memory, sentences, vectors, candidates), candidates

    def guesses(self, batch: Batch, memory: Memory | None) -> list[list[Guess]]:
        """For each sentence of a batch the spans that are entities, with each of their labels."""
        if isinstance(self.head, Crf):
            index, scores = self.head.entities(self.encoder(batch).states.float(), batch.mask)
        else:
            probabilities, candidates = self.probabilities(batch, memory)
            rows, labels = self.chosen(probabilities)
            places = [places[rows] for places in (candidates.sentence, candidates.first, candidates.stop)]
            index, scores = torch.stack([*places, labels]).T, probabilities[rows, labels]
        found: list[list[Guess]] = [[] for _ in range(len(batch))]
        for (sentence, first, stop, label), score in zip(index.tolist(), scores.tolist(), strict=True):
            found[sentence].append(Guess(first, stop, label, score))
        return found

    def marginals(self, batch: Batch, sentence: Tensor, first: Tensor, stop: Tensor) -> Tensor:
        """P(y|s) [S, 1 + Y] of any spans of a batch, for a head over words."""
        if not isinstance(self.head, Crf):
            raise TypeError("only a head over words has marginals of any span")
        return self.head.probabilities(self.encoder(batch).states.float(), batch.mask, sentence, first, stop)

    def chosen(self, probabilities: Tensor) -> tuple[Tensor, Tensor]:
        """Rows and labels of the spans that are entities, given P(y|s) [S, 1 + Y]: the likeliest label, unless it is
        null, or all labels that hold where a span may have several.
        """
        if isinstance(self.head, Sigmoid):
            return self.head.above(probabilities)
        labels = probabilities.argmax(1)
        rows = labels.nonzero().flatten()
        return rows, labels[rows]

    def _by_words(
        self, head: Instances, asked: WordSums, candidates: Candidates, words: WordTable, sentences: Tensor | None
    ) -> Tensor:
        """P(y|s) from words of the memory: those of `sentences` [B, K], or of all sentences."""
        counts = torch.tensor(widths_of(asked.steps.shape[1], self.max_width))
        spans = int(counts.sum())  # of a sentence, padding included
        if sentences is None:
            sentences, sizes = torch.arange(len(words.starts))[None], torch.full((len(candidates.counts),), WORDS // 8)
        else:
            sizes = words.counts[sentences].sum(1)
        order = sizes.argsort()  # pools of like size together
        found = []
        cells = min(CELLS, head.budget // CELL)
        for ids in order.split(max(1, cells // (spans * int(sizes.float().mean())))):
            some = asked.some(ids)
            most = min(WORDS, head.budget // (len(ids) * (spans * CELL + 8 * self.representation.size)))
            pools = words.pools(sentences[ids] if len(sentences) > 1 else sentences, most)
            found.append(head.probabilities_by_words(some, pools, self.max_width))
        before = counts.cumsum(0) - counts
        rows = before[candidates.stop - candidates.first - 1] + candidates.first
        rows += order.argsort()[candidates.sentence] * spans
        return torch.cat(found).flatten(0, 1).index_select(0, rows)


def assemble(recipe: Recipe, encoder: Encoder, labels: int, vocabulary: Vocabulary | None = None) -> Network:
    """The network of a recipe around an encoder; generators are built where there is a vocabulary for them."""
    representation = recipe.representation.build(encoder, recipe.candidates.max_width)
    bottleneck = recipe.bottleneck.build(representation.size) if recipe.bottleneck else None
    ends = representation.end_size if isinstance(representation, Ends) else 0
    if bottleneck is not None and recipe.head.kind == "biaffine":
        raise ConfigError("the biaffine head compares a span's ends, which a bottleneck blends: set bottleneck=none")
    if recipe.head.tags_words:
        _refuse_spans(recipe)
        head: Head = recipe.head.build(encoder.size, labels)
    else:
        head = recipe.head.build(bottleneck.size if bottleneck else representation.size, labels, ends)
    wanted, max_width = recipe.objective.generation, recipe.candidates.max_width
    generators = wanted.build(representation.size, vocabulary) if wanted and vocabulary else None
    return Network(encoder, representation, head, labels, max_width, recipe.objective, bottleneck, generators)


def _refuse_spans(recipe: Recipe) -> None:
    """A head over words has no use for what changes span vectors or their targets."""
    parts = {"bottleneck": recipe.bottleneck, **dict(recipe.objective)}
    for name in (name for name, part in parts.items() if part is not None):
        place = name if name == "bottleneck" else f"objective.{name}"
        raise ConfigError(f"the {recipe.head.kind} head reads words, not spans: set {place}=none")


def _side_by_side(
    head: Instances, memory: Memory, sentences: Tensor, vectors: Tensor, candidates: Candidates
) -> Tensor:
    """P(y|s) [S, 1 + Y] with many sentences' pools padded and compared at once, as a GPU likes it."""
    padded = pad_sequence(list(vectors.split(candidates.counts.tolist())), batch_first=True)  # [B, S', H]
    most = int(memory.counts[sentences].sum(1).max())
    each = 4 * most * (2 * padded.shape[1] + 3 * vectors.shape[1] + 3 * (head.labels + 1))  # scores, vectors, votes
    size = max(1, head.budget // each)
    groups = [
        head.probabilities(some, pools(memory, ids))
        for some, ids in zip(padded.split(size), sentences.split(size), strict=True)
    ]
    real = torch.arange(padded.shape[1]) < candidates.counts[:, None]
    found: Tensor = torch.cat(groups)[real.to(vectors.device)]
    return found
