"""Document-level context: a memory of training words that answers for each word (Luo et al., 2020, equations 9 to 13).

Slots hold occurrences of words in the training data: as a key what the word looks like there, as a value its state in
the BiLSTM. A word asks the slots of the same word, and their answer is blended into its state.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Any, Literal, Self

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from nearspan.encoders.batches import Batch, Features
from nearspan.segment import Sentence, copies, digests
from nearspan.settings import Settings

CELLS = 2**26  # numbers of keys and values that are looked at at once


class WordMemorySettings(Settings):
    """How training words are recalled."""

    similarity: Literal["dot", "scaled", "cosine"] = "cosine"  # of a word and a key: equation 9, 10 or 11
    weight: float = Field(default=0.3, ge=0, le=1)  # 1 - lambda: of the answer; the word's own state has the rest
    keys: Literal["epoch", "step"] = "epoch"  # written anew at an epoch's end, or by the step that reads their words
    most: int = Field(default=500, ge=1, le=1_000_000)  # T: occurrences of a word that are kept, by chance if more


@dataclass(frozen=True)
class Attention:
    """What N words attend to: at most T slots each."""

    slots: Tensor  # [N, T]
    weights: Tensor  # [N, T] alpha of equation 12, 0 for what is no slot of the word
    share: Tensor  # [N] of the answer in the word's state: 0 where there is none


@dataclass(frozen=True)
class ForgottenMask:
    """Slots that answer no more, because their sentences were forgotten."""

    forgotten: frozenset[int]  # digests of the sentences
    slots: Tensor  # [M + 1] which ones
    counts: Tensor  # [V + 1] how many slots of each word still answer
    rows: Tensor  # [V + 1] where in `sums` a word is that lost some, -1 for the others
    sums: Tensor  # [A + 1, H] of what still answers of such words, where their keys are all the same


class WordMemory(nn.Module):
    """g = lambda h + (1 - lambda) r, where r is what the memory answers.

    Static word vectors that are written at an epoch's end give all slots of a word the same key, so their weights are
    the same whatever the similarity, and r is the mean of their values, which needs no look at each slot. A pretrained
    encoder gives each slot its own, and so do vectors that are written as they are read: they are trained meanwhile.
    A word without slots (it is not in the training data, or the memory was not written yet) keeps its state: g = h.
    """

    written_buffers = ("counts", "values", "keys", "sums")  # what writing changes: checkpoints keep it

    def __init__(self, settings: WordMemorySettings, vocabulary: dict[str, Any], keys: int, values: int) -> None:
        super().__init__()
        self.settings = settings
        self.vocabulary = vocabulary
        self.index = {word: row for row, word in enumerate(vocabulary["words"])}
        self.contextual = keys > 0
        self.most = int(vocabulary["most"])  # slots of the commonest word
        words, slots = len(self.index), int(vocabulary["slots"])
        self.starts: Tensor  # [V + 1] each word's first slot; the last row is for words without any
        self.sizes: Tensor  # [V + 1] how many slots it has
        self.counts: Tensor  # [V + 1] how many of them are written: none, then all
        self.places: Tensor  # [M, 2] sentence and word that a slot holds, -1 where it was erased
        self.digests: Tensor  # [S] what the training sentences are known by, whatever their number elsewhere
        self.values: Tensor  # [M + 1, H] the last row is 0
        self.keys: Tensor  # [M + 1, K], or nothing where a word's keys are all the same
        self.sums: Tensor  # [V + 1, H] of a word's values, where its keys are all the same
        for name in ("starts", "sizes", "counts"):
            self.register_buffer(name, torch.zeros(words + 1, dtype=torch.long))
        self.register_buffer("places", torch.zeros(slots, 2, dtype=torch.int32))
        self.register_buffer("digests", torch.zeros(int(vocabulary["sentences"]), dtype=torch.long))
        self.register_buffer("values", torch.zeros(slots + 1, values, dtype=torch.float16))
        self.register_buffer("keys", torch.zeros(slots + 1 if self.contextual else 0, keys, dtype=torch.float16))
        self.register_buffer("sums", torch.zeros(0 if self.contextual else words + 1, values))
        self.forgotten_mask: ForgottenMask | None = None  # replaced as a whole, while others may be reading

    @classmethod
    def from_corpus(cls, settings: WordMemorySettings, train: Sequence[Sentence], keys: int, values: int) -> Self:
        """Slots for the words of the training sentences; nothing is written to them yet."""
        occurrences: dict[str, list[tuple[int, int]]] = {}
        for number, sentence in enumerate(train):
            for place, token in enumerate(sentence.tokens):
                occurrences.setdefault(normalize_digits(token), []).append((number, place))
        for word, places in occurrences.items():
            if len(places) > settings.most:
                drawn = torch.randperm(len(places))[: settings.most].sort().values
                occurrences[word] = [places[i] for i in drawn.tolist()]
        sizes = torch.tensor([len(places) for places in occurrences.values()], dtype=torch.long)
        slots, most = int(sizes.sum()), int(sizes.max())
        content = {"words": list(occurrences), "slots": slots, "most": most, "sentences": len(train)}
        memory = cls(settings, content, keys, values)
        memory.sizes[:-1] = sizes
        memory.starts[:-1] = sizes.cumsum(0) - sizes
        memory.places.copy_(torch.tensor([place for places in occurrences.values() for place in places]).view(-1, 2))
        memory.digests.copy_(torch.tensor(digests(sentence.tokens for sentence in train)))
        return memory

    def prepare(self, sentences: Sequence[Sentence], training: bool = False) -> Features:
        """Each word's number [R]; and for the training sentences themselves the slot that holds it [R]."""
        none = len(self.index)
        rows = [self.index.get(normalize_digits(token), none) for sentence in sentences for token in sentence.tokens]
        features: Features = {"words": torch.tensor(rows, dtype=torch.long)}
        if training:
            lengths = torch.tensor([len(sentence) for sentence in sentences], dtype=torch.long)
            sentence, place = self.places.long().cpu().unbind(1)
            slots = torch.full((len(rows),), len(self.places))
            slots[(lengths.cumsum(0) - lengths)[sentence] + place] = torch.arange(len(self.places))
            features["slots"] = slots
        return features

    def write(self, batch: Batch, features: Features, keys: Tensor, states: Tensor) -> None:
        """Put the words of a batch of training sentences [B, T] into their slots."""
        slots = features["slots"][batch.rows].masked_fill(~batch.mask, len(self.places)).flatten()
        self.values[slots] = states.flatten(0, 1).half()
        if not self.contextual:
            return
        keys = keys.flatten(0, 1).half()
        if self.settings.keys == "step":  # what no step here has read is another process's
            written = self.keys[slots]
            keys = torch.where(written.any(1, keepdim=True), written, keys)
        self.keys[slots] = keys

    def finish_writing(self) -> None:
        """All training sentences have been written: answer from now on."""
        self.values[-1] = 0
        self.counts.copy_(self.sizes)
        if not self.contextual:
            self.sums.zero_().index_add_(0, self._slot_words(), self.values[:-1].float())

    def _slot_words(self) -> Tensor:
        """The word of each slot [M]."""
        words = torch.arange(len(self.sizes), device=self.sizes.device)
        return torch.repeat_interleave(words, self.sizes, output_size=len(self.places))

    def mask_forgotten(self, forgotten: frozenset[int]) -> None:
        """Let all slots answer but erased ones and those of the sentences with these digests."""
        device, mask = self.values.device, self.forgotten_mask
        if mask and (mask.forgotten, mask.slots.device) == (forgotten, device):
            return
        sentences = torch.isin(self.digests, torch.tensor(sorted(forgotten), dtype=torch.long, device=device))
        number = self.places[:, 0].long()
        slots = sentences[number.clamp(min=0)] | (number < 0) if len(sentences) else number < 0
        if not bool(slots.any()):
            self.forgotten_mask = None
            return
        slot_words = self._slot_words()
        lost = torch.bincount(slot_words[slots], minlength=len(self.counts))
        words = lost.nonzero().flatten()
        rows = torch.full_like(lost, -1)
        rows[words] = torch.arange(len(words), device=device)
        sums = self.sums.new_zeros(len(words) + 1, self.sums.shape[1])
        if not self.contextual:
            left = (~slots & (rows[slot_words] >= 0)).nonzero().flatten()
            sums.index_add_(0, rows[slot_words[left]], self.values[left].float())
        counts = (self.counts - lost).clamp(min=0)
        self.forgotten_mask = ForgottenMask(forgotten, functional.pad(slots, (0, 1)), counts, rows, sums)

    def count_slots(self, forgotten: Collection[int]) -> int:
        """How many slots hold words of the sentences with these digests."""
        chosen = torch.tensor(sorted(forgotten), dtype=torch.long, device=self.digests.device)
        sentences = torch.isin(self.digests, chosen).nonzero().flatten()
        return int(torch.isin(self.places[:, 0], sentences.to(self.places.dtype)).sum())

    def find_copies(self, sentences: Iterable[Sequence[str]], forgotten: Collection[int]) -> list[int]:
        """The digests of these sentences, given as their words, as far as they are here and not `forgotten` already.

        Copies of a sentence say the same, so any of them will do.
        """
        known = set(self.digests.tolist())
        copies_here: list[int] = []
        for words, count in Counter(map(tuple, sentences)).items():
            present = takewhile(known.__contains__, copies(words))
            copies_here += islice((digest for digest in present if digest not in forgotten), count)
        return copies_here

    def masked_buffers(self) -> dict[str, Tensor]:
        """The buffers that hold something of forgotten slots, with that erased: for saving."""
        mask = self.forgotten_mask
        if mask is None:
            return {}
        buffers = {
            "values": self.values.masked_fill(mask.slots[:, None], 0),
            "places": self.places.masked_fill(mask.slots[:-1, None], -1),
        }
        if self.contextual:
            return buffers | {"keys": self.keys.masked_fill(mask.slots[:, None], 0)}
        return buffers | {"sums": torch.where((mask.rows >= 0)[:, None], mask.sums[mask.rows], self.sums)}

    def forward(self, batch: Batch, features: Features, queries: Tensor, states: Tensor) -> Tensor:
        """Blend answers into states [B, T, H]; `queries` [B, T, K] are the words as keys are."""
        mask = self.forgotten_mask  # the same one throughout, whatever an editor does meanwhile
        words, slots = self._words_and_slots(batch, features, mask)
        answers = self._attend(queries, words, slots, mask) if self.contextual else self._means(words, slots, mask)
        if self.training and self.settings.keys == "step":
            places = slots.masked_fill(~batch.mask, len(self.places))  # padding goes where words without a slot do
            self.keys[places] = queries.detach().half()
        known = (self._answering(words, slots, mask) > 0) & batch.mask
        blended = torch.lerp(states.float(), answers, self.settings.weight)  # equation 13
        return torch.where(known[..., None], blended, states)

    def attention(self, batch: Batch, features: Features, queries: Tensor) -> Attention:
        """What the words of a batch [B, T] attend to, sentence after sentence, padding included."""
        mask = self.forgotten_mask
        words, slots = (tensor.flatten() for tensor in self._words_and_slots(batch, features, mask))
        place, weights = self._weights(queries.flatten(0, 1), words, slots, mask)
        known = (self._answering(words, slots, mask) > 0) & batch.mask.flatten()
        return Attention(place, weights, known * self.settings.weight)

    def _words_and_slots(self, batch: Batch, features: Features, mask: ForgottenMask | None) -> tuple[Tensor, Tensor]:
        """Numbers of the words [B, T], and their own slots, which do not answer them."""
        words: Tensor = features["words"][batch.rows]
        if "slots" not in features:
            return words, torch.full_like(words, len(self.places))
        slots: Tensor = features["slots"][batch.rows]
        return words, slots if mask is None else slots.masked_fill(mask.slots[slots], len(self.places))

    def _answering(self, words: Tensor, slots: Tensor, mask: ForgottenMask | None) -> Tensor:
        """How many slots answer each word."""
        counts = self.counts if mask is None else mask.counts
        return counts[words] - (slots < len(self.places)).long()

    def _means(self, words: Tensor, slots: Tensor, mask: ForgottenMask | None) -> Tensor:
        """Equation 12 where all keys of a word are the same: the mean of its values [B, T, H], its own left out."""
        answering = self._answering(words, slots, mask).clamp(min=1)
        sums = self.sums[words]
        if mask is not None:
            rows = mask.rows[words]
            sums = torch.where(rows[..., None] < 0, sums, mask.sums[rows])
        return (sums - self.values[slots].float()) / answering[..., None]

    def _attend(self, queries: Tensor, words: Tensor, slots: Tensor, mask: ForgottenMask | None) -> Tensor:
        """Equation 12 [B, T, H], for as many words at once as `CELLS` allows."""
        size = max(1, CELLS // (self.most * (self.keys.shape[1] + self.values.shape[1])))
        answers = []
        flat = (queries.flatten(0, 1), words.flatten(), slots.flatten())
        for query, word, slot in zip(*(tensor.split(size) for tensor in flat), strict=True):
            place, weights = self._weights(query, word, slot, mask)
            answers.append((weights[:, None] @ self.values[place].float())[:, 0])
        return torch.cat(answers).view(*words.shape, -1)

    def _weights(
        self, queries: Tensor, words: Tensor, slots: Tensor, mask: ForgottenMask | None
    ) -> tuple[Tensor, Tensor]:
        """Slots and alpha [N, T] for words [N] with queries [N, K]."""
        steps = torch.arange(self.most, device=words.device)
        place = self.starts[words][:, None] + steps
        real = (steps < self.counts[words][:, None]) & (place != slots[:, None])
        place = place.masked_fill(~real, len(self.places))
        if mask is not None:
            real &= ~mask.slots[place]
            place = place.masked_fill(~real, len(self.places))
        scores = self._similarity(queries.float(), place) if self.contextual else real.float()
        weights = scores.masked_fill(~real, torch.finfo(scores.dtype).min).softmax(1)
        return place, weights * real

    def _similarity(self, queries: Tensor, place: Tensor) -> Tensor:
        """u [N, T] of queries [N, K] and the keys at some slots [N, T]: equations 9 to 11."""
        keys = self.keys[place].float()  # [N, T, K]
        if self.settings.similarity == "cosine":
            queries, keys = functional.normalize(queries, dim=-1), functional.normalize(keys, dim=-1)
        products = (keys @ queries[..., None])[..., 0]
        return products / queries.shape[-1] ** 0.5 if self.settings.similarity == "scaled" else products


def normalize_digits(word: str) -> str:
    """What makes two occurrences the same word: how they are written, digits aside.

    >>> normalize_digits("Oslo"), normalize_digits("1996-08-24")
    ('Oslo', '0000-00-00')
    """
    return re.sub(r"\d", "0", word)
