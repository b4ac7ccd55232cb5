"""Labelled sentences: what a model can learn of documents, or remember."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from nearspan.document import Document
from nearspan.segment import Coverage, LabelledSpan, Sentence, WordEntity
from nearspan.segment.windows import split_windows
from nearspan.spans.given_spans import GivenEntities
from nearspan.spans.reachability import CandidateRules, align_to_candidates


@dataclass(frozen=True)
class LabelledSentences:
    """Sentences (very long ones in windows), their entities over words, and what could not be reached."""

    sentences: list[Sentence]
    entities: list[list[WordEntity]]
    discontinuous: list[list[LabelledSpan[str]]]
    coverage: Coverage

    @classmethod
    def of(
        cls, documents: Iterable[Document], split: Callable[[Document], list[Sentence]], rules: CandidateRules
    ) -> LabelledSentences:
        """Split documents and place their entities on words, or on pieces, as far as the rules allow."""
        labelled = cls([], [], [], Coverage())
        coverage = Coverage()
        for document in documents:
            sentences = split(document)
            reachability = align_to_candidates(sentences, document.entities, rules)
            coverage += reachability.coverage
            for sentence, entities, discontinuous in zip(
                sentences, reachability.entities, reachability.discontinuous, strict=True
            ):
                for window in split_windows(sentence, rules.max_width):
                    start, end = window.start, window.start + len(window.sentence)
                    inside = [entity for entity in entities if start <= entity[0] and entity[1] <= end]
                    linked = [gold for gold in discontinuous if start <= gold.first and gold.stop <= end]
                    labelled.sentences.append(window.sentence)
                    labelled.entities.append([(first - start, stop - start, label) for first, stop, label in inside])
                    labelled.discontinuous.append([gold.shift(-start) for gold in linked])
        return cls(labelled.sentences, labelled.entities, labelled.discontinuous, coverage)

    def select(self, numbers: Iterable[int]) -> LabelledSentences:
        """Some of the sentences."""
        chosen = list(numbers)
        entities, discontinuous = [self.entities[i] for i in chosen], [self.discontinuous[i] for i in chosen]
        return LabelledSentences([self.sentences[i] for i in chosen], entities, discontinuous, self.coverage)

    @classmethod
    def of_given_spans(
        cls, documents: Iterable[Document], split: Callable[[Document], list[Sentence]], max_width: int
    ) -> LabelledSentences:
        """The sentences that have entities; each fragment of an entity is a span of its own."""
        given = GivenEntities.of(documents, split, max_width)
        return cls(given.sentences, given.labels_by_sentence, [[] for _ in given.sentences], given.coverage)
