"""The memory: training spans with their vectors, labels and where they came from."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor

from nearspan.encoders import Given
from nearspan.errors import ModelError, first_line
from nearspan.io.tensors import load_tensors, metadata_of, save_tensors
from nearspan.knn.memory_sentence import MemorySentence
from nearspan.knn.word_table import PART, WordTable
from nearspan.segment import Gold, digests
from nearspan.spans import SpanLabels, WordSums, enumerate_spans, how_many, number_of

SENTENCES, VECTORS = BASE = ("memory.jsonl", "memory.safetensors")
TIE = 1e-6  # cosines that differ by less are taken to be the same
FILL = "fill one with `nearspan memory MODEL build CORPUS`"  # what to do where there is none
NEXT = "memory.new"  # a folder in which a new memory is whole before its files move to their places


@dataclass(frozen=True)
class Datastore:
    """N training spans, null ones included unless spans are given, sentence after sentence.

    Rows of sentence m are `starts[m]` to `starts[m] + counts[m]`, in the order of `enumerate_spans`. Their vectors
    are kept as they are, or by words where they add up over words; `rows` gives them in either case.
    """

    sentences: Sequence[MemorySentence]
    ids: Sequence[int]  # [M] rising; a sentence keeps its id through all edits
    max_width: int
    vectors: Tensor | WordTable  # [N, H], or by words
    labels: Tensor  # [N] 0 is null, -1 a span that was removed; of a span with several labels the first
    further: Tensor  # [W, N] the second and later labels of spans that have several, 0 elsewhere
    sentence_vectors: Tensor  # [M, E] of length 1
    sentence: Tensor  # [N] which sentence a span is of
    first: Tensor  # [N]
    stop: Tensor  # [N]
    starts: Tensor  # [M]
    counts: Tensor  # [M]
    log_weights: Tensor  # [N] of how many times a span counts
    _: KW_ONLY
    forgotten: frozenset[int] = frozenset()  # digests of training sentences whose words the encoder shall not recall

    @classmethod
    def of(
        cls,
        sentences: Sequence[MemorySentence],
        labels: Sequence[str],
        max_width: int,
        vectors: Tensor | WordSums,
        sentence_vectors: Tensor,
        ids: Sequence[int] | None = None,
        given: bool = False,
    ) -> Datastore:
        """Put a memory together; `vectors` are those of `enumerate_spans` over the sentences, or of their words.

        The sentences are numbered from 0 where no `ids` are given. With `given` only the sentences' entities are in it,
        whose vectors come as `Given.of` sorts them.
        """
        lengths = torch.tensor([len(one.words) for one in sentences], dtype=torch.long)
        if given:
            some = Given.of([[entity[:2] for entity in one.entities] for one in sentences])
            sentence = torch.arange(len(sentences)).repeat_interleave(some.counts)
            counts, places = some.counts, (sentence, some.first, some.stop)
        else:
            every = enumerate_spans(lengths, max_width)
            counts, places = every.counts, (every.sentence, every.first, every.stop)
        kind, expected = ("words", lengths) if isinstance(vectors, WordSums) else ("spans", counts)
        if int(expected.sum()) != len(vectors) or len(sentences) != len(sentence_vectors):
            raise ModelError(
                f"the memory holds vectors of {len(vectors)} {kind} and {len(sentence_vectors)} sentences where its "
                f"{len(sentences)} sentences have {int(expected.sum())} {kind}: build it again"
            )
        table = span_labels(sentences, labels, max_width, given)
        weights = torch.zeros(len(table.labels)) if given else log_weights(sentences, max_width)  # given: never edited
        where = (table.labels, table.further, sentence_vectors, *places, table.starts, counts, weights)
        device = sentence_vectors.device
        bare = cls(
            sentences,
            range(len(sentences)) if ids is None else ids,
            max_width,
            sentence_vectors.new_empty(0, 0),
            *(tensor.to(device) for tensor in where),
        )
        return bare.with_vectors(vectors, sentence_vectors)

    def with_vectors(self, vectors: Tensor | WordSums, sentence_vectors: Tensor) -> Datastore:
        """The same spans with other vectors."""
        sentence_vectors = searchable(sentence_vectors)
        if not isinstance(vectors, WordSums):
            return replace(self, vectors=vectors, sentence_vectors=sentence_vectors)
        lengths = torch.tensor([len(one.words) for one in self.sentences], dtype=torch.long)
        kept = WordTable.of(vectors, lengths, self._entities(), self._apart())
        return replace(self, vectors=kept, sentence_vectors=sentence_vectors)

    def settled(self) -> Datastore:
        """The same after `labels` or `sentences` have changed: words know their entities and sentences apart again."""
        if not isinstance(self.vectors, WordTable):
            return self
        return replace(self, vectors=self.vectors.holding(self._entities(), self._apart()))

    def _entities(self) -> Tensor:
        """Sentence, first, stop and label [E, 4] of the spans that are entities."""
        entities = (self.labels > 0).nonzero().flatten()
        return torch.stack([some[entities] for some in (self.sentence, self.first, self.stop, self.labels)], 1)

    def _apart(self) -> Tensor:
        """Which sentences [M] have spans that were removed, or that do not count once."""
        return torch.tensor([bool(one.removed or one.heavier) or one.weight != 1 for one in self.sentences])

    def __len__(self) -> int:
        return len(self.labels)

    def rows(self, rows: Tensor | slice) -> Tensor:
        """The vectors [..., H] of the spans at some rows."""
        if isinstance(self.vectors, Tensor):
            return self.vectors[rows]
        first, stop = self.first[rows], self.stop[rows]
        return self.vectors.spans(self.vectors.starts[self.sentence[rows]] + first, stop - first)

    def scores(self, asked: Tensor) -> Tensor:
        """Inner products [n, N] of vectors [n, H] with all spans."""
        if isinstance(self.vectors, WordTable):
            return self.vectors.scores(asked, self.max_width).flatten(1)[:, self._cells]
        found = asked.new_empty(len(asked), len(self))
        for some, place in zip(self.vectors.split(PART), found.split(PART, dim=1), strict=True):
            torch.mm(asked, some.to(asked.dtype).T, out=place)
        return found

    @cached_property
    def lengths(self) -> Tensor:
        """The lengths [N] of all spans' vectors."""
        if isinstance(self.vectors, WordTable):
            return self.vectors.lengths(self.max_width).flatten()[self._cells]
        return torch.cat([some.float().norm(dim=1) for some in self.vectors.split(PART)])

    @property
    def _cells(self) -> Tensor:
        """Where the spans [N] are among those by the row of their first word and their width."""
        assert isinstance(self.vectors, WordTable)
        return (self.vectors.starts[self.sentence] + self.first) * self.max_width + self.stop - self.first - 1

    def offsets(self, rows: Tensor | slice) -> Tensor:
        """What is added to the scores [...] of the spans at some rows: log of their weight, -inf where removed."""
        return self.log_weights[rows].masked_fill(self.labels[rows] < 0, -torch.inf)

    @cached_property
    def head_starts(self) -> Tensor:
        """What is added to the sentences' cosines [M]: of equal ones those whose spans count more come first, then the
        earlier ones, whatever the rounding of a cosine."""
        heavier = torch.zeros_like(self.starts, dtype=torch.bool)
        heavier[self.sentence[self.log_weights > 0]] = True
        return -TIE * equals_before(self.sentence_vectors, heavier).float()

    @cached_property
    def known(self) -> dict[int, int]:
        """Where the sentences are by their digests, which tell a sentence whatever its id."""
        found = digests((sentence.tokens for sentence in self.sentences), self.forgotten)
        return {digest: number for number, digest in enumerate(found)}

    def labels_of(self, row: int) -> list[str]:
        """All labels of the span at a row; `labels` holds the first of them."""
        sentence, place = self.sentences[int(self.sentence[row])], (int(self.first[row]), int(self.stop[row]))
        return [label for first, stop, label in sentence.entities if (first, stop) == place]

    def fragments(self) -> Iterator[tuple[int, Gold]]:
        """The rows of the fragments of discontinuous entities, each with its entity."""
        for number, sentence in enumerate(self.sentences):
            for gold in sentence.discontinuous:
                places = torch.tensor(gold.fragments)
                length = torch.tensor(len(sentence.words))
                numbers = number_of(places[:, 0], places[:, 1], length, self.max_width)
                yield from ((int(self.starts[number]) + row, gold) for row in numbers.tolist())

    def has(self, label: int) -> Tensor:
        """Which spans [N] have a label, 0 for none; removed ones count as having every label."""
        return (
            (self.labels == label) | (self.labels < 0) | (self.further == label if label else self.further < 0).any(0)
        )

    def to(self, device: torch.device | str) -> Datastore:
        """The same memory on a device."""
        moved: dict[str, Any] = {
            field.name: value.to(device)
            for field in fields(self)
            if isinstance(value := getattr(self, field.name), Tensor | WordTable)
        }
        return replace(self, **moved)

    def save(self, folder: Path, weights: str) -> None:
        """Write the sentences as JSON lines and the vectors as safetensors.

        `weights` is what those are known by that made the vectors; they are of no use to others.
        """
        with (folder / SENTENCES).open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(_lines(self.sentences))
        tensors = {"sentence_vectors": self.sentence_vectors}
        if isinstance(self.vectors, WordTable):
            words = self.vectors.words()
            tensors |= {"begins": words.begins, "steps": words.steps}
        else:
            tensors["spans"] = self.vectors
        if self.forgotten:
            tensors["forgotten"] = torch.tensor(sorted(self.forgotten))
        save_tensors(tensors, folder / VECTORS, _made(weights, folder / SENTENCES))

    @classmethod
    def load(cls, folder: Path, weights: str, labels: Sequence[str], max_width: int, given: bool = False) -> Datastore:
        """Read what `save` wrote for a model with these weights; an error where it was for another."""
        try:
            sentences = _read(found_in(folder, SENTENCES))
            _refuse_others(folder, weights)
            if unknown := {label for one in sentences for *_, label in one.entities} - set(labels):
                named = ", ".join(sorted(unknown))
                raise ModelError(f"{found_in(folder, SENTENCES)} has labels that the model does not know: {named}")
            tensors = load_tensors(found_in(folder, VECTORS))
            by_words = "steps" in tensors
            vectors = WordSums(tensors["begins"], tensors["steps"]) if by_words else tensors["spans"]
            forgotten = frozenset(tensors["forgotten"].tolist()) if "forgotten" in tensors else frozenset()
            found = cls.of(sentences, labels, max_width, vectors, tensors["sentence_vectors"], given=given)
            return replace(found, forgotten=forgotten)
        except ModelError as error:
            raise ModelError(f"{error}. {_advice(folder)}") from error
        except (OSError, SafetensorError, ValueError, KeyError, TypeError, IndexError) as error:
            raise ModelError(f"the memory in {folder} is damaged: {error}. {_advice(folder)}") from error


def searchable(sentence_vectors: Tensor) -> Tensor:
    """The same vectors [M, E] with all first numbers in a row, then all second ones: a search is quicker so."""
    return sentence_vectors.T.contiguous().T


def equals_before(vectors: Tensor, favoured: Tensor) -> Tensor:
    """How many vectors that are the same but for rounding come before each of [M, E]: the favoured ones first.

    >>> equals_before(torch.tensor([[1.0], [0.0], [1.0], [1.0]]), torch.tensor([False, False, False, True])).tolist()
    [1, 0, 2, 0]
    """
    factors = torch.randint(2**62, vectors.shape[1:], generator=torch.Generator().manual_seed(0)).to(vectors.device)
    marks = torch.cat([((some.float() * 2**12).round().long() * factors).sum(1) for some in vectors.split(PART)])
    order = favoured.byte().argsort(descending=True, stable=True)
    order = order[marks[order].argsort(stable=True)]
    steps = torch.arange(len(order), device=order.device)
    begins = torch.ones_like(steps)
    begins[1:] = marks[order].diff() != 0
    before = steps - (steps * begins).cummax(0).values
    return torch.empty_like(before).scatter_(0, order, before)


def found_in(folder: Path, name: str) -> Path:
    """Where a file of a folder's memory is: in its place, or still in that of a memory which takes over."""
    new = folder / NEXT / name
    return new if new.exists() else folder / name


def digest(path: Path) -> str:
    """Sixteen hexadecimal digits that change with a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def span_labels(
    sentences: Sequence[MemorySentence], labels: Sequence[str], max_width: int, given: bool = False
) -> SpanLabels:
    """The labels of all candidates of some sentences, or of the `given` ones, -1 for spans that were removed."""
    number = {label: i for i, label in enumerate(labels, start=1)}
    lengths = torch.tensor([len(one.words) for one in sentences], dtype=torch.long)
    entities = [[(first, stop, number[label]) for first, stop, label in one.entities] for one in sentences]
    if given:
        return SpanLabels.given(entities)
    found = SpanLabels.of(lengths, entities, max_width)
    gone = [(m, *place) for m, one in enumerate(sentences) for place in one.removed if place[1] - place[0] <= max_width]
    sentence, first, stop = torch.tensor(gone, dtype=torch.long).view(-1, 3).unbind(1)
    found.labels[found.starts[sentence] + number_of(first, stop, lengths[sentence], max_width)] = -1
    return found


def log_weights(sentences: Sequence[MemorySentence], max_width: int) -> Tensor:
    """The logarithms of how many times the spans of sentences count [N]."""
    lengths = torch.tensor([len(one.words) for one in sentences], dtype=torch.long)
    counts = how_many(lengths, max_width)
    found = torch.repeat_interleave(torch.tensor([math.log(one.weight) for one in sentences]), counts)
    heavier = [(m, a, b, math.log(times)) for m, one in enumerate(sentences) for a, b, times in one.heavier]
    if heavier:
        sentence, first, stop = torch.tensor([one[:3] for one in heavier]).unbind(1)
        rows = (counts.cumsum(0) - counts)[sentence] + number_of(first, stop, lengths[sentence], max_width)
        found[rows] += torch.tensor([one[3] for one in heavier])
    return found


def _lines(sentences: Iterable[MemorySentence]) -> Iterator[str]:
    return (json.dumps(one.to_dict(), ensure_ascii=False) + "\n" for one in sentences)


def _read(path: Path) -> list[MemorySentence]:
    found = []
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            found.append(MemorySentence.from_dict(json.loads(line)))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            said = f"no {error}" if isinstance(error, KeyError) else first_line(error)
            raise ModelError(f"{path}:{number} is damaged: {said}") from error
    return found


def _refuse_others(folder: Path, weights: str) -> None:
    """Refuse vectors that other weights have made, or that are of other sentences."""
    vectors, sentences = found_in(folder, VECTORS), found_in(folder, SENTENCES)
    made, expected = metadata_of(vectors), _made(weights, sentences)
    if expected.items() <= made.items():
        return
    if made.get("weights") != weights:
        wrong = f"{vectors} was made with other weights than this model's: it is the memory of another training"
    else:
        wrong = f"{sentences} is not as it was when {vectors.name} was made of it"
    raise ModelError(wrong)


def _advice(folder: Path) -> str:
    return (
        f"Put back the files that belong together, or delete {' and '.join(BASE)} and fill the memory anew with "
        f"`nearspan memory {folder} build CORPUS`"
    )


def _made(weights: str, sentences: Path) -> dict[str, str]:
    """What vectors were made of, as it stands beside them."""
    return {"weights": weights, "sentences": digest(sentences)}
