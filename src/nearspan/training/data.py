"""Training data: sentences with the entities that can be learned from them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import torch

from nearspan.config import Recipe
from nearspan.document import Document
from nearspan.errors import CorpusError
from nearspan.losses import GeneratorSettings, SpanTexts, SynonymSource
from nearspan.segment import Coverage, Fragments, LabelledSpan, Sentence, WordEntity
from nearspan.spans import GoldFragments, LabelledSentences, WordTarget


@dataclass(frozen=True)
class TrainingData:
    """Documents as labelled sentences, and what training makes of them."""

    documents: Sequence[Document]
    labelled: LabelledSentences

    @classmethod
    def of(cls, documents: Sequence[Document], recipe: Recipe, split: Callable[[Document], list[Sentence]]) -> Self:
        """Split documents and place their entities on words, or on pieces, as far as the recipe can reach them."""
        return cls(documents, recipe.build_suggester().label_sentences(documents, split, recipe.rules()))

    @property
    def sentences(self) -> list[Sentence]:
        """The sentences, very long ones in windows."""
        return self.labelled.sentences

    @property
    def entities(self) -> list[list[WordEntity]]:
        """The contiguous entities of each sentence."""
        return self.labelled.entities

    @property
    def discontinuous(self) -> list[list[LabelledSpan[str]]]:
        """The discontinuous entities of each sentence."""
        return self.labelled.discontinuous

    @property
    def coverage(self) -> Coverage:
        """What was read, and what could not be reached."""
        return self.labelled.coverage

    @cached_property
    def labels(self) -> list[str]:
        """The labels that occur, in order of the alphabet."""
        contiguous = {label for entities in self.entities for _, _, label in entities}
        return sorted(contiguous.union(gold.label for golds in self.discontinuous for gold in golds))

    @cached_property
    def lengths(self) -> list[int]:
        """The words of each sentence."""
        return [len(sentence) for sentence in self.sentences]

    def numbered_entities(self) -> list[list[WordTarget]]:
        """The contiguous entities of each sentence, with numbers for labels."""
        number = {label: i for i, label in enumerate(self.labels, start=1)}
        return [[(first, stop, number[label]) for first, stop, label in entities] for entities in self.entities]

    def gold_fragments(self, max_width: int) -> GoldFragments | None:
        """The fragments of discontinuous entities, where there are any."""
        if not any(self.discontinuous):
            return None
        return GoldFragments.of(torch.tensor(self.lengths), self.discontinuous, max_width)

    def span_texts(
        self, max_width: int, settings: GeneratorSettings | None, synonyms: SynonymSource | None
    ) -> SpanTexts | None:
        """What the entities say, where generators are to learn it."""
        if settings is None:
            return None
        lists = (self.sentences, self.entities, max_width, synonyms)
        return SpanTexts.from_corpus(*lists, settings.most, settings.longest)

    def word_spans(self) -> list[list[Fragments]]:
        """The entities' words, sentence by sentence."""
        return [
            [*(((first, stop),) for first, stop, _ in entities), *(gold.fragments for gold in golds)]
            for entities, golds in zip(self.entities, self.discontinuous, strict=True)
        ]


def digest(documents: Iterable[Document]) -> str:
    """A fingerprint of documents: texts, words, sentences and entities."""
    sha = hashlib.sha256()
    for document in documents:
        entities = sorted((entity.span.fragments, entity.label) for entity in document.entities)
        sha.update(json.dumps([document.text, document.words, document.sentences, entities]).encode())
    return sha.hexdigest()[:16]


def fingerprint(
    recipe: Recipe, data: TrainingData, dev: Iterable[Document], seed: int, texts: SpanTexts | None = None
) -> str:
    """What makes a run this run: settings, data, synonyms and seed; checkpoints and budgets of memory do not."""
    content = recipe.model_dump()
    content["training"].pop("checkpoint_minutes")
    for part in ("representation", "head"):
        content[part].pop("budget_mb", None)
    spoken = texts.fingerprint() if texts else ""
    parts = (json.dumps(content), digest(data.documents), digest(dev), str(seed), spoken)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def refuse_unwritable(split: str, documents: Iterable[Document]) -> None:
    """Refuse what no file can hold before a model is trained on it that could not be saved."""
    for number, document in enumerate(documents, start=1):
        try:
            "".join((document.text, document.id, *(entity.label for entity in document.entities))).encode("utf-8")
        except UnicodeEncodeError as error:
            character = f"U+{ord(error.object[error.start]):04X}"
            raise CorpusError(
                f"document {number} of {split} ({document.id!r}) holds the lone surrogate {character}, which is "
                "no character: put U+FFFD in its place"
            ) from None
