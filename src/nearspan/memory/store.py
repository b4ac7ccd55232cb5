"""The memory: training spans with their vectors, labels and where they came from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from nearspan.document import Fragment, Span
from nearspan.errors import ModelError
from nearspan.spans import SpanLabels, enumerate_spans, how_many

SENTENCES, VECTORS = "memory.jsonl", "memory.safetensors"


@dataclass(frozen=True, slots=True)
class Remembered:
    """A training sentence: its text, its words in it, and its entities over those words."""

    document: str
    number: int  # position in the document
    text: str
    words: tuple[Fragment, ...]
    entities: tuple[tuple[int, int, str], ...]  # first word, stop, label

    def span(self, first: int, stop: int) -> Span:
        """The characters of words `first` to `stop`, half-open."""
        return Span.of(self.words[first][0], self.words[stop - 1][1])

    def as_dict(self) -> dict[str, Any]:
        """One line of `memory.jsonl`."""
        return {
            "document": self.document,
            "number": self.number,
            "text": self.text,
            "words": self.words,
            "entities": self.entities,
        }

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> Remembered:
        """Read one line of `memory.jsonl`."""
        words = tuple((int(a), int(b)) for a, b in found["words"])
        entities = tuple((int(a), int(b), str(label)) for a, b, label in found["entities"])
        for first, stop, label in entities:
            if not 0 <= first < stop <= len(words):
                raise ValueError(f"the {label} over words {first} to {stop} is outside its sentence of {len(words)}")
        return cls(str(found["document"]), int(found["number"]), str(found["text"]), words, entities)


@dataclass(frozen=True)
class Memory:
    """N training spans, null ones included, sentence after sentence.

    Rows of sentence m are `starts[m]` to `starts[m] + counts[m]`, in the order of `enumerate_spans`.
    """

    sentences: Sequence[Remembered]
    max_width: int
    vectors: Tensor  # [N, H]
    labels: Tensor  # [N] 0 is null
    sentence_vectors: Tensor  # [M, E] of length 1
    sentence: Tensor  # [N] which sentence a span is of
    first: Tensor  # [N]
    stop: Tensor  # [N]
    starts: Tensor  # [M]
    counts: Tensor  # [M]

    @classmethod
    def of(
        cls,
        sentences: Sequence[Remembered],
        labels: Sequence[str],
        max_width: int,
        vectors: Tensor,
        sentence_vectors: Tensor,
    ) -> Memory:
        """Put a memory together; `vectors` are those of `enumerate_spans` over the sentences."""
        lengths = torch.tensor([len(one.words) for one in sentences], dtype=torch.long)
        counts = how_many(lengths, max_width)
        if int(counts.sum()) != len(vectors) or len(sentences) != len(sentence_vectors):
            raise ModelError(
                f"the memory holds {len(vectors)} span vectors and {len(sentence_vectors)} sentence vectors where its "
                f"{len(sentences)} sentences have {int(counts.sum())} spans: build it again"
            )
        number = {label: i for i, label in enumerate(labels, start=1)}
        entities = [[(first, stop, number[label]) for first, stop, label in one.entities] for one in sentences]
        spans = enumerate_spans(lengths, max_width)
        table = SpanLabels.of(lengths, entities, max_width)
        device = vectors.device
        return cls(
            sentences,
            max_width,
            vectors,
            table.labels.to(device),
            sentence_vectors,
            *(tensor.to(device) for tensor in (spans.sentence, spans.first, spans.stop, table.starts, counts)),
        )

    def __len__(self) -> int:
        return len(self.labels)

    def to(self, device: torch.device | str) -> Memory:
        """The same memory on a device."""
        moved: dict[str, Any] = {
            field.name: value.to(device)
            for field in fields(self)
            if isinstance(value := getattr(self, field.name), Tensor)
        }
        return replace(self, **moved)

    def save(self, folder: Path) -> None:
        """Write the sentences as JSON lines and the vectors as safetensors."""
        with (folder / SENTENCES).open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(_lines(self.sentences))
        tensors = {"vectors": self.vectors, "sentence_vectors": self.sentence_vectors}
        save_file({name: tensor.cpu().contiguous() for name, tensor in tensors.items()}, folder / VECTORS)

    @classmethod
    def load(cls, folder: Path, labels: Sequence[str], max_width: int) -> Memory:
        """Read what `save` wrote."""
        try:
            with (folder / SENTENCES).open(encoding="utf-8") as file:
                sentences = [Remembered.from_dict(json.loads(line)) for line in file]
            tensors = load_file(folder / VECTORS)
            return cls.of(sentences, labels, max_width, tensors["vectors"], tensors["sentence_vectors"])
        except (OSError, SafetensorError, ValueError, KeyError, TypeError, IndexError) as error:
            raise ModelError(f"the memory in {folder} is damaged: {error}") from error


def _lines(sentences: Iterable[Remembered]) -> Iterator[str]:
    return (json.dumps(one.as_dict(), ensure_ascii=False) + "\n" for one in sentences)
