"""The order of texts: those first whose answers teach most."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from itertools import islice

import torch
from torch import Tensor

from nearspan.knn import Datastore
from nearspan.model import Model
from nearspan.progress import track
from nearspan.review.doubt import read_doubts
from nearspan.review.pool import PoolText

MOST = 2_000  # texts that are compared, drawn by chance where there are more: others follow as these are answered
BLOCK = 250  # texts that are read at once in the beginning
ALIKE = 0.1  # texts that are nearer than this to what is known, by cosine, are worth less
BEST, OLDEST = 16, 8  # texts that are read again after an answer: those that come next, and those read longest ago


class Queue:
    """Texts in order of doubt, near-duplicates of the memory later, as the model reads them with the memory it has.

    After an answer the texts that come next are read again, and a few others in turn: that takes a moment where all
    would take long. The order is made anew whenever the queue is: nothing of it is kept on disk.
    """

    def __init__(self, model: Model, texts: Sequence[PoolText]) -> None:
        self.model = model
        order = random.Random(0).sample(texts, len(texts))
        self._texts = {text.id: text for text in order}
        self._doubts: dict[str, float] = {}  # the text that was read longest ago comes first
        self._vectors: dict[str, Tensor] = {}  # [E] of length 1
        self._near: dict[str, float] = {}  # the highest cosine with a sentence of the memory
        self._datastore: Datastore | None = None  # that texts were last compared with
        self._is_stale = True  # whether the memory was edited since the best were read

    def order(self, waiting: Collection[str], shown: Collection[str]) -> list[str]:
        """The texts that wait, the one to ask next first; less like those that are `shown` to others meanwhile."""
        current = list(islice((id for id in self._texts if id in waiting), MOST))
        self._follow_memory(current)
        values = self._values(current, shown)
        if self._is_stale:
            best = sorted(current, key=values.__getitem__, reverse=True)[:BEST]
            known = set(current)
            oldest = islice((id for id in self._doubts if id in known), OLDEST)
            self._read(list(dict.fromkeys([*best, *oldest])))
            self._is_stale = False
            values = self._values(current, shown)
        return sorted(current, key=values.__getitem__, reverse=True)

    def measure(self, id: str) -> tuple[float, float]:
        """A text's doubt, and its cosine with the sentence of the memory that is most like it."""
        self._follow_memory([id])
        return self._doubts[id], self._near[id]

    def _follow_memory(self, current: Sequence[str]) -> None:
        """Read those of some texts that were never read, and compare all with what is new in the memory."""
        datastore = self.model.datastore
        assert datastore is not None  # a review has a memory
        if datastore is not self._datastore:
            self._is_stale = True
            known = set(self._datastore.ids) if self._datastore is not None else set[int]()
            new = [row for row, number in enumerate(datastore.ids) if number not in known]
            if known - set(datastore.ids):  # something was taken out
                self._near, new = {}, list(range(len(datastore.ids)))
            self._compare([id for id in self._vectors if id in self._near], datastore.sentence_vectors[new])
            self._datastore = datastore
        unread = [id for id in current if id not in self._doubts]
        blocks = [unread[start : start + BLOCK] for start in range(0, len(unread), BLOCK)]
        for block in track(blocks, "reading texts to review", len(blocks)):
            self._read(block)
        self._compare([id for id in self._vectors if id not in self._near], datastore.sentence_vectors)

    def _read(self, ids: Sequence[str]) -> None:
        if not ids:
            return
        doubts, vectors = read_doubts(self.model, [self._texts[id].document for id in ids])
        for id, doubt, vector in zip(ids, doubts.tolist(), vectors, strict=True):
            self._doubts.pop(id, None)  # it is the last that was read now
            self._doubts[id], self._vectors[id] = doubt, vector

    def _compare(self, ids: Sequence[str], sentences: Tensor) -> None:
        """Compare texts with sentence vectors [M, E] of the memory."""
        if not ids or not len(sentences):
            return
        vectors = torch.stack([self._vectors[id] for id in ids])
        cosines = (vectors @ sentences.float().cpu().T).amax(1).tolist()
        self._near |= {id: max(cosine, self._near.get(id, -1.0)) for id, cosine in zip(ids, cosines, strict=True)}

    def _values(self, ids: Sequence[str], shown: Collection[str]) -> dict[str, float]:
        """What an answer to each text is worth."""
        if not ids:
            return {}
        near = torch.tensor([self._near[id] for id in ids])
        others = [self._vectors[id] for id in shown if id in self._vectors]
        if others:
            vectors = torch.stack([self._vectors[id] for id in ids])
            near = torch.maximum(near, (vectors @ torch.stack(others).T).amax(1))
        doubts = torch.tensor([self._doubts[id] for id in ids])
        return dict(zip(ids, worth(doubts, near).tolist(), strict=True))


def worth(doubts: Tensor, near: Tensor) -> Tensor:
    """What an answer to each text [N] is worth: its doubt; less of it, the more it is like what is known or asked."""
    return doubts * ((1 - near) / ALIKE).clamp(0, 1)
