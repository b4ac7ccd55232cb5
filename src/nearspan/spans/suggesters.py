"""Suggesters: which spans of a sentence are candidates. All of them up to a width, or those that documents give."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor

from nearspan.document import Document
from nearspan.encoders import Batch, EncodedCorpus, SpanTable
from nearspan.registry import register
from nearspan.segment import Sentence, WordEntity
from nearspan.settings import Settings
from nearspan.spans.candidates import Candidates, count_candidates, enumerate_spans
from nearspan.spans.labelled_sentences import LabelledSentences
from nearspan.spans.reachability import CandidateRules
from nearspan.spans.span_labels import SpanLabels, WordTarget

Split = Callable[[Document], list[Sentence]]


class SuggesterSettings(Settings):
    """Which spans are considered."""

    kind: Literal["all", "given"] = "all"  # all spans, or those of the documents' entities, to be classified
    unit: Literal["words", "pieces"] = "words"  # of spans: words, or the pieces of a pretrained encoder's tokenizer
    max_width: int = Field(default=6, ge=1, le=10_000)  # L of the paper: the most units in a span


class AllSpans:
    """Every span of at most `max_width` words is a candidate; most of them are null."""

    Settings: ClassVar[type[Settings]] = SuggesterSettings
    has_null: ClassVar[bool] = True  # whether a candidate may be no entity

    def __init__(self, max_width: int) -> None:
        self.max_width = max_width

    def candidates(self, batch: Batch) -> Candidates:
        """The candidates of a batch."""
        return enumerate_spans(batch.lengths, self.max_width, batch.rows.device)

    def count(self, corpus: EncodedCorpus) -> Tensor:
        """How many candidates each sentence of a corpus has [M]."""
        return count_candidates(corpus.lengths, self.max_width)

    def with_spans(self, corpus: EncodedCorpus, entities: Sequence[Sequence[WordEntity]]) -> EncodedCorpus:  # noqa: ARG002
        """The corpus with what `candidates` needs of its sentences' entities: nothing."""
        return corpus

    def label_sentences(self, documents: Iterable[Document], split: Split, rules: CandidateRules) -> LabelledSentences:
        """Sentences of documents, with the entities that candidates can equal."""
        return LabelledSentences.of(documents, split, rules)

    def span_labels(self, lengths: Tensor, entities: Sequence[Sequence[WordTarget]]) -> SpanLabels:
        """The labels of all candidates of sentences of these lengths."""
        return SpanLabels.of_all_spans(lengths, entities, self.max_width)

    def layout(self, lengths: Tensor, entities: Sequence[Iterable[tuple[int, int]]]) -> Candidates:  # noqa: ARG002
        """The candidates of sentences of these lengths, of which some spans are entities."""
        return enumerate_spans(lengths, self.max_width)


class GivenSpans(AllSpans):
    """The spans of the documents' own entities are the candidates: each has a label, and none is null."""

    has_null: ClassVar[bool] = False

    def candidates(self, batch: Batch) -> Candidates:
        """The candidates of a batch whose corpus was made `with_spans`."""
        given, device = batch.corpus.given_spans, batch.rows.device
        if given is None:
            raise ValueError("the corpus was encoded without the spans that are given: call `with_spans`")
        counts, starts = given.counts[batch.ids], given.starts[batch.ids]
        total = int(counts.sum())
        table = torch.stack([counts, starts, counts.cumsum(0) - counts]).to(device, non_blocking=True)
        sentence = torch.repeat_interleave(torch.arange(len(batch), device=device), table[0], output_size=total)
        number = torch.arange(total, device=device) - table[2, sentence]
        rows = table[1, sentence] + number
        lengths = batch.lengths.to(device, non_blocking=True)
        return Candidates(sentence, number, given.first[rows], given.stop[rows], counts, lengths, self.max_width)

    def count(self, corpus: EncodedCorpus) -> Tensor:
        """How many candidates each sentence of a corpus has [M]."""
        if corpus.given_spans is None:
            raise ValueError("the corpus was encoded without the spans that are given: call `with_spans`")
        return corpus.given_spans.counts

    def with_spans(self, corpus: EncodedCorpus, entities: Sequence[Sequence[WordEntity]]) -> EncodedCorpus:
        """The corpus with the spans of its sentences' entities as candidates."""
        return replace(corpus, given_spans=SpanTable.of([[entity[:2] for entity in sentence] for sentence in entities]))

    def label_sentences(self, documents: Iterable[Document], split: Split, rules: CandidateRules) -> LabelledSentences:
        """Sentences that have entities; each fragment of an entity is a span of its own."""
        return LabelledSentences.of_given_spans(documents, split, rules.max_width)

    def span_labels(self, lengths: Tensor, entities: Sequence[Sequence[WordTarget]]) -> SpanLabels:  # noqa: ARG002
        """The labels of the given spans."""
        return SpanLabels.of_given_spans(entities)

    def layout(self, lengths: Tensor, entities: Sequence[Iterable[tuple[int, int]]]) -> Candidates:
        """The given spans of sentences of these lengths."""
        given = SpanTable.of(entities)
        sentence = torch.arange(len(lengths)).repeat_interleave(given.counts)
        number = torch.arange(len(sentence)) - given.starts[sentence]
        return Candidates(sentence, number, given.first, given.stop, given.counts, lengths, self.max_width)


register("suggester", AllSpans, "all")
register("suggester", GivenSpans, "given")
