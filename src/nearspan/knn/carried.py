"""Carried spans: what a correction says of a span says it of the same words wherever they are read.

A span is compared with its nearest sentences, and a correction is seldom among them. So a corrected span is compared
with every span of the same words, in any case, beside them: with the weight w exp(s . s_c). In its own sentence w is
`own`, elsewhere `like`; no other span is compared with it so.

A span may be no entity because its words are part of an entity, or meet one. Then it says so where the words of both
are read, and nothing of its own words elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from nearspan.encoders import Batch
from nearspan.encoders.word_keys import span_keys, word_keys
from nearspan.knn.memory_sentence import MemorySentence
from nearspan.spans import Candidates, candidate_number


@dataclass(frozen=True)
class Carried:
    """C spans of a datastore that are compared with the same words elsewhere."""

    rows: Tensor  # [C] of the datastore
    keys: Tensor  # [C] of their words
    first: Tensor  # [C]
    sentences: Sequence[tuple[int, ...]]  # the keys of all words of their sentences
    reaches: Sequence[tuple[int, int]]  # the words of these, from and to, that must be read elsewhere too
    own: Tensor  # [C] log of how many times they count more in their own sentence
    like: Tensor  # [C] the same elsewhere; -inf: not at all

    @classmethod
    def of(cls, sentences: Sequence[MemorySentence], starts: Tensor, labels: Tensor, max_width: int) -> Carried | None:
        """The carried spans of a datastore's sentences; None where there are none."""
        places = [(number, *each) for number, sentence in enumerate(sentences) for each in sentence.carried]
        words: dict[int, Tensor] = {number: word_keys([sentences[number].tokens]) for number, *_ in places}
        places = [each for each in places if each[2] - each[1] <= max_width]
        if not places:
            return None
        numbers, first, stop = torch.tensor([each[:3] for each in places]).unbind(1)
        lengths = torch.tensor([len(sentences[number].words) for number in numbers.tolist()])
        rows = starts.cpu()[numbers] + candidate_number(first, stop, lengths, max_width)
        kept = (labels.cpu()[rows] >= 0).nonzero().flatten().tolist()  # not those that were removed
        if not kept:
            return None
        keys = [int(span_keys(words[n], first[i : i + 1], stop[i : i + 1])) for i, n in enumerate(numbers.tolist())]
        return cls(
            rows[kept],
            torch.tensor(keys)[kept],
            first[kept],
            [tuple(words[places[i][0]].tolist()) for i in kept],
            [reach_of(sentences[places[i][0]], places[i][1], places[i][2], int(labels[rows[i]])) for i in kept],
            torch.tensor([math.log(places[i][3]) for i in kept]),
            torch.tensor([math.log(places[i][4]) if places[i][4] else -math.inf for i in kept]),
        )

    def matches(self, batch: Batch, candidates: Candidates) -> list[int]:
        """The candidates that have the same words as one of these."""
        words, begins = self._words(batch, candidates)
        keys = span_keys(words, begins, begins + (candidates.stop - candidates.first).cpu())
        return torch.isin(keys, self.keys).nonzero().flatten().tolist()

    def compared_with(
        self, batch: Batch, candidates: Candidates, row: int, *, own_alone: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Rows [n] of the datastore that the candidate at a row is compared with, and log of their weights [n].

        All of them, or those `own_alone` that were corrected in this very sentence.
        """
        words, begins = self._words(batch, candidates, row)
        first, width = int(candidates.first[row]), int(candidates.stop[row] - candidates.first[row])
        same = (self.keys == span_keys(words, begins, begins + width)).nonzero().flatten().tolist()
        start = int(begins) - first
        sentence = tuple(words[start : start + int(batch.lengths[candidates.sentence[row]])].tolist())
        own = [c for c in same if self.first[c] == first and self.sentences[c] == sentence]
        like = [c for c in same if c not in own and not own_alone and self._is_in(c, sentence, first)]
        log_weights = torch.cat([self.own[own], self.like[like]])
        counts = log_weights > -torch.inf
        return self.rows[own + like][counts], log_weights[counts]

    def _is_in(self, number: int, sentence: tuple[int, ...], first: int) -> bool:
        """Whether all words that a carried span is bound to are in a sentence where its own begin at `first`."""
        begin, stop = self.reaches[number]
        start = first + begin - int(self.first[number])
        return start >= 0 and sentence[start : start + stop - begin] == self.sentences[number][begin:stop]

    def _words(self, batch: Batch, candidates: Candidates, row: int | None = None) -> tuple[Tensor, Tensor]:
        """The keys of the corpus's words, and where candidates begin among them."""
        corpus, rows = batch.corpus, slice(None) if row is None else slice(row, row + 1)
        sentences = batch.ids[candidates.sentence[rows].cpu()]
        return corpus.word_keys, corpus.first.cpu()[sentences] + candidates.first[rows].cpu()


def reach_of(sentence: MemorySentence, first: int, stop: int, label: int) -> tuple[int, int]:
    """The words of a sentence, from and to, that must be read elsewhere for a span of a label to count there."""
    return (first, stop) if label else sentence.reach(first, stop)
