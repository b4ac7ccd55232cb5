"""Spans that are asked about: the entities of documents as candidates, whose labels are to be told."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from nearspan.document import Document, Entity
from nearspan.encoders import EncodedCorpus, Given
from nearspan.segment import Coverage, Sentence, align
from nearspan.segment.sentence_windows import split_windows


@dataclass(frozen=True)
class Placed:
    """The fragments of E entities on the words of sentences; only sentences that have some are here.

    Entities that no words of one sentence can stand for, or that are too wide, are counted in `coverage` and left out.

    >>> from nearspan.formats.markup import parse
    >>> from nearspan.segment import split
    >>> placed = Placed.of([parse("It rains."), parse("[Ann](PER) left [New York](LOC)")], split, max_width=2)
    >>> [entity.label for _, entity in placed.entities], placed.fragments
    (['PER', 'LOC'], [(0, 0, 0, 1), (1, 0, 2, 4)])
    """

    entities: list[tuple[int, Entity]]  # the document's position, and the entity in it
    sentences: list[Sentence]  # very long ones in windows
    fragments: list[tuple[int, int, int, int]]  # entity, sentence, first word, stop
    coverage: Coverage

    @classmethod
    def of(cls, documents: Iterable[Document], split: Callable[[Document], list[Sentence]], max_width: int) -> Placed:
        """Place the entities of documents, whose fragments have at most `max_width` words or pieces each."""
        found = cls([], [], [], Coverage())
        for number, document in enumerate(documents):
            sentences = split(document)
            aligned = align(sentences, document.entities)
            wide = 0
            for sentence, golds, sources in zip(sentences, aligned.golds, aligned.sources, strict=True):
                windows = split_windows(sentence, max_width) if golds else []
                used: dict[int, int] = {}  # windows with fragments, and where they stand among the sentences
                for gold, source in zip(golds, sources, strict=True):
                    if any(stop - first > max_width for first, stop in gold.fragments):
                        wide += 1
                        continue
                    for first, stop in gold.fragments:
                        window = next(i for i, one in enumerate(windows) if one.owns(first - one.start))
                        place = used.setdefault(window, len(found.sentences))
                        if place == len(found.sentences):
                            found.sentences.append(windows[window].sentence)
                        start = windows[window].start
                        found.fragments.append((len(found.entities), place, first - start, stop - start))
                    found.entities.append((number, source))
            unit = sentences[0].unit if sentences else "words"
            reasons = {f"wider than {max_width} {unit}": wide} if wide else {}
            found = replace(found, coverage=found.coverage + aligned.coverage + Coverage(unreachable=reasons))
        return found

    @property
    def labelled(self) -> list[list[tuple[int, int, str]]]:
        """For each sentence the fragments with the labels of their entities, each once."""
        own: list[dict[tuple[int, int, str], None]] = [{} for _ in self.sentences]
        for entity, sentence, first, stop in self.fragments:
            own[sentence][first, stop, self.entities[entity][1].label] = None
        return [list(some) for some in own]


@dataclass(frozen=True)
class Asked:
    """Placed entities, with their sentences as tensors that are given with the fragments."""

    placed: Placed
    prepared: EncodedCorpus
    rows: Tensor  # [F] of the fragments among the given spans
    owners: Tensor  # [F] the entity that a fragment is of

    @classmethod
    def of(cls, placed: Placed, prepared: EncodedCorpus) -> Asked:
        """Give prepared sentences with the fragments that were placed on them."""
        spans: list[set[tuple[int, int]]] = [set() for _ in placed.sentences]
        for _, sentence, first, stop in placed.fragments:
            spans[sentence].add((first, stop))
        order = [(sentence, *span) for sentence, own in enumerate(spans) for span in sorted(own)]  # as Given has them
        number = {place: row for row, place in enumerate(order)}
        rows = torch.tensor([number[fragment[1:]] for fragment in placed.fragments], dtype=torch.long)
        owners = torch.tensor([fragment[0] for fragment in placed.fragments], dtype=torch.long)
        given = Given.of(spans).to(prepared.first.device)
        return cls(placed, replace(prepared, given=given), rows, owners)

    def told(self, probabilities: Tensor) -> tuple[list[int], list[float]]:
        """Each entity's label and how likely it is, given P(y|s) [N, 1 + Y] of all given spans.

        The fragments of a discontinuous entity have one label: the one that is likeliest for all of them together,
        by the geometric mean of their probabilities.
        """
        logs = probabilities[:, 1:].double().clamp(min=torch.finfo(torch.float32).tiny).log().cpu()
        sums = torch.zeros(len(self.placed.entities), logs.shape[1], dtype=torch.double)
        sums.index_add_(0, self.owners, logs[self.rows])
        counts = torch.bincount(self.owners, minlength=len(sums))
        scores, labels = (sums / counts[:, None]).exp().max(1)
        return (labels + 1).tolist(), scores.tolist()
