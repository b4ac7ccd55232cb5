"""The texts of gold spans: their own words and their synonyms, as rows of a vocabulary."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Protocol, Self

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from nearspan.segment import LabelledSpan, Sentence, contiguous
from nearspan.segment.words import words
from nearspan.spans import Candidates, candidate_number

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
        before_end = takewhile(lambda row: row != END, rows)
        return " ".join(self.words[row - SPECIAL] if row >= SPECIAL else "<unknown>" for row in before_end)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"words": self.words, "synonyms": self.synonyms}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """What `to_dict` made."""
        return cls(tuple(str(word) for word in content["words"]), bool(content["synonyms"]))


@dataclass(frozen=True)
class Sequences:
    """P texts, and the places of their words, which are counted here so that nobody waits for a GPU to do it."""

    rows: Tensor  # [P, L] rows of words, each with an end, then padding
    places: Tensor  # [W] of all words and ends among the P * L

    @classmethod
    def of(cls, rows: Tensor) -> Self:
        """Texts that are padded already."""
        return cls(rows, (rows.flatten() != PADDING).nonzero().flatten())


@dataclass(frozen=True)
class BatchTexts:
    """The texts of the G gold spans of a batch, and their synonyms."""

    texts: Sequences  # their words, G texts
    synonyms: Sequences  # P texts
    rows: Tensor  # [G] among the batch's candidates
    with_synonyms: Tensor  # [A] those of the G that have synonyms
    owner: Tensor  # [P] which of the A a synonym belongs to
    share: Tensor  # [P] one over how many synonyms that one has


@dataclass(frozen=True)
class SpanTexts:
    """The texts of the N gold spans of a corpus and their synonyms, sentence after sentence; all on the CPU."""

    vocabulary: Vocabulary
    sequences: Tensor  # [Q, L] rows of words, each with an end, then padding
    number: Tensor  # [N] a span's number among its sentence's candidates
    texts: Tensor  # [N] the sequence of its own words
    counts: Tensor  # [M] gold spans of each sentence
    synonyms: Tensor  # [P] sequences, span after span
    synonym_counts: Tensor  # [N] synonyms of each span

    @classmethod
    def from_corpus(
        cls,
        sentences: Sequence[Sentence],
        entities: Sequence[Sequence[LabelledSpan[str]]],
        max_width: int,
        source: SynonymSource | None = None,
        most: int = 10,
        longest: int = 14,
    ) -> Self:
        """Read labelled sentences; of a span's synonyms the first `most` of up to `longest` words are kept."""
        index: dict[str, int] = {}
        sequences: dict[tuple[int, ...], int] = {}

        def sequence_number(tokens: Sequence[str]) -> int:
            rows = (*(index.setdefault(token, SPECIAL + len(index)) for token in tokens), END)
            return sequences.setdefault(rows, len(sequences))

        spans, texts, synonyms, synonym_counts, counts = [], [], [], [], []
        for sentence, golds in zip(sentences, entities, strict=True):
            places = list(dict.fromkeys(gold.fragments[0] for gold in contiguous(golds)))
            counts.append(len(places))
            for first, stop in places:
                text = sentence.span(first, stop).text(sentence.document.text)
                synonyms_of_span = [] if source is None else _synonyms(source, text, most, longest)
                spans.append((first, stop, len(sentence)))
                texts.append(sequence_number(lowercase_words(text)))
                synonyms += [sequence_number(tokens) for tokens in synonyms_of_span]
                synonym_counts.append(len(synonyms_of_span))
        firsts, stops, lengths = torch.tensor(spans, dtype=torch.long).view(-1, 3).unbind(1)
        numbers = candidate_number(firsts, stops, lengths, max_width)
        padded = pad_sequence([torch.tensor(rows) for rows in sequences] or [torch.tensor([END])], batch_first=True)
        tables = (torch.tensor(table, dtype=torch.long) for table in (texts, counts, synonyms, synonym_counts))
        vocabulary = Vocabulary(tuple(index), source is not None)
        return cls(vocabulary, padded, numbers, *tables)

    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that change with the texts."""
        tables = (self.sequences, self.texts, self.synonyms, self.synonym_counts)
        content = json.dumps([self.vocabulary.words, *(table.tolist() for table in tables)])
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    def batch(self, ids: Tensor, candidates: Candidates) -> BatchTexts:
        """The texts of the gold spans of a batch, on the candidates' device; `ids` [B] are its sentences."""

        def send(*tensors: Tensor) -> Iterator[Tensor]:  # the device is not waited for
            return (tensor.to(candidates.first.device, non_blocking=True) for tensor in tensors)

        ids = ids.cpu()
        starts, before = self.counts.cumsum(0) - self.counts, candidates.counts.cumsum(0) - candidates.counts
        spans = _ranges(starts[ids], self.counts[ids])  # [G]
        rows = before.repeat_interleave(self.counts[ids]) + self.number[spans]
        counts = self.synonym_counts[spans]
        with_synonyms = counts.nonzero().flatten()
        owner = torch.arange(len(with_synonyms)).repeat_interleave(counts[with_synonyms])
        synonyms = _ranges((self.synonym_counts.cumsum(0) - self.synonym_counts)[spans], counts)
        share = 1 / counts[with_synonyms][owner].float()
        sequences = (self._select(self.texts[spans]), self._select(self.synonyms[synonyms]))
        texts, synonym_texts = (Sequences(*send(part.rows, part.places)) for part in sequences)
        return BatchTexts(texts, synonym_texts, *send(rows, with_synonyms, owner, share))

    def _select(self, numbers: Tensor) -> Sequences:
        """The sequences of these numbers, no longer than the longest of them."""
        rows = self.sequences[numbers]
        return Sequences.of(rows[:, : int((rows != PADDING).sum(1).max()) if len(rows) else 0])


def lowercase_words(text: str) -> list[str]:
    """The words of a text as generators know them.

    >>> lowercase_words("IL-2 receptor")
    ['il', '-', '2', 'receptor']
    """
    return [text[start:end].lower() for start, end in words(text)]


def _synonyms(source: SynonymSource, text: str, most: int, longest: int) -> list[list[str]]:
    """The words of a text's synonyms; those that only differ in case or blanks are one, and the text is none."""
    synonyms = (lowercase_words(synonym) for synonym in source.of(text))
    distinct = {tuple(tokens): tokens for tokens in synonyms if 0 < len(tokens) <= longest}
    distinct.pop(tuple(lowercase_words(text)), None)
    return list(distinct.values())[:most]


def _ranges(starts: Tensor, counts: Tensor) -> Tensor:
    """starts[0], starts[0] + 1, ... as many as counts[0], then those from starts[1] on, and so on."""
    shift = starts - (counts.cumsum(0) - counts)
    return torch.arange(int(counts.sum())) + shift.repeat_interleave(counts)
