"""Training data: sentences with the entities that can be learned from them."""

import hashlib
import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Self

import torch

from nearspan.config import Recipe
from nearspan.document import Document
from nearspan.errors import CorpusError
from nearspan.losses import SpanTexts, SynonymSource
from nearspan.segment import Coverage, Fragments, LabelledSpan, Sentence, contiguous
from nearspan.spans import GoldFragments, LabelledSentences
from nearspan.training.episodes import Episodes


@dataclass(frozen=True)
class TrainingData:
    """Documents as labelled sentences, and what training makes of them."""

    documents: Sequence[Document]
    sentences: list[Sentence]  # very long ones in windows
    entities: list[list[LabelledSpan[str]]]  # of each sentence
    coverage: Coverage  # what was read, and what could not be reached
    fragments: GoldFragments | None  # of discontinuous entities, where there are any
    texts: SpanTexts | None  # what the entities say, where generators are to learn it
    episodes: Episodes  # which sentences an epoch reads, and which are compared
    known_labels: Sequence[str] = ()  # those of the model that a warm start begins with, in its order

    @classmethod
    def of(
        cls,
        documents: Sequence[Document],
        recipe: Recipe,
        split: Callable[[Document], list[Sentence]],
        synonyms: SynonymSource | None = None,
        corpora: Sequence[int] = (),
    ) -> Self:
        """Split documents and place their entities on words, or on pieces, as far as the recipe can reach them.

        Of several `corpora` that are learned apart these are the numbers of documents, one corpus after the other.
        """
        labelled = recipe.build_suggester().label_sentences(documents, split, recipe.rules())
        sentences, entities = labelled.sentences, labelled.entities
        widest, generators = recipe.suggester.max_width, recipe.losses.generators
        fragments = texts = None
        if any(gold.discontinuous for of_sentence in entities for gold in of_sentence):
            fragments = GoldFragments.of(torch.tensor([len(sentence) for sentence in sentences]), entities, widest)
        if generators is not None:
            limits = (widest, synonyms, generators.most, generators.longest)
            texts = SpanTexts.from_corpus(sentences, entities, *limits)
        episodes = Episodes(_corpus_sentences(documents, sentences, corpora))
        return cls(documents, sentences, entities, labelled.coverage, fragments, texts, episodes)

    @property
    def labelled_sentences(self) -> LabelledSentences:
        """The sentences as a datastore is built from them."""
        return LabelledSentences(self.sentences, self.entities, self.coverage)

    @cached_property
    def labels(self) -> list[str]:
        """The labels that occur, in order of the alphabet; after those of the model that training begins with."""
        occurring = {gold.label for of_sentence in self.entities for gold in of_sentence}
        return [*self.known_labels, *sorted(occurring.difference(self.known_labels))]

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


def _corpus_sentences(
    documents: Sequence[Document], sentences: Sequence[Sentence], corpora: Sequence[int]
) -> list[range]:
    """The sentences of each corpus, given how many of the documents each has."""
    corpus_of = {id(document): 0 for document in documents}
    stops = list(accumulate(corpora))
    for number, (start, stop) in enumerate(pairwise([0, *stops])):
        corpus_of |= {id(document): number for document in documents[start:stop]}
    numbers = [corpus_of[id(sentence.document)] for sentence in sentences]
    edges = [bisect_left(numbers, corpus) for corpus in range(max(1, len(corpora)) + 1)]
    return [range(start, stop) for start, stop in pairwise(edges)]


def digest(documents: Iterable[Document]) -> str:
    """A fingerprint of documents: texts, words, sentences and entities."""
    sha = hashlib.sha256()
    for document in documents:
        entities = sorted((entity.span.fragments, entity.label) for entity in document.entities)
        sha.update(json.dumps([document.text, document.words, document.sentences, entities]).encode())
    return sha.hexdigest()[:16]


def fingerprint(recipe: Recipe, data: TrainingData, dev: Iterable[Document], seed: int, origin: str = "") -> str:
    """What makes a run this run: settings, data, synonyms, seed, and the weights that it begins with, its `origin`.

    Checkpoints and budgets of memory do not.
    """
    content = recipe.model_dump()
    content["training"].pop("checkpoint_minutes")
    for part in ("representation", "head"):
        content[part].pop("budget_mb", None)
    spoken = data.texts.fingerprint() if data.texts else ""
    parts = (json.dumps(content), digest(data.documents), digest(dev), str(seed), spoken, *([origin] if origin else []))
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
