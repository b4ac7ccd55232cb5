"""The parts as one network: encoder, suggester, span representation, bottleneck, head and extra losses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from nearspan.encoders import Batch, EncodedCorpus, Encoder
from nearspan.errors import ModelError
from nearspan.heads import FragmentLinker, Head, Query, Targets
from nearspan.knn import InterpolationSettings, Pool, knn_probabilities
from nearspan.losses import Generators, Loss, SpanTexts, zero_loss
from nearspan.precision import Precision
from nearspan.segment import LabelledSpan, Sentence
from nearspan.spans import (
    AllSpans,
    Bottleneck,
    CandidateRules,
    GoldFragments,
    Representation,
    SpanLabels,
    SpanMetric,
)


@dataclass(frozen=True)
class LabelledBatch:
    """A batch, and of its corpus the labels, the texts of entities, linked fragments, and what words have to learn."""

    batch: Batch
    labels: SpanLabels
    texts: SpanTexts | None = None
    fragments: GoldFragments | None = None
    word_targets: Tensor | None = None  # [R] of the corpus's words


class Network(nn.Module):
    """Word states, span vectors, label probabilities, entities.

    A span's vector is what the head reads: that of the representation or, with a bottleneck, the mean of its
    compressed distribution. In training the head reads draws from the distribution instead.
    """

    def __init__(
        self,
        encoder: Encoder,
        suggester: AllSpans,
        representation: Representation,
        head: Head,
        labels: int,
        losses: Sequence[Loss] = (),
        mean_over: str = "sentences",
        bottleneck: Bottleneck | None = None,
        generators: Generators | None = None,
        fragment_linker: FragmentLinker | None = None,
        interpolation: InterpolationSettings | None = None,
    ) -> None:
        super().__init__()
        self.precision: Precision = "float32"  # of prediction
        self.span_scores: Callable[[Query], Tensor] | None = None  # what computes P(y|s) instead of the head
        self.metric: SpanMetric | None = None  # of the memory, after which spans are compared with it
        self.encoder = encoder
        self.suggester = suggester
        self.representation = representation
        self.head = head
        self.labels = labels + 1  # null is a label like the others
        self.losses = nn.ModuleList(losses)
        self.mean_over = mean_over  # what the loss is a mean over, sentences or spans
        self.bottleneck = bottleneck
        self.generators = generators
        self.fragment_linker = fragment_linker
        self.interpolation = interpolation
        # whether span vectors, as the head reads them, are sums over the words of a span
        self.is_additive = representation.is_additive and bottleneck is None and suggester.has_null
        self.span_size = representation.size if bottleneck is None else bottleneck.size  # H, of a span's vector
        self.max_width = suggester.max_width  # the most words, or pieces, in a candidate
        linked = fragment_linker is not None
        # which entities can be predicted
        self.rules = CandidateRules(self.max_width, head.multilabel, linked, head.reads_words)

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        return next(self.parameters()).device

    def set_precision(self, precision: Precision) -> None:
        """Let the large layers predict in a precision from now on; they go on to learn in float32."""
        self.precision = precision
        for part in self.modules():
            if part is not self and hasattr(part, "set_precision"):
                cast(Any, part).set_precision(precision)

    def train(self, mode: bool = True) -> Network:
        """Learn, or predict; what learns gives up the copies of its weights."""
        if mode and self.precision != "float32":
            self.set_precision("float32")
        return super().train(mode)

    @property
    def is_capturable(self) -> bool:
        """Whether its loss reads of a batch the rows and the mask alone and never waits for the device."""
        features = self.encoder.word_features.values()
        return self.head.reads_words and self.head.capturable and all(feature.capturable for feature in features)

    @property
    def datastore_weight(self) -> float:
        """How much of a prediction is the datastore's: all, nothing, or the weight of the interpolation."""
        if self.head.uses_datastore:
            return 1.0
        return self.interpolation.weight if self.interpolation is not None else 0.0

    def pretrained_parameters(self) -> list[nn.Parameter]:
        """The weights that come from a pretrained encoder; they learn at a rate of their own."""
        return [*self.encoder.pretrained_parameters(), *self.representation.pretrained_parameters()]

    def encode(
        self,
        sentences: Sequence[Sentence],
        entities: Sequence[Sequence[LabelledSpan[str]]] | None = None,
        training: bool = False,
    ) -> EncodedCorpus:
        """Sentences as tensors on the network's device; `training`: the very ones it was trained on.

        Their entities are needed where the suggester takes its candidates from them.
        """
        corpus = self.encoder.prepare(sentences, training)
        if entities is not None:
            corpus = self.suggester.with_spans(corpus, entities)
        device = next(self.parameters()).device
        return corpus if device == corpus.first.device else corpus.to(device)

    def encode_to_predict(self, sentences: Sequence[Sentence]) -> EncodedCorpus:
        """Sentences as tensors. Over pieces, spans that are not of whole words are no entities, and no candidates."""
        corpus = self.encode(sentences)
        over_pieces = any(sentence.wholes is not None for sentence in sentences)
        links = self.fragment_linker is not None  # which fragments go together depends on all there are
        if not over_pieces or links or self.head.reads_words or not self.suggester.has_null:
            return corpus
        return self.suggester.of_whole_words(corpus, sentences)

    def predict_proba(self, query: Query, *, entities_only: bool = False) -> Tensor:
        """P(y|s) [S, 1 + Y] of the candidates, interpolated with the datastore's where that is set.

        Where only entities matter, a span whose likeliest label is null may simply have a 1 there: that is quicker.
        """
        knn = self.knn_probabilities(query)
        if self.span_scores is not None:
            probabilities = self.span_scores(query)
        else:
            probabilities = self.head.predict_proba(query, entities_only=entities_only and knn is None)
        count = self.labels if query.datastore is None else len(query.datastore.names)
        expected = count if self.head.open_labels else self.labels
        if probabilities.shape[1] != expected:
            raise ModelError(
                f"{type(self.head).__name__}.predict_proba gives {list(probabilities.shape)} where "
                f"{[len(query.candidates), expected]} is expected: candidates, and null and all labels"
            )
        probabilities = functional.pad(probabilities, (0, count - expected))  # a head has never seen the datastore's
        return probabilities if knn is None else torch.lerp(probabilities, knn, self.datastore_weight)

    def knn_probabilities(self, query: Query) -> Tensor | None:
        """P_knn(y|s) [S, 1 + Y], where the datastore is interpolated with the head."""
        if self.interpolation is None or query.datastore is None:
            return None
        return knn_probabilities(query.datastore, query.vectors, self.interpolation)

    def predict(
        self, query: Query, probabilities: Tensor | None = None, *, link: bool = True
    ) -> list[list[LabelledSpan[int]]]:
        """For each sentence of a batch the spans that may be entities, before decoding chooses among them.

        P(y|s) [S, 1 + Y] of the candidates may be given; unless they `link`, no discontinuous ones are looked for.
        """
        interpolation = self.interpolation if query.datastore is not None else None
        links = self.fragment_linker is not None and link
        if links:
            _ = query.vectors  # which will be wanted: a head may do without
        if probabilities is None and (interpolation is not None or self.span_scores is not None):
            probabilities = self.predict_proba(query)
        spans = self.head.predict(query, probabilities)
        if interpolation is not None:
            weight = 1 - interpolation.weight  # the datastore holds no span that is wider than a candidate
            for sentence, wide in zip(spans, self.head.predict_beyond_candidates(query), strict=True):
                sentence += [LabelledSpan(span.fragments, span.label, span.score * weight) for span in wide]
        if self.fragment_linker is None or not links:
            return spans
        linked = self.fragment_linker.link(query.span_vectors, query.candidates)
        return [contiguous + more for contiguous, more in zip(spans, linked, strict=True)]

    def forward(
        self, labelled: LabelledBatch, neighbours: LabelledBatch | None = None, epoch: int = 0, progress: float = 0.0
    ) -> Tensor:
        """The loss in an epoch, when a part of all training is done.

        The head's, the fragment linker's and the bottleneck's are summed over a sentence's spans, or words, the mean
        over the batch's sentences. With `losses.mean_over = "spans"` they are a mean over the batch's spans, which puts
        them on one scale with the generators', a mean over gold spans (Nguyen et al., 2023, equations 6 and 7).
        """
        batch, generators = labelled.batch, self.generators
        query = Query(self, batch)
        if self.head.reads_words:
            _ = query.encoded  # read in the precision of training; scores want full precision
            words = labelled.word_targets[batch.rows] if labelled.word_targets is not None else None
            with torch.autocast(batch.rows.device.type, enabled=False):
                return self.head.loss(query, Targets(words=words)) / len(batch)
        if generators is None or labelled.texts is None:
            return self._span_loss(query, labelled, neighbours, epoch)
        settings = generators.settings
        alone, gamma = epoch < settings.pretraining, settings.gamma
        vectors = query.representations
        with torch.autocast(vectors.device.type, enabled=False):
            texts = labelled.texts.batch(batch.ids, query.candidates)
            generated = generators.loss(vectors.float(), texts, progress, 1.0 if alone else gamma)
        if alone:
            return generated + zero_loss(self)
        loss = self._span_loss(query, labelled, neighbours, epoch - settings.pretraining)
        # gamma weighs what the encoder learns. The generators' own weights have the same optimum without it; with it
        # Adam, used to far larger gradients, would hardly move them any more while the encoder leaves them behind
        return loss + generated - (1 - gamma) * generated.detach()

    def _span_loss(self, query: Query, labelled: LabelledBatch, neighbours: LabelledBatch | None, epoch: int) -> Tensor:
        """The loss of head, fragment linker and bottleneck."""
        vectors, batch = query.representations, labelled.batch
        pool = self.pool(neighbours) if neighbours is not None else None
        one_hot = labelled.labels.one_hot_targets(batch.ids, query.candidates, self.labels)
        for part in self.losses:
            one_hot = cast(Loss, part).change_targets(one_hot, query.candidates)
        targets = Targets(one_hot)
        count = len(batch) if self.mean_over == "sentences" else max(1, len(query.candidates))
        if self.bottleneck is None:
            return self._losses_of_draws(query, [vectors], targets, pool, labelled) / count
        distribution = self.bottleneck(vectors)
        draws = self.bottleneck.samples(distribution)
        loss = self._losses_of_draws(query, draws, targets, pool, labelled)
        return (loss + self.bottleneck.loss(distribution, epoch)) / count

    def _losses_of_draws(
        self, query: Query, draws: Sequence[Tensor], targets: Targets, pool: Pool | None, labelled: LabelledBatch
    ) -> Tensor:
        """The head's loss and the fragment linker's, each the mean over several draws [S, H] of the span vectors."""
        with torch.autocast(query.batch.rows.device.type, enabled=False):  # scores want full precision
            queries = [query.with_vectors(draw) for draw in draws]
            loss = torch.stack([self.head.loss(drawn, targets, pool) for drawn in queries]).mean()
            for part in self.losses:
                added = torch.stack([part(drawn, targets.spans) for drawn in queries])
                if added.ndim != 1:
                    raise ModelError(
                        f"the loss {type(part).__name__} gives {list(added.shape[1:])} numbers where one is expected, "
                        "the sum over the batch's spans: add them up in its `forward`"
                    )
                loss = loss + added.mean()
            if self.fragment_linker is not None and labelled.fragments is not None:
                gold = labelled.fragments.batch(labelled.batch.ids, query.candidates)
                linked = [self.fragment_linker.loss(draw.float(), query.candidates, gold) for draw in draws]
                loss = loss + torch.stack(linked).mean()
        return loss

    def pool(self, neighbours: LabelledBatch) -> Pool:
        """Spans of some training sentences to compare with: constants without dropout, unless the head trains them."""
        if self.head.trains_neighbours:
            return self._pool(neighbours)
        training = self.training
        self.eval()
        with torch.no_grad():
            pool = self._pool(neighbours)
        self.train(training)
        return pool

    def _pool(self, neighbours: LabelledBatch) -> Pool:
        query = Query(self, neighbours.batch)
        return query.as_pool(neighbours.labels.targets(neighbours.batch.ids, query.candidates))
