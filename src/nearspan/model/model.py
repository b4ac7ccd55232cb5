"""A trained system: annotate, remember, explain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import get_args

import torch
from torch import Tensor

from nearspan.config import Recipe
from nearspan.device import usable_device
from nearspan.document import Document, Entity, Span
from nearspan.encoders import EncodedCorpus, Encoder
from nearspan.errors import ConfigError, ModelError, NearspanError
from nearspan.explain import NULL, Evidence, Question, explain_candidate, explain_fragments
from nearspan.heads import NearestHead, NearestSettings
from nearspan.knn import Datastore, MemorySentence, assemble_datastore
from nearspan.knn.datastore import FILL
from nearspan.losses import Vocabulary
from nearspan.memory import Journal, Revision
from nearspan.model import folder
from nearspan.model import span_vectors as remembering
from nearspan.model.build import assemble
from nearspan.model.decode import Overlap, ScoredSpan, decode
from nearspan.model.given_spans import typed, with_spans
from nearspan.model.network import Network
from nearspan.model.sentence_windows import SentenceWindows, prepare
from nearspan.segment import Gold, Sentence, in_blocks
from nearspan.segment.windows import balanced
from nearspan.spans import Asked, LabelledSentences, Placed, WordEntity, WordSums
from nearspan.spans.string_majority import StringMajority

BLOCK = 50_000  # words that `annotate` reads at once, before it gives results
DOCUMENTS = 1_000  # the same where spans are given


class Model:
    """A network with its labels and its memory."""

    def __init__(
        self,
        recipe: Recipe,
        labels: Sequence[str],
        network: Network,
        overlap: Overlap,
        memory: Datastore | None = None,
        joined_overlap: Overlap = "any",
        strings: StringMajority | None = None,
    ) -> None:
        self.recipe = recipe
        self.labels = [NULL, *labels]
        self.network = network.eval()
        self.overlap = overlap
        self.joined_overlap = joined_overlap
        self.memory = memory  # after the network, which forgets what the memory has forgotten
        self.strings = strings  # of the training data, for a model that labels given spans
        transformer = network.encoder.transformer
        self.split = recipe.splitter(transformer.tokenizer if transformer is not None else None)

    @classmethod
    def from_corpus(
        cls,
        recipe: Recipe,
        train: Sequence[Sentence],
        labels: Sequence[str],
        others: Sequence[Sentence] = (),
        overlap: Overlap = "flat",
        vocabulary: Vocabulary | None = None,
        joined: Sequence[str] = (),
        joined_overlap: Overlap = "any",
        entities: Sequence[Sequence[WordEntity]] = (),
    ) -> Model:
        """An untrained model: vocabularies from the training sentences, fresh weights.

        `vocabulary` is generators'; `joined` are those of the labels that have discontinuous entities; `entities` are
        those of the training sentences, which only label vectors (`encoder.sentence_context`) need.
        """
        context = recipe.encoder.sentence_context
        if context is not None and context.pooling == "labels" and not any(entities):
            raise ConfigError(
                "label vectors begin as means over the contiguous entities of the training data, and there are none: "
                "set encoder.sentence_context.pooling to mean"
            )
        words = recipe.encoder.vectors
        if words is not None and not words.read and recipe.head.kind != "instances":
            raise ConfigError(
                "vectors that are not read (encoder.vectors.read=false) are for the instance head, which searches for "
                "similar sentences: leave that setting out, or set encoder.vectors=none"
            )
        encoder = Encoder.from_corpus(recipe.encoder, train, others, entities)
        numbers = [number for number, label in enumerate(labels, start=1) if label in joined]
        network = assemble(recipe, encoder, len(labels), vocabulary, numbers)
        return cls(recipe, labels, network, overlap, joined_overlap=joined_overlap)

    def save(self, path: Path | str, card: str = "") -> None:
        """Write the model as a folder; `card` becomes its README.md.

        A model that is there already goes with its memory, and with all edits of it that this one does not hold.
        """
        levels = (self.overlap, self.joined_overlap)
        saved = folder.Saved(self.recipe, self.labels[1:], self.network, *levels, self.memory, self.strings)
        folder.save(saved, Path(path), card)

    @classmethod
    def load(cls, path: Path | str, device: str = "", memory: bool = True) -> Model:
        """Read a model folder, with its memory as edits have left it or without. Nothing in the folder is run."""
        saved = folder.load(Path(path), memory)
        model = cls(saved.recipe, saved.labels, saved.network, saved.overlap, saved.memory, saved.joined, saved.strings)
        model.to(usable_device(device))
        if model.memory is not None and (edits := Journal(Path(path)).read()):
            try:
                base = model.memory
                revision = Revision.of(base.sentences, edits, model.remembered, base.forgotten)
                model.memory = model.revised(base, revision)
            except (NearspanError, ValueError, KeyError, TypeError) as error:
                raise ModelError(f"the edits of the memory in {path} cannot be made: {error}") from error
        return model

    @property
    def memory(self) -> Datastore | None:
        """The training spans that predictions rest on. What it has forgotten, the encoder recalls no more."""
        return self._memory

    @memory.setter
    def memory(self, memory: Datastore | None) -> None:
        self._memory = memory
        self._silence(memory.forgotten if memory is not None else frozenset())

    def _silence(self, forgotten: frozenset[int]) -> None:
        recall = self.network.encoder.word_memory
        if recall is not None:
            recall.silence(forgotten)

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        return self.network.device

    def to(self, device: torch.device | str) -> Model:
        """Move the network and the memory to a device."""
        self.network.to(device)
        self.memory = self.memory.to(device) if self.memory is not None else None
        return self

    @property
    def share(self) -> float:
        """The memory's share in what is decided: all with the instance head, with another what its vote has."""
        if isinstance(self.network.head, NearestHead):
            return 1.0
        return self.network.interpolation.weight if self.network.interpolation and self.memory is not None else 0.0

    def search(self, how: str) -> Model:
        """Reach into the memory another way from now on: `nearest` sentences or the `whole`."""
        head = self.network.head
        if not isinstance(head, NearestHead):
            raise ConfigError(
                f"only the instance head searches its memory; this model's head is {self.recipe.head.kind!r}"
            )
        known = get_args(NearestSettings.model_fields["search"].annotation)
        if how not in known:
            raise ConfigError(f"--search takes {' or '.join(known)}, found {how!r}")
        self.recipe = self.recipe.override([f"head.search={how}"])
        head.settings = head.settings.model_copy(update={"search": how})
        return self

    @property
    def typing(self) -> bool:
        """Whether this model labels spans that are given, rather than find entities."""
        return self.network.typing

    def vote(self, share: float, *settings: str) -> Model:
        """Let the memory have a share in what a head with weights decides from now on; 0: none.

        Further settings are as in a recipe: `model.vote(0.3, "neighbours=32", "temperature=0.05")`.
        """
        if share and self.memory is None:
            raise ModelError(f"this model has no memory that could vote: {FILL}")
        if isinstance(self.network.head, NearestHead):
            raise ConfigError("the instance head is a vote of the memory already; others can be given one")
        chosen = [f"vote.{one}" for one in (f"share={share}", *settings)] if share else ["interpolation=none"]
        self.recipe = self.recipe.override(chosen, "vote")
        self.network.interpolation = self.recipe.interpolation
        return self

    def annotate(self, documents: Iterable[Document | str]) -> Iterator[Document]:
        """The documents with the entities found, in order; reads on only as results are taken.

        A model for the typing task gives the entities that documents have new labels; those out of reach go.
        """
        if isinstance(documents, str | Document):
            raise TypeError("annotate takes several texts or documents: give it a list, annotate([text])")
        return self._retyped(documents) if self.typing else self._annotated(documents)

    def _annotated(self, documents: Iterable[Document | str]) -> Iterator[Document]:
        bare = (replace(_document(one), entities=()) for one in documents)
        for block in in_blocks(bare, self.split, BLOCK):
            every = [sentence for _, sentences in block for sentence in sentences]
            runs = balanced(list(map(len, every)), BLOCK)  # several where a document is very long
            found = chain.from_iterable(self.entities(self.read(every[first:stop])) for first, stop in runs)
            for document, sentences in block:
                yield document.with_entities(entity for _ in sentences for entity in next(found))

    def _retyped(self, documents: Iterable[Document | str]) -> Iterator[Document]:
        documents = iter(documents)
        while block := [with_spans(_checked(one)) for one in islice(documents, DOCUMENTS)]:
            found: list[list[Entity]] = [[] for _ in block]
            asked = self.asked(block)
            for (document, _), entity in zip(asked.placed.entities, self.types(asked), strict=True):
                found[document].append(entity)
            for one, entities in zip(block, found, strict=True):
                yield one.with_entities(dict.fromkeys(entities))

    def asked(self, documents: Sequence[Document]) -> Asked:
        """The entities of documents as spans that are given, for `types`."""
        placed = Placed.of(documents, self.split, self.network.max_width)
        return Asked.of(placed, self.prepare(placed.sentences))

    @torch.inference_mode()
    def types(self, asked: Asked) -> list[Entity]:
        """The entities that were asked about with the labels that this model gives their spans, and how likely."""
        return typed(self.network, self.memory, self.labels, asked)

    def read(self, sentences: Sequence[Sentence]) -> SentenceWindows:
        """Sentences as tensors on the model's device, very long ones in windows."""
        return SentenceWindows.of(self.network, sentences)

    def prepare(
        self,
        sentences: Sequence[Sentence],
        entities: Sequence[Sequence[WordEntity]] | None = None,
        training: bool = False,
    ) -> EncodedCorpus:
        """Sentences as tensors on the model's device, as they are; `training`: the very ones it has learned from.

        For typing their entities are the given spans.
        """
        return prepare(self.network, sentences, entities, training)

    def entities(self, given: SentenceWindows) -> list[list[Entity]]:
        """The entities of each sentence, in the characters of its document."""
        return self.decoded(given, self.guesses(given.prepared))

    def decoded(self, given: SentenceWindows, by_part: Sequence[Sequence[ScoredSpan]]) -> list[list[Entity]]:
        """The same from guesses for each part."""
        return [
            [
                Entity(sentence.joined(guess.fragments), self.labels[guess.label], guess.score)
                for guess in decode(guesses, self.overlap, self.joined_overlap)
            ]
            for sentence, guesses in zip(given.sentences, given.guesses(by_part), strict=True)
        ]

    @torch.inference_mode()
    def guesses(self, prepared: EncodedCorpus) -> list[list[ScoredSpan]]:
        """For each sentence what may be entities, before `decode` chooses."""
        found: list[list[ScoredSpan]] = [[] for _ in range(len(prepared))]
        self.network.eval()
        for ids in prepared.order(self.device):
            for sentence, own in zip(ids.tolist(), self.network.guesses(prepared.batch(ids), self.memory), strict=True):
                found[sentence] = own
        return found

    def remember(
        self,
        sentences: Sequence[Sentence],
        entities: Sequence[Sequence[WordEntity]],
        prepared: EncodedCorpus | None = None,
        discontinuous: Sequence[Sequence[Gold]] = (),
    ) -> Datastore:
        """Fill the memory with all spans of labelled sentences, as the network sees them now."""
        kept = remembering.kept(sentences, entities, discontinuous)
        found = self.vectors(prepared or self.prepare(sentences, entities))
        memory = Datastore.of(kept, self.labels[1:], self.network.max_width, *found, given=self.typing)
        if self.memory is not None:  # forgotten for good
            memory = replace(memory, forgotten=self.memory.forgotten)
        self.memory = memory
        return memory

    def labelled(self, documents: Iterable[Document]) -> LabelledSentences:
        """Documents as this model reads and remembers them."""
        head, joining, width = self.recipe.head, self.network.fragment_linker is not None, self.network.max_width
        if self.typing:
            return LabelledSentences.given(documents, self.split, width)
        return LabelledSentences.of(documents, self.split, width, head.multilabel, joining, head.tags_words)

    def remembered(self, document: Document) -> list[MemorySentence]:
        """The sentences of a document as the memory would keep them."""
        found = self.labelled([document])
        return remembering.kept(found.sentences, found.entities, found.discontinuous)

    def revised(self, memory: Datastore, revision: Revision) -> Datastore:
        """A memory after edits: vectors are taken from `memory`, those of added documents are computed.

        They are computed again where something else is forgotten, so that they are the same whenever that was.
        """
        self._silence(revision.forgotten)
        try:
            sources = remembering.sources(self.network, self.labels[1:], memory, revision, self.labelled)
        finally:  # at once: others may be reading with this model
            self._silence(self.memory.forgotten if self.memory is not None else frozenset())
        return replace(assemble_datastore(sources, revision.sentences, self.labels[1:]), forgotten=revision.forgotten)

    def refresh(self, prepared: EncodedCorpus) -> None:
        """Compute the memory's vectors again after the weights have changed."""
        if self.memory is not None:
            self.memory = self.memory.with_vectors(*self.vectors(prepared))

    def vectors(self, prepared: EncodedCorpus) -> tuple[Tensor | WordSums, Tensor]:
        """Vectors of all candidate spans [N, H] or of their words, and unit vectors [M, E] of all sentences."""
        return remembering.corpus_vectors(self.network, prepared)

    def explain(self, document: Document | str, count: int = 5) -> list[Evidence]:
        """For each entity found in a text, the training spans it rests on.

        Where spans are given, the label of a discontinuous entity rests on each of its fragments: they come one by one.
        """
        (annotated,) = self.annotate([document])
        return self.evidence(annotated, count)

    def evidence(self, annotated: Document, count: int = 5) -> list[Evidence]:
        """As `explain`, of a document that `annotate` gave."""
        sentences = self.split(annotated)
        return [
            self._evidence(sentences, span, span.text(annotated.text), count, entity.label)
            for entity in annotated.entities
            for span in (_fragments(entity.span) if self.typing else [entity.span])
        ]

    def neighbours(self, document: Document | str, span: Span, count: int = 5) -> Evidence:
        """What a span of a text is near to, whether it was predicted or not."""
        asked = _document(document)
        return self._evidence(self.split(asked), span, span.text(asked.text), count)

    @torch.inference_mode()
    def _evidence(
        self, sentences: Sequence[Sentence], span: Span, text: str, count: int, label: str | None = None
    ) -> Evidence:
        if count < 1:
            raise ConfigError(f"there is no listing {count} neighbours: ask for one at least")
        memory = self.memory  # an editor may put another in its place at any time
        if memory is None or not len(memory):
            raise ModelError(f"this model has no memory to take evidence from: {FILL}")
        asked = Question.of(self.network, sentences, span, text)
        network = self.network.eval()
        if span.discontinuous and network.fragment_linker is not None:
            return explain_fragments(network, network.fragment_linker, memory, self.labels, asked, count, label)
        return explain_candidate(network, memory, self.labels, asked, count, label)


def _fragments(span: Span) -> list[Span]:
    return [Span.of(start, end) for start, end in span.fragments]


def _document(given: Document | str) -> Document:
    given = _checked(given)
    return Document(given) if isinstance(given, str) else given


def _checked(given: Document | str) -> Document | str:
    if not isinstance(given, str | Document):
        raise TypeError(f"expected a text (str) or a Document, found {type(given).__name__}: {repr(given)[:80]}")
    return given
