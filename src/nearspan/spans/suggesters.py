"""Suggesters: which spans of a sentence are candidates. All of them up to a width, or those that documents give."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from nearspan.encoders import EncodedCorpus, SpanTable
from nearspan.registry import register
from nearspan.segment import LabelledSpan, Sentence
from nearspan.settings import Settings
from nearspan.spans.candidates import Candidates, candidate_number, count_candidates, enumerate_spans
from nearspan.spans.labelled_sentences import LabelledSentences
from nearspan.spans.span_labels import SpanLabels

Given = SpanTable | Sequence[Sequence[LabelledSpan[str]]] | None  # the spans of each sentence, or its entities
Device = torch.device | str


class SuggesterSettings(Settings):
    """Which spans are considered."""

    kind: Literal["all", "given"] = "all"  # all spans, or those of the documents' entities, to be classified
    unit: Literal["words", "pieces"] = "words"  # of spans: words, or the pieces of a pretrained encoder's tokenizer
    max_width: int = Field(default=6, ge=1, le=10_000)  # L of the paper: the most units in a span


class AllSpans:
    """Every span of at most `max_width` words is a candidate; most of them are null."""

    Settings: ClassVar[type[Settings]] = SuggesterSettings
    has_null: ClassVar[bool] = True  # whether a candidate may be no entity
    label_sentences = staticmethod(LabelledSentences.of)  # with the entities that candidates can equal

    def __init__(self, max_width: int) -> None:
        self.max_width = max_width

    def candidates(self, lengths: Tensor, given: Given = None, device: Device = "cpu") -> Candidates:
        """The candidates of sentences of these lengths (a CPU tensor): all, or those of a corpus `of_whole_words`."""
        if not isinstance(given, SpanTable):
            return enumerate_spans(lengths, self.max_width, device)
        spans = given_candidates(lengths, given, self.max_width, device)
        number = candidate_number(spans.first, spans.stop, spans.lengths[spans.sentence], self.max_width)
        return replace(spans, number=number)

    def of_whole_words(self, corpus: EncodedCorpus, sentences: Sequence[Sentence]) -> EncodedCorpus:
        """A corpus of sentences over pieces, in which only spans of whole words are candidates."""
        return replace(corpus, given_spans=whole_word_spans(sentences, self.max_width).to(corpus.first.device))

    def count(self, corpus: EncodedCorpus) -> Tensor:
        """How many candidates each sentence of a corpus has [M]."""
        return count_candidates(corpus.lengths, self.max_width)

    def with_spans(self, corpus: EncodedCorpus, entities: Sequence[Sequence[LabelledSpan[str]]]) -> EncodedCorpus:  # noqa: ARG002
        """The corpus with what `candidates` needs of its sentences' entities: nothing."""
        return corpus

    def span_labels(self, lengths: Tensor, entities: Sequence[Sequence[LabelledSpan[int]]]) -> SpanLabels:
        """The labels of all candidates of sentences of these lengths."""
        return SpanLabels.of_all_spans(lengths, entities, self.max_width)


class GivenSpans(AllSpans):
    """The spans of the documents' own entities are the candidates: each has a label, and none is null."""

    has_null: ClassVar[bool] = False
    label_sentences = staticmethod(LabelledSentences.of_given_spans)

    def candidates(self, lengths: Tensor, given: Given = None, device: Device = "cpu") -> Candidates:
        """The given spans of sentences of these lengths."""
        if given is None:
            raise ValueError("the corpus was encoded without the spans that are given: call `with_spans`")
        table = given if isinstance(given, SpanTable) else SpanTable.of(given)
        return given_candidates(lengths, table, self.max_width, device)

    def count(self, corpus: EncodedCorpus) -> Tensor:
        """How many candidates each sentence of a corpus has [M]."""
        if corpus.given_spans is None:
            raise ValueError("the corpus was encoded without the spans that are given: call `with_spans`")
        return corpus.given_spans.counts

    def with_spans(self, corpus: EncodedCorpus, entities: Sequence[Sequence[LabelledSpan[str]]]) -> EncodedCorpus:
        """The corpus with the spans of its sentences' entities as candidates."""
        return replace(corpus, given_spans=SpanTable.of(entities))

    def span_labels(self, lengths: Tensor, entities: Sequence[Sequence[LabelledSpan[int]]]) -> SpanLabels:  # noqa: ARG002
        """The labels of the given spans."""
        return SpanLabels.of_given_spans(entities)


def given_candidates(lengths: Tensor, table: SpanTable, max_width: int, device: Device) -> Candidates:
    """Spans of sentences of these lengths (a CPU tensor) as candidates, numbered as they are given."""
    counts, total = table.counts, int(table.counts.sum())
    here = torch.stack([lengths, counts, table.starts]).to(device, non_blocking=True)
    sentence = torch.repeat_interleave(torch.arange(len(counts), device=device), here[1], output_size=total)
    number = torch.arange(total, device=device) - here[2, sentence]
    return Candidates(sentence, number, table.first, table.stop, counts, here[0], max_width)


def whole_word_spans(sentences: Sequence[Sentence], max_width: int) -> SpanTable:
    """The spans of at most `max_width` pieces that begin and end where words do."""
    spans = []
    for sentence in sentences:
        firsts, stops = np.array(sentence.runs, dtype=np.int64).reshape(-1, 2).T
        widths = stops - firsts[:, None]
        first, last = np.nonzero((widths > 0) & (widths <= max_width))
        spans.append(np.stack([firsts[first], stops[last]]))
    counts = torch.tensor([span.shape[1] for span in spans], dtype=torch.long)
    first, stop = torch.from_numpy(np.concatenate([*spans, np.empty((2, 0), dtype=np.int64)], axis=1))
    return SpanTable(first, stop, counts, counts.cumsum(0) - counts)


register("suggester", AllSpans, "all")
register("suggester", GivenSpans, "given")
