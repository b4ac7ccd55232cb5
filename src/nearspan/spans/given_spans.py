"""Entities that documents give, as spans over words whose labels are to be predicted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from nearspan.document import Document, Entity, given_identifier
from nearspan.segment import Coverage, LabelledSpan, Sentence, align
from nearspan.segment.windows import split_windows


@dataclass(frozen=True)
class GivenEntities:
    """The fragments of E entities on the words of sentences; only sentences that have some are here.

    Entities that no words of one sentence can stand for, or that are too wide, are counted in `coverage` and left out.

    >>> from nearspan.formats.markup import parse
    >>> from nearspan.segment import split
    >>> documents = [parse("It rains."), parse("[Ann](PER) left [New York](LOC)")]
    >>> given = GivenEntities.of(documents, split, max_width=2)
    >>> [entity.label for _, entity in given.entities], given.fragments
    (['PER', 'LOC'], [(0, 0, 0, 1), (1, 0, 2, 4)])
    """

    entities: list[tuple[int, Entity]]  # the document's position, and the entity in it
    sentences: list[Sentence]  # very long ones in windows
    fragments: list[tuple[int, int, int, int]]  # entity, sentence, first word, stop
    coverage: Coverage

    @classmethod
    def of(
        cls, documents: Iterable[Document], split: Callable[[Document], list[Sentence]], max_width: int
    ) -> GivenEntities:
        """Place the entities of documents, whose fragments have at most `max_width` words or pieces each."""
        placed = cls([], [], [], Coverage())
        coverage = Coverage()
        for position, document in enumerate(documents):
            sentences = split(document)
            alignment = align(sentences, document.entities)
            too_wide = 0
            for sentence, golds, sources in zip(sentences, alignment.golds, alignment.sources, strict=True):
                windows = split_windows(sentence, max_width) if golds else []
                row_of: dict[int, int] = {}  # windows with fragments, and where they stand among the sentences
                for gold, entity in zip(golds, sources, strict=True):
                    if any(stop - first > max_width for first, stop in gold.fragments):
                        too_wide += 1
                        continue
                    for first, stop in gold.fragments:
                        window = next(i for i, part in enumerate(windows) if part.owns(first - part.start))
                        row = row_of.setdefault(window, len(placed.sentences))
                        if row == len(placed.sentences):
                            placed.sentences.append(windows[window].sentence)
                        start = windows[window].start
                        placed.fragments.append((len(placed.entities), row, first - start, stop - start))
                    placed.entities.append((position, entity))
            unit = sentences[0].unit if sentences else "words"
            reasons = {f"wider than {max_width} {unit}": too_wide} if too_wide else {}
            coverage += alignment.coverage + Coverage(unreachable=reasons)
        return replace(placed, coverage=coverage)

    @property
    def labels_by_sentence(self) -> list[list[LabelledSpan[str]]]:
        """For each sentence the fragments with the labels of their entities, each once."""
        labelled: list[dict[LabelledSpan[str], None]] = [{} for _ in self.sentences]
        for entity, sentence, first, stop in self.fragments:
            of = self.entities[entity][1]
            labelled[sentence][LabelledSpan(((first, stop),), of.label, identifier=given_identifier(of))] = None
        return [list(fragments) for fragments in labelled]

    def classify(self, probabilities: Tensor) -> tuple[list[int], list[float]]:
        """Each entity's label and its probability, given P(y|s) [N, 1 + Y] of all fragments, sorted by sentence.

        The fragments of a discontinuous entity have one label: the one that is likeliest for all of them together,
        by the geometric mean of their probabilities.
        """
        logs = probabilities[:, 1:].double().clamp(min=torch.finfo(torch.float32).tiny).log().cpu()
        row_of = {place: row for row, place in enumerate(sorted({fragment[1:] for fragment in self.fragments}))}
        rows = torch.tensor([row_of[fragment[1:]] for fragment in self.fragments], dtype=torch.long)
        owners = torch.tensor([fragment[0] for fragment in self.fragments], dtype=torch.long)
        sums = torch.zeros(len(self.entities), logs.shape[1], dtype=torch.double)
        sums.index_add_(0, owners, logs[rows])
        counts = torch.bincount(owners, minlength=len(sums))
        scores, labels = (sums / counts[:, None]).exp().max(1)
        return (labels + 1).tolist(), scores.tolist()
