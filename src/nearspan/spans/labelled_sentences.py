"""Labelled sentences: what a model can learn or remember of documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from nearspan.document import Document
from nearspan.segment import Coverage, Gold, Sentence
from nearspan.segment.sentence_windows import split_windows
from nearspan.spans.given_spans import Placed
from nearspan.spans.reachability import WordEntity, align_to_candidates


@dataclass(frozen=True)
class LabelledSentences:
    """Sentences (very long ones in windows), their entities over words, and what could not be reached."""

    sentences: list[Sentence]
    entities: list[list[WordEntity]]
    discontinuous: list[list[Gold]]
    coverage: Coverage

    @classmethod
    def of(
        cls,
        documents: Iterable[Document],
        split: Callable[[Document], list[Sentence]],
        max_width: int,
        multilabel: bool = False,
        joining: bool = False,
        tagged: bool = False,
    ) -> LabelledSentences:
        """Split documents and place their entities on words, or on pieces; see `reach` for what is kept of them."""
        sentences: list[Sentence] = []
        entities: list[list[WordEntity]] = []
        discontinuous: list[list[Gold]] = []
        coverage = Coverage()
        for document in documents:
            own = split(document)
            reached = align_to_candidates(own, document.entities, max_width, multilabel, joining, tagged)
            coverage += reached.coverage
            for sentence, found, broken in zip(own, reached.entities, reached.discontinuous, strict=True):
                for part in split_windows(sentence, max_width):
                    last = part.start + len(part.sentence)
                    sentences.append(part.sentence)
                    entities.append(
                        [
                            (first - part.start, stop - part.start, label)
                            for first, stop, label in found
                            if part.start <= first and stop <= last
                        ]
                    )
                    discontinuous.append(
                        [gold.shifted(-part.start) for gold in broken if part.start <= gold.first and gold.stop <= last]
                    )
        return cls(sentences, entities, discontinuous, coverage)

    @classmethod
    def given(
        cls, documents: Iterable[Document], split: Callable[[Document], list[Sentence]], max_width: int
    ) -> LabelledSentences:
        """The same for the typing task, where each fragment of an entity is a span that is given."""
        placed = Placed.of(documents, split, max_width)
        return cls(placed.sentences, placed.labelled, [[] for _ in placed.sentences], placed.coverage)
