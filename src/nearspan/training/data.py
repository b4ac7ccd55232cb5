"""Training data: sentences with the entities that can be learned from them."""

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
from nearspan.losses import SpanTexts, SynonymSource
from nearspan.segment import Coverage, Fragments, LabelledSpan, Sentence, contiguous
from nearspan.spans import GoldFragments, LabelledSentences


@dataclass(frozen=True)
class TrainingData:
    """Documents as labelled sentences, and what training makes of them."""

    documents: Sequence[Document]
    sentences: list[Sentence]  # very long ones in windows
    entities: list[list[LabelledSpan[str]]]  # of each sentence
    coverage: Coverage  # what was read, and what could not be reached
    fragments: GoldFragments | None  # of discontinuous entities, where there are any
    texts: SpanTexts | None  # what the entities say, where generators are to learn it

    @classmethod
    def of(
        cls,
        documents: Sequence[Document],
        recipe: Recipe,
        split: Callable[[Document], list[Sentence]],
        synonyms: SynonymSource | None = None,
    ) -> Self:
        """Split documents and place their entities on words, or on pieces, as far as the recipe can reach them."""
        labelled = recipe.build_suggester().label_sentences(documents, split, recipe.rules())
        sentences, entities = labelled.sentences, labelled.entities
        widest, generators = recipe.suggester.max_width, recipe.losses.generators
        fragments = texts = None
        if any(gold.discontinuous for of_sentence in entities for gold in of_sentence):
            fragments = GoldFragments.of(torch.tensor([len(sentence) for sentence in sentences]), entities, widest)
        if generators is not None:
            limits = (widest, synonyms, generators.most, generators.longest)
            texts = SpanTexts.from_corpus(sentences, entities, *limits)
        return cls(documents, sentences, entities, labelled.coverage, fragments, texts)

    @property
    def labelled_sentences(self) -> LabelledSentences:
        """The sentences as a datastore is built from them."""
        return LabelledSentences(self.sentences, self.entities, self.coverage)

    @cached_property
    def labels(self) -> list[str]:
        """The labels that occur, in order of the alphabet."""
        return sorted({gold.label for of_sentence in self.entities for gold in of_sentence})

    @cached_property
    def lengths(self) -> list[int]:
        """The words of each sentence."""
        return [len(sentence) for sentence in self.sentences]

    def numbered_entities(self) -> list[list[LabelledSpan[int]]]:
        """The contiguous entities of each sentence, with numbers for labels."""
        number = {label: i for i, label in enumerate(self.labels, start=1)}
        return [
            [LabelledSpan(gold.fragments, number[gold.label]) for gold in contiguous(of_sentence)]
            for of_sentence in self.entities
        ]

    def word_spans(self) -> list[list[Fragments]]:
        """The entities' words, sentence by sentence."""
        return [[gold.fragments for gold in of_sentence] for of_sentence in self.entities]


def digest(documents: Iterable[Document]) -> str:
    """A fingerprint of documents: texts, words, sentences and entities."""
    sha = hashlib.sha256()
    for document in documents:
        entities = sorted((entity.span.fragments, entity.label) for entity in document.entities)
        sha.update(json.dumps([document.text, document.words, document.sentences, entities]).encode())
    return sha.hexdigest()[:16]


def fingerprint(recipe: Recipe, data: TrainingData, dev: Iterable[Document], seed: int) -> str:
    """What makes a run this run: settings, data, synonyms and seed; checkpoints and budgets of memory do not."""
    content = recipe.model_dump()
    content["training"].pop("checkpoint_minutes")
    for part in ("representation", "head"):
        content[part].pop("budget_mb", None)
    spoken = data.texts.fingerprint() if data.texts else ""
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
