"""The parts as one network: encoder, span representation and head."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from nearspan.encoders import Batch, Encoded, Encoder
from nearspan.heads import Head, Instances, Pool
from nearspan.heads.instances import streamed_probabilities
from nearspan.memory import Memory, nearest_sentences, pools, rows_of
from nearspan.objectives import ObjectiveSettings, smoothed
from nearspan.recipes import Recipe
from nearspan.spans import Candidates, Deep, Ends, Minus, Representation, SpanLabels, enumerate_spans


@dataclass(frozen=True)
class Labelled:
    """A batch, and the labels of the corpus it is from."""

    batch: Batch
    labels: SpanLabels


class Network(nn.Module):
    """Word states, span vectors, label probabilities."""

    def __init__(
        self,
        encoder: Encoder,
        representation: Representation,
        head: Head,
        labels: int,
        max_width: int,
        objective: ObjectiveSettings,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.representation = representation
        self.head = head
        self.labels = labels + 1  # null is a label like the others
        self.max_width = max_width
        self.objective = objective

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
        return self.representation(encoded, candidates), candidates, encoded

    def labelled_spans(self, labelled: Labelled) -> tuple[Tensor, Tensor]:
        """Vectors [S, H] and gold labels [S]."""
        vectors, candidates = self.spans(labelled.batch)
        return vectors, labelled.labels.targets(labelled.batch.ids, candidates)

    def forward(self, labelled: Labelled, neighbours: Labelled | None = None) -> Tensor:
        """The loss: summed over a sentence's spans, the mean over the batch's sentences."""
        pool = self.pool(neighbours) if neighbours is not None else None
        vectors, candidates = self.spans(labelled.batch)
        targets = self.targets(labelled.labels.targets(labelled.batch.ids, candidates), candidates)
        with torch.autocast(vectors.device.type, enabled=False):  # scores want full precision
            loss: Tensor = self.head.loss(vectors.float(), targets, pool) / len(labelled.batch)
        return loss

    def targets(self, gold: Tensor, candidates: Candidates) -> Tensor:
        """What the loss asks for [S, 1 + Y], given gold labels [S]: all of the label, or smoothed over boundaries."""
        if self.objective.smoothing is not None:
            return smoothed(gold, candidates, self.labels, self.objective.smoothing)
        return functional.one_hot(gold, self.labels).float()

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
        if isinstance(head, Instances) and memory is None:
            raise ValueError("the instance head needs a memory: Model.remember builds one")
        if isinstance(head, Instances) and memory is not None and head.settings.search == "nearest":
            return self._asked(head, batch, memory)
        vectors, candidates = self.spans(batch)
        vectors = vectors.float()
        if isinstance(head, Instances) and memory is not None:
            pool = Pool(memory.vectors, memory.labels)
            return streamed_probabilities(vectors, pool, head.labels, head.budget), candidates
        return head.probabilities(vectors), candidates

    def _asked(self, head: Instances, batch: Batch, memory: Memory) -> tuple[Tensor, Candidates]:
        """P(y|s) where each sentence of the batch asks the K sentences of the memory that are nearest to it."""
        candidates = enumerate_spans(batch.lengths, self.max_width, batch.rows.device)
        encoded = self.encoder(batch)
        sentences = nearest_sentences(memory, encoded.sentence_vectors(), head.settings.neighbours)  # [B, K]
        if encoded.states.is_cuda or not isinstance(self.representation, Minus):
            vectors = self.representation(encoded, candidates).float()
            return _side_by_side(head, memory, sentences, vectors, candidates), candidates
        # one sentence after the other: what it needs stays in the cache
        left, right = self.representation.ends(encoded.states)
        rows, real = rows_of(memory, sentences)
        counts = candidates.counts.tolist()
        found = []
        for sentence, (first, stop) in enumerate(
            zip(candidates.first.split(counts), candidates.stop.split(counts), strict=True)
        ):
            own = rows[sentence][real[sentence]]
            pool = Pool(memory.vectors.index_select(0, own), memory.labels[own])
            words = int(batch.lengths[sentence])
            ends = left[sentence, :words].float(), right[sentence, :words].float()
            found.append(head.probabilities_by_ends(*ends, first, stop - 1, pool))
        return torch.cat(found), candidates


def assemble(recipe: Recipe, encoder: Encoder, labels: int) -> Network:
    """The network of a recipe around an encoder."""
    representation = recipe.representation.build(encoder, recipe.candidates.max_width)
    ends = representation.end_size if isinstance(representation, Ends) else 0
    head = recipe.head.build(representation.size, labels, ends)
    return Network(encoder, representation, head, labels, recipe.candidates.max_width, recipe.objective)


def _side_by_side(
    head: Instances, memory: Memory, sentences: Tensor, vectors: Tensor, candidates: Candidates
) -> Tensor:
    """P(y|s) [S, 1 + Y] with many sentences' pools padded and compared at once, as a GPU likes it."""
    padded = pad_sequence(list(vectors.split(candidates.counts.tolist())), batch_first=True)  # [B, S', H]
    most = int(memory.counts[sentences].sum(1).max())
    each = 4 * most * (2 * padded.shape[1] + vectors.shape[1] + 3 * (head.labels + 1))  # scores, vectors, votes
    size = max(1, head.budget // each)
    groups = [
        head.probabilities(some, pools(memory, ids))
        for some, ids in zip(padded.split(size), sentences.split(size), strict=True)
    ]
    real = torch.arange(padded.shape[1]) < candidates.counts[:, None]
    found: Tensor = torch.cat(groups)[real.to(vectors.device)]
    return found
