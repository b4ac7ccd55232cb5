"""Labelled sentences: what a model can learn of documents, or remember."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add

from nearspan.document import Document
from nearspan.segment import Coverage, LabelledSpan, Sentence
from nearspan.segment.windows import LONGEST, split_windows
from nearspan.spans.given_spans import GivenEntities
from nearspan.spans.reachability import CandidateRules, align_to_candidates

Split = Callable[[Document], list[Sentence]]


@dataclass(frozen=True)
class LabelledSentences:
    """Sentences (very long ones in windows), their entities over words, and what could not be reached."""

    sentences: list[Sentence]
    entities: list[list[LabelledSpan[str]]]
    coverage: Coverage

    @classmethod
    def of(cls, documents: Iterable[Document], split: Split, rules: CandidateRules) -> LabelledSentences:
        """Split documents and place their entities on words, or on pieces, as far as the rules allow."""
        labelled: list[tuple[Sentence, list[LabelledSpan[str]]]] = []
        coverages: list[Coverage] = []
        for document in documents:
            sentences = split(document)
            reached = align_to_candidates(sentences, document.entities, rules)
            coverages.append(reached.coverage)
            for row in zip(sentences, reached.entities, strict=True):
                labelled += [row] if len(row[0].words) <= LONGEST else _label_windows(*row, rules.max_width)
        coverage = reduce(add, coverages) if coverages else Coverage()
        return cls([row[0] for row in labelled], [row[1] for row in labelled], coverage)

    def select(self, numbers: Iterable[int]) -> LabelledSentences:
        """Some of the sentences."""
        chosen = list(numbers)
        entities = [self.entities[i] for i in chosen]
        return LabelledSentences([self.sentences[i] for i in chosen], entities, self.coverage)

    @classmethod
    def of_given_spans(cls, documents: Iterable[Document], split: Split, rules: CandidateRules) -> LabelledSentences:
        """The sentences that have entities; each fragment of an entity is a span of its own."""
        given = GivenEntities.of(documents, split, rules.max_width)
        return cls(given.sentences, given.labels_by_sentence, given.coverage)


def _label_windows(
    sentence: Sentence, entities: list[LabelledSpan[str]], max_width: int
) -> Iterator[tuple[Sentence, list[LabelledSpan[str]]]]:
    """The windows of a very long sentence, each with the entities that it holds."""
    for window in split_windows(sentence, max_width):
        start, end = window.start, window.start + len(window.sentence)
        yield window.sentence, [gold.shift(-start) for gold in entities if start <= gold.first and gold.stop <= end]
