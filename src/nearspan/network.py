"""The parts as one network: encoder, span representation, bottleneck and head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from nearspan.decoding import Guess
from nearspan.encoders import Batch, Encoded, Encoder
from nearspan.heads import Crf, Head, Instances, Joiner, Pool, Sigmoid, Softmax, SpanHead
from nearspan.heads.instances import streamed_probabilities
from nearspan.memory import (
    Memory,
    VoteSettings,
    WordTable,
    compared_by_words,
    compared_side_by_side,
    entities_by_words,
    nearest_sentences,
    vote,
)
from nearspan.objectives import Generators, ObjectiveSettings, SpanTexts, idle, smoothed
from nearspan.spans import (
    Bottleneck,
    Candidates,
    Deep,
    GoldFragments,
    Minus,
    Representation,
    SpanLabels,
    candidates_of,
)


@dataclass(frozen=True)
class Labelled:
    """A batch, and of its corpus the labels, the texts of entities for generators, fragments for a joiner, and tags."""

    batch: Batch
    labels: SpanLabels
    texts: SpanTexts | None = None
    fragments: GoldFragments | None = None
    tags: Tensor | None = None  # [R] of the corpus's words, for a head over words


class Network(nn.Module):
    """Word states, span vectors, label probabilities.

    For `typing`, candidates are the spans that a batch is given with, and none of them is null.

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
        joiner: Joiner | None = None,
        vote: VoteSettings | None = None,
        typing: bool = False,
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
        self.joiner = joiner
        self.vote = vote
        self.typing = typing
        if isinstance(head, Softmax):
            head.typing = typing

    @property
    def size(self) -> int:
        """H, the width of a span's vector."""
        return self.bottleneck.size if self.bottleneck is not None else self.representation.size

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        return next(self.parameters()).device

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
        return spans if isinstance(spans, Minus) and self.bottleneck is None and not self.typing else None

    def pretrained(self) -> list[nn.Parameter]:
        """The weights that come from a pretrained encoder; they learn at a rate of their own."""
        transformer, spans = self.encoder.transformer, self.representation
        copies = spans.pretrained() if isinstance(spans, Deep) else []
        return [*(transformer.parameters() if transformer is not None else []), *copies]

    def candidates(self, batch: Batch) -> Candidates:
        """The spans of a batch that are considered."""
        if self.typing and batch.prepared.given is None:
            raise ValueError("spans are not given: prepare the sentences with them")
        return candidates_of(batch, self.max_width)

    def spans(self, batch: Batch) -> tuple[Tensor, Candidates]:
        """Vectors [S, H] of all candidates of a batch."""
        vectors, candidates, _ = self.read(batch)
        return vectors, candidates

    def read(self, batch: Batch) -> tuple[Tensor, Candidates, Encoded]:
        """Vectors [S, H] of all candidates of a batch, and what the encoder made of it."""
        candidates = self.candidates(batch)
        encoded = self.encoder(batch)
        return self.vectors(encoded, candidates), candidates, encoded

    def represented(self, batch: Batch) -> tuple[Tensor, Candidates]:
        """What the representation makes of all candidates of a batch [S, H'], before any bottleneck."""
        candidates = self.candidates(batch)
        return self.representation(self.encoder(batch), candidates), candidates

    def vectors(self, encoded: Encoded, candidates: Candidates) -> Tensor:
        """Vectors [S, H] of candidates, as the head reads them when nothing is drawn."""
        found: Tensor = self.representation(encoded, candidates)
        return found if self.bottleneck is None else self.bottleneck.compressed(found)

    def labelled_spans(self, labelled: Labelled) -> tuple[Tensor, Tensor]:
        """Vectors [S, H] and gold labels [S]."""
        vectors, candidates = self.spans(labelled.batch)
        return vectors, labelled.labels.targets(labelled.batch.ids, candidates)

    def forward(
        self, labelled: Labelled, neighbours: Labelled | None = None, epoch: int = 0, done: float = 0.0
    ) -> Tensor:
        """The loss in an epoch, when a share of all training is done.

        The head's, the joiner's and the bottleneck's are summed over a sentence's spans, or words, the mean over the
        batch's sentences; with `objective.mean = "spans"` they are a mean over the batch's spans, which puts them on
        one scale with the generators', a mean over gold spans (Nguyen et al., 2023, equations 6 and 7).
        """
        batch, generators = labelled.batch, self.generators
        if isinstance(self.head, Crf):
            return self._tagged(self.head, self.encoder(batch), labelled)
        vectors, candidates = self.represented(batch)
        if generators is None or labelled.texts is None:
            return self._classified(vectors, candidates, labelled, neighbours, epoch)
        settings = generators.settings
        alone, gamma = epoch < settings.pretraining, settings.gamma
        with torch.autocast(vectors.device.type, enabled=False):
            told = labelled.texts.of(batch.ids, candidates)
            generated = generators.loss(vectors.float(), told, done, 1.0 if alone else gamma)
        if alone:
            return generated + idle(self)
        loss = self._classified(vectors, candidates, labelled, neighbours, epoch - settings.pretraining)
        # gamma weighs what the encoder learns. The generators' own weights have the same optimum without it; with it
        # Adam, used to far larger gradients, would hardly move them any more while the encoder leaves them behind
        return loss + generated - (1 - gamma) * generated.detach()

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
        """The loss of head, joiner and bottleneck for what the representation made of a batch's candidates [S, H']."""
        pool = self.pool(neighbours) if neighbours is not None else None
        batch = labelled.batch
        targets = self.targets(labelled.labels.hot(batch.ids, candidates, self.labels), candidates)
        count = len(batch) if self.objective.mean == "sentences" else max(1, len(candidates))
        if self.bottleneck is None:
            loss = self._scored([vectors], targets, pool)
            return (loss + self._joined([vectors], candidates, labelled)) / count
        found = self.bottleneck(vectors)
        samples = self.bottleneck.samples(found)
        drawn = self._scored(samples, targets, pool) + self._joined(samples, candidates, labelled)
        return (drawn + self.bottleneck.loss(found, epoch)) / count

    def _scored(self, drawn: Sequence[Tensor], targets: Tensor, pool: Pool | None) -> Tensor:
        """The head's loss, the mean over several draws [S, H] of the span vectors."""
        with torch.autocast(targets.device.type, enabled=False):  # scores want full precision
            losses = [self.span_head.loss(vectors.float(), targets, pool) for vectors in drawn]
        return torch.stack(losses).mean()

    def _joined(self, drawn: Sequence[Tensor], candidates: Candidates, labelled: Labelled) -> Tensor | float:
        """The joiner's loss, the mean over several draws [S, H]; nothing where there is no joiner."""
        if self.joiner is None or labelled.fragments is None:
            return 0.0
        gold = labelled.fragments.batch(labelled.batch.ids, candidates)
        with torch.autocast(candidates.first.device.type, enabled=False):
            losses = [self.joiner.loss(vectors.float(), candidates, gold) for vectors in drawn]
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

    def probabilities(
        self, batch: Batch, memory: Memory | None, sentences: Tensor | None = None
    ) -> tuple[Tensor, Candidates]:
        """P(y|s) [S, 1 + Y] for all candidates of a batch.

        `sentences` [B, K] are those of the memory that the instance head has to ask instead of those it would search.
        """
        candidates = self.candidates(batch)
        return self.judged(self.encoder(batch), candidates, memory, sentences)[0], candidates

    def judged(
        self,
        encoded: Encoded,
        candidates: Candidates,
        memory: Memory | None,
        sentences: Tensor | None = None,
        *,
        entities: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """P(y|s) [S, 1 + Y] of candidates, and their vectors [S, H] unless the head can do without.

        Where only `entities` matter, a span whose likeliest label is null may simply have a 1 there: that is quicker.
        """
        head = self.head
        if not isinstance(head, Instances):
            vectors = self.vectors(encoded, candidates).float()
            if isinstance(head, Crf):
                places = (candidates.sentence, candidates.first, candidates.stop)
                found = head.probabilities(encoded.states.float(), encoded.batch.mask, *places)
            else:
                found = head.probabilities(vectors)
            said = self.voted(vectors, memory)
            return found if said is None or self.vote is None else torch.lerp(found, said, self.vote.share), vectors
        if memory is None:
            raise ValueError("the instance head needs a memory: Model.remember builds one")
        if sentences is None and head.settings.search == "nearest":
            means = self.encoder.sentence_vectors(encoded)
            sentences = nearest_sentences(memory, means, head.settings.neighbours)  # [B, K]
        spans = self.adds_up
        if spans is not None and isinstance(memory.vectors, WordTable) and not encoded.states.is_cuda:
            asked, table, width = spans.end_sums(encoded.states), memory.vectors, self.max_width
            if sentences is not None and entities:
                return entities_by_words(head, memory, table, sentences, asked, candidates, width), None
            return compared_by_words(head, memory, table, sentences, asked, candidates, width), None
        vectors = self.vectors(encoded, candidates).float()
        if sentences is None:
            return streamed_probabilities(vectors, memory, head.labels, head.budget), vectors
        return compared_side_by_side(head, memory, sentences, vectors, candidates), vectors

    def voted(self, vectors: Tensor, memory: Memory | None) -> Tensor | None:
        """What the memory says of span vectors [S, H], where it votes beside the head: P_memory(y|s) [S, 1 + Y]."""
        return vote(memory, vectors, self.vote, self.labels) if self.vote and memory is not None else None

    def guesses(self, batch: Batch, memory: Memory | None) -> list[list[Guess]]:
        """For each sentence of a batch what may be entities: candidates with each of their labels, and joined ones."""
        encoded = self.encoder(batch)
        if isinstance(self.head, Crf) and (self.vote is None or memory is None):
            return _guessed(*self.head.entities(encoded.states.float(), batch.mask), len(batch))
        candidates = self.candidates(batch)
        return self.guessed(encoded, candidates, *self.judged(encoded, candidates, memory, entities=not self.typing))

    def guessed(
        self, encoded: Encoded, candidates: Candidates, probabilities: Tensor, vectors: Tensor | None
    ) -> list[list[Guess]]:
        """The same from what was `judged` of the candidates."""
        batch = encoded.batch
        rows, labels = self.chosen(probabilities)
        places = [places[rows] for places in (candidates.sentence, candidates.first, candidates.stop)]
        found = _guessed(torch.stack([*places, labels]).T, probabilities[rows, labels], len(batch))
        if self.joiner is not None:
            vectors = self.vectors(encoded, candidates).float() if vectors is None else vectors
            for one in self.joiner.join(vectors, candidates):
                found[one.sentence].append(Guess(one.fragments, one.label, one.score))
        if isinstance(self.head, Crf) and self.vote is not None:  # of entities too wide for a candidate nobody votes
            index, scores = self.head.entities(encoded.states.float(), batch.mask)
            wide = index[:, 2] - index[:, 1] > self.max_width
            rest = _guessed(index[wide], scores[wide] * (1 - self.vote.share), len(batch))
            found = [own + more for own, more in zip(found, rest, strict=True)]
        return found

    def marginals(self, batch: Batch, sentence: Tensor, first: Tensor, stop: Tensor) -> Tensor:
        """P(y|s) [S, 1 + Y] of any spans of a batch, for a head over words."""
        if not isinstance(self.head, Crf):
            raise TypeError("only a head over words has marginals of any span")
        return self.head.probabilities(self.encoder(batch).states.float(), batch.mask, sentence, first, stop)

    def chosen(self, probabilities: Tensor) -> tuple[Tensor, Tensor]:
        """Rows and labels of the spans that are entities, given P(y|s) [S, 1 + Y]: the likeliest label, unless it is
        null, or all labels that hold where a span may have several; of a given span the likeliest one.
        """
        if self.typing:
            return torch.arange(len(probabilities), device=probabilities.device), probabilities[:, 1:].argmax(1) + 1
        if isinstance(self.head, Sigmoid):
            return self.head.above(probabilities)
        labels = probabilities.argmax(1)
        rows = labels.nonzero().flatten()
        return rows, labels[rows]


def _guessed(index: Tensor, scores: Tensor, sentences: int) -> list[list[Guess]]:
    """Guesses by sentence, from their sentence, first word, stop and label [F, 4] and their scores [F]."""
    found: list[list[Guess]] = [[] for _ in range(sentences)]
    for (sentence, first, stop, label), score in zip(index.tolist(), scores.tolist(), strict=True):
        found[sentence].append(Guess.of(first, stop, label, score))
    return found
