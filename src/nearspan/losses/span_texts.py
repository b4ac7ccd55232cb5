"""What gold spans say: their own words and their synonyms, as rows of a vocabulary."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from nearspan.segment import Sentence
from nearspan.segment.words import words
from nearspan.spans import Candidates, WordEntity, candidate_number

PADDING, START, END, UNKNOWN = range(4)
SPECIAL = 4  # rows before those of words


class SynonymSource(Protocol):
    """Anything that knows synonyms."""

    def of(self, text: str) -> tuple[str, ...]:
        """The synonyms of a text; none where it has none."""


@dataclass(frozen=True)
class Vocabulary:
    """The words that generators know, in lower case, and whether synonyms are among what they learn."""

    words: tuple[str, ...]
    synonyms: bool = False

    def __len__(self) -> int:
        return SPECIAL + len(self.words)

    def text(self, rows: Iterable[int]) -> str:
        """Words by their rows, up to the end.

        >>> Vocabulary(("lung", "cancer")).text([4, 5, END, 4])
        'lung cancer'
        """
        found = []
        for row in rows:
            if row == END:
                break
            found.append(self.words[row - SPECIAL] if row >= SPECIAL else "<unknown>")
        return " ".join(found)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"words": self.words, "synonyms": self.synonyms}

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> Vocabulary:
        """What `to_dict` made."""
        return cls(tuple(str(word) for word in found["words"]), bool(found["synonyms"]))


@dataclass(frozen=True)
class Sequences:
    """P texts, and the places of their words: who knows these beforehand need not wait for a GPU to count them."""

    rows: Tensor  # [P, L] rows of words, each with an end, then padding
    places: Tensor  # [W] of all words and ends among the P * L

    @classmethod
    def of(cls, rows: Tensor) -> Sequences:
        """Texts that are padded already."""
        return cls(rows, (rows.flatten() != PADDING).nonzero().flatten())

    def to(self, device: torch.device) -> Sequences:
        """The same on a device, which is not waited for."""
        return Sequences(self.rows.to(device, non_blocking=True), self.places.to(device, non_blocking=True))


@dataclass(frozen=True)
class Told:
    """What the G gold spans of a batch say."""

    rows: Tensor  # [G] among the batch's candidates
    own: Sequences  # their words, G texts
    asked: Tensor  # [A] those of the G that have synonyms
    owner: Tensor  # [P] which of the A a synonym belongs to
    share: Tensor  # [P] one over how many synonyms it has
    synonyms: Sequences  # P texts

    def to(self, device: torch.device) -> Told:
        """The same on a device, which is not waited for."""
        found = (self.rows, self.asked, self.owner, self.share)
        rows, asked, owner, share = (tensor.to(device, non_blocking=True) for tensor in found)
        return Told(rows, self.own.to(device), asked, owner, share, self.synonyms.to(device))


@dataclass(frozen=True)
class SpanTexts:
    """What the N gold spans of a corpus say, sentence after sentence; all on the CPU."""

    vocabulary: Vocabulary
    sequences: Tensor  # [Q, L] rows of words, each with an end, then padding
    number: Tensor  # [N] a span's number among its sentence's candidates
    own: Tensor  # [N] its own sequence
    counts: Tensor  # [M] gold spans of each sentence
    synonyms: Tensor  # [P] sequences, span after span
    many: Tensor  # [N] synonyms of each span

    @classmethod
    def from_corpus(
        cls,
        sentences: Sequence[Sentence],
        entities: Sequence[Sequence[WordEntity]],
        max_width: int,
        source: SynonymSource | None = None,
        most: int = 10,
        longest: int = 14,
    ) -> SpanTexts:
        """Read labelled sentences; of a span's synonyms the first `most` of up to `longest` words are kept."""
        index: dict[str, int] = {}
        sequences: dict[tuple[int, ...], int] = {}

        def kept(tokens: Sequence[str]) -> int:
            rows = (*(index.setdefault(token, SPECIAL + len(index)) for token in tokens), END)
            return sequences.setdefault(rows, len(sequences))

        spans, own, synonyms, many, counts = [], [], [], [], []
        for sentence, golds in zip(sentences, entities, strict=True):
            places = list(dict.fromkeys((first, stop) for first, stop, _ in golds))
            counts.append(len(places))
            for first, stop in places:
                text = sentence.span(first, stop).text(sentence.document.text)
                others = [] if source is None else _synonyms(source, text, most, longest)
                spans.append((first, stop, len(sentence)))
                own.append(kept(spelled(text)))
                synonyms += [kept(tokens) for tokens in others]
                many.append(len(others))
        firsts, stops, lengths = torch.tensor(spans, dtype=torch.long).view(-1, 3).unbind(1)
        numbers = candidate_number(firsts, stops, lengths, max_width)
        padded = pad_sequence([torch.tensor(rows) for rows in sequences] or [torch.tensor([END])], batch_first=True)
        tables = (torch.tensor(table, dtype=torch.long) for table in (own, counts, synonyms, many))
        vocabulary = Vocabulary(tuple(index), source is not None)
        return cls(vocabulary, padded, numbers, *tables)

    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that change with what is said."""
        tables = (self.sequences, self.own, self.synonyms, self.many)
        content = json.dumps([self.vocabulary.words, *(table.tolist() for table in tables)])
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    def of(self, ids: Tensor, candidates: Candidates) -> Told:
        """What the gold spans of a batch say; `ids` [B] are its sentences. On the device of the candidates."""
        ids = ids.cpu()
        starts, before = self.counts.cumsum(0) - self.counts, candidates.counts.cumsum(0) - candidates.counts
        spans = _ranges(starts[ids], self.counts[ids])  # [G]
        rows = before.repeat_interleave(self.counts[ids]) + self.number[spans]
        many = self.many[spans]
        asked = many.nonzero().flatten()
        owner = torch.arange(len(asked)).repeat_interleave(many[asked])
        synonyms = _ranges((self.many.cumsum(0) - self.many)[spans], many)
        share = 1 / many[asked][owner].float()
        told = Told(rows, self._padded(self.own[spans]), asked, owner, share, self._padded(self.synonyms[synonyms]))
        return told.to(candidates.first.device)

    def _padded(self, numbers: Tensor) -> Sequences:
        """Some sequences, no longer than the longest of them."""
        found = self.sequences[numbers]
        return Sequences.of(found[:, : int((found != PADDING).sum(1).max()) if len(found) else 0])


def spelled(text: str) -> list[str]:
    """The words of a text as generators know them.

    >>> spelled("IL-2 receptor")
    ['il', '-', '2', 'receptor']
    """
    return [text[start:end].lower() for start, end in words(text)]


def _synonyms(source: SynonymSource, text: str, most: int, longest: int) -> list[list[str]]:
    """The words of a text's synonyms; those that only differ in case or blanks are one, and the text is none."""
    found = {tuple(tokens): tokens for other in source.of(text) if 0 < len(tokens := spelled(other)) <= longest}
    found.pop(tuple(spelled(text)), None)
    return list(found.values())[:most]


def _ranges(starts: Tensor, counts: Tensor) -> Tensor:
    """starts[0], starts[0] + 1, ... as many as counts[0], then those from starts[1] on, and so on."""
    shift = starts - (counts.cumsum(0) - counts)
    return torch.arange(int(counts.sum())) + shift.repeat_interleave(counts)
