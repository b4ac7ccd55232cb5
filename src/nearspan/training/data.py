"""Training data: sentences with the entities that can be learned from them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from nearspan.config import Recipe
from nearspan.document import Document
from nearspan.errors import CorpusError
from nearspan.heads import tags_of
from nearspan.losses import GeneratorSettings, SpanTexts, SynonymSource
from nearspan.model.decode import Fragments
from nearspan.segment import Coverage, Gold, Sentence
from nearspan.spans import GoldFragments, LabelledSentences, SpanLabels, WordEntity, WordTarget


@dataclass(frozen=True)
class TrainingData:
    """Sentences (very long ones in windows), their entities, and what could not be reached."""

    documents: Sequence[Document]
    sentences: list[Sentence]
    entities: list[list[WordEntity]]
    discontinuous: list[list[Gold]]
    coverage: Coverage

    @classmethod
    def of(
        cls,
        documents: Sequence[Document],
        split: Callable[[Document], list[Sentence]],
        max_width: int,
        multilabel: bool = False,
        joining: bool = False,
        tagged: bool = False,
    ) -> TrainingData:
        """Split documents and place their entities on words, or on pieces; see `reach` for what is kept of them."""
        found = LabelledSentences.of(documents, split, max_width, multilabel, joining, tagged)
        return cls(documents, found.sentences, found.entities, found.discontinuous, found.coverage)

    @cached_property
    def labels(self) -> list[str]:
        """The labels that occur, in order of the alphabet."""
        contiguous = {label for found in self.entities for _, _, label in found}
        return sorted(contiguous.union(gold.label for found in self.discontinuous for gold in found))

    @classmethod
    def given(
        cls, documents: Sequence[Document], split: Callable[[Document], list[Sentence]], max_width: int
    ) -> TrainingData:
        """The same for the typing task; as for `LabelledSentences`."""
        found = LabelledSentences.given(documents, split, max_width)
        return cls(documents, found.sentences, found.entities, found.discontinuous, found.coverage)

    def given_labels(self) -> SpanLabels:
        """The labels of the entities' spans, where these are the candidates."""
        return SpanLabels.given(self._numbered())

    def span_labels(self, max_width: int) -> SpanLabels:
        """The labels of every candidate; 0 is null."""
        lengths = torch.tensor([len(sentence) for sentence in self.sentences])
        return SpanLabels.of(lengths, self._numbered(), max_width)

    def word_tags(self) -> Tensor:
        """The BIOES tag of every word [R]; entities must not share words."""
        return tags_of([len(sentence) for sentence in self.sentences], self._numbered())

    def _numbered(self) -> list[list[WordTarget]]:
        number = {label: i for i, label in enumerate(self.labels, start=1)}
        return [[(first, stop, number[label]) for first, stop, label in own] for own in self.entities]

    def gold_fragments(self, max_width: int) -> GoldFragments | None:
        """The fragments of discontinuous entities, where there are any."""
        if not any(self.discontinuous):
            return None
        lengths = torch.tensor([len(sentence) for sentence in self.sentences])
        return GoldFragments.of(lengths, self.discontinuous, max_width)

    def span_texts(
        self, max_width: int, settings: GeneratorSettings | None, synonyms: SynonymSource | None
    ) -> SpanTexts | None:
        """What the entities say, where generators are to learn it."""
        if settings is None:
            return None
        return SpanTexts.from_corpus(
            self.sentences, self.entities, max_width, synonyms, settings.most, settings.longest
        )

    def word_spans(self) -> list[list[Fragments]]:
        """The entities' words, sentence by sentence."""
        return [
            [*(((first, stop),) for first, stop, _ in found), *(gold.fragments for gold in broken)]
            for found, broken in zip(self.entities, self.discontinuous, strict=True)
        ]

    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that change with the texts or the annotation."""
        return digest(self.documents)


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
    told = texts.fingerprint() if texts else ""
    parts = (json.dumps(content), data.fingerprint(), digest(dev), str(seed), told)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def refuse_unwritable(split: str, documents: Iterable[Document]) -> None:
    """Refuse what no file can hold before a model is trained on it that could not be saved."""
    for number, document in enumerate(documents, start=1):
        try:
            "".join((document.text, document.id, *(entity.label for entity in document.entities))).encode("utf-8")
        except UnicodeEncodeError as error:
            found = f"U+{ord(error.object[error.start]):04X}"
            raise CorpusError(
                f"document {number} of {split} ({document.id!r}) holds the lone surrogate {found}, which is "
                "no character: put U+FFFD in its place"
            ) from None
