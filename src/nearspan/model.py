"""A trained system: annotate, remember, explain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor

from nearspan import folder
from nearspan.assembly import assemble
from nearspan.decoding import Guess, Overlap, decode
from nearspan.document import Document, Entity, Span
from nearspan.encoders import Encoder, Given, Prepared, Splitter
from nearspan.errors import ConfigError, ModelError, NearspanError
from nearspan.evidence import NULL, Evidence, Question, explain_candidate, explain_fragments
from nearspan.heads import Instances
from nearspan.memory import Journal, Memory, Remembered, Revision, gathered
from nearspan.network import Network
from nearspan.objectives import Vocabulary
from nearspan.recipes import Recipe
from nearspan.remembering import corpus_vectors
from nearspan.spans import Asked, LabelledSentences, Placed, WordEntity, WordSums
from nearspan.strings import StringMajority
from nearspan.text import Gold, Sentence
from nearspan.text.reading import Reading, readings

BLOCK = 50_000  # words that `annotate` reads before it gives results
DOCUMENTS = 1_000  # the same where spans are given


@dataclass(frozen=True)
class Input:
    """Sentences, the parts they are read in, and these parts as tensors."""

    sentences: Sequence[Sentence]
    parts: Sequence[Reading]
    prepared: Prepared


class Model:
    """A network with its labels and its memory."""

    def __init__(
        self,
        recipe: Recipe,
        labels: Sequence[str],
        network: Network,
        overlap: Overlap,
        memory: Memory | None = None,
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
    def learn(
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
        those of the training sentences, which only label vectors (`encoder.context`) need.
        """
        context = recipe.encoder.context
        if context is not None and context.pooling == "labels" and not any(entities):
            raise ConfigError(
                "label vectors begin as means over the contiguous entities of the training data, and there are none: "
                "set encoder.context.pooling to mean"
            )
        encoder = Encoder.learn(recipe.encoder, train, others, entities)
        numbers = [number for number, label in enumerate(labels, start=1) if label in joined]
        network = assemble(recipe, encoder, len(labels), vocabulary, numbers)
        return cls(recipe, labels, network, overlap, joined_overlap=joined_overlap)

    def save(self, path: Path | str, card: str = "") -> None:
        """Write the model as a folder; `card` becomes its README.md."""
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
    def memory(self) -> Memory | None:
        """The training spans that predictions rest on. What it has forgotten, the encoder recalls no more."""
        return self._memory

    @memory.setter
    def memory(self, memory: Memory | None) -> None:
        self._memory = memory
        self._silence(memory.forgotten if memory is not None else frozenset())

    def _silence(self, forgotten: frozenset[int]) -> None:
        recall = self.network.encoder.recall
        if recall is not None:
            recall.silence(forgotten)

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        return next(self.network.parameters()).device

    def to(self, device: torch.device | str) -> Model:
        """Move the network and the memory to a device."""
        self.network.to(device)
        self.memory = self.memory.to(device) if self.memory is not None else None
        return self

    @property
    def share(self) -> float:
        """The memory's share in what is decided: all with the instance head, with another what its vote has."""
        if isinstance(self.network.head, Instances):
            return 1.0
        return self.network.vote.share if self.network.vote and self.memory is not None else 0.0

    def search(self, how: str) -> Model:
        """Reach into the memory another way from now on: `nearest` sentences or the `whole`."""
        head = self.network.head
        if not isinstance(head, Instances):
            raise ConfigError(
                f"only the instance head searches its memory; this model's head is {self.recipe.head.kind!r}"
            )
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
            raise ModelError("this model has no memory that could vote: fill one with `nearspan memory MODEL build`")
        if isinstance(self.network.head, Instances):
            raise ConfigError("the instance head is a vote of the memory already; others can be given one")
        chosen = [f"vote.{one}" for one in (f"share={share}", *settings)] if share else ["vote=none"]
        self.recipe = self.recipe.override(chosen, "vote")
        self.network.vote = self.recipe.vote
        return self

    def annotate(self, documents: Iterable[Document | str]) -> Iterator[Document]:
        """The documents with the entities found, in order; reads on only as results are taken.

        A model for the typing task gives the entities that documents have new labels; those out of reach go.
        """
        if self.typing:
            yield from self._retyped(documents)
            return
        for block in _blocks(documents, self.split):
            found = iter(self.entities(self.read([sentence for _, sentences in block for sentence in sentences])))
            for document, sentences in block:
                yield document.with_entities(entity for _ in sentences for entity in next(found))

    def _retyped(self, documents: Iterable[Document | str]) -> Iterator[Document]:
        documents = iter(documents)
        while block := [_with_spans(one) for one in islice(documents, DOCUMENTS)]:
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
        entities = asked.placed.entities
        if not entities:
            return []
        labels, scores = asked.told(self.probabilities(asked.prepared))
        pairs = zip(entities, labels, scores, strict=True)
        return [Entity(entity.span, self.labels[label], score) for (_, entity), label, score in pairs]

    @torch.inference_mode()
    def probabilities(self, prepared: Prepared) -> Tensor:
        """P(y|s) [N, 1 + Y] of the spans that sentences are given with, in their order."""
        given = prepared.given
        if given is None:
            raise ValueError("the sentences are not given with spans")
        found = torch.empty(len(given.first), len(self.labels), device=self.device)
        self.network.eval()
        for ids in prepared.order(self.device):
            some, candidates = self.network.probabilities(prepared.batch(ids), self.memory)
            starts = given.starts[ids].to(self.device)
            found[starts[candidates.sentence] + candidates.number] = some
        return found

    def read(self, sentences: Sequence[Sentence]) -> Input:
        """Sentences as tensors on the model's device, very long ones in windows."""
        parts = [part for sentence in sentences for part in readings(sentence, self.network.max_width)]
        return Input(sentences, parts, self.prepare([part.sentence for part in parts]))

    def prepare(
        self,
        sentences: Sequence[Sentence],
        entities: Sequence[Sequence[WordEntity]] | None = None,
        training: bool = False,
    ) -> Prepared:
        """Sentences as tensors on the model's device, as they are; `training`: the very ones it has learned from.

        For typing their entities are the given spans.
        """
        prepared = self.network.encoder.prepare(sentences, training)
        if self.typing and entities is not None:
            prepared = replace(prepared, given=Given.of([[entity[:2] for entity in own] for own in entities]))
        return prepared.to(self.device)

    def entities(self, given: Input) -> list[list[Entity]]:
        """The entities of each sentence, in the characters of its document."""
        return self.decoded(given, self.guesses(given.prepared))

    def decoded(self, given: Input, by_part: Sequence[Sequence[Guess]]) -> list[list[Entity]]:
        """The same from guesses for each part."""
        guesses = iter(zip(given.parts, by_part, strict=True))
        found = []
        for sentence in given.sentences:
            mine = [
                guess.shifted(part.start)
                for part, some in islice(guesses, len(readings(sentence, self.network.max_width)))
                for guess in some
                if part.owns(guess.first)
            ]
            found.append(
                [
                    Entity(sentence.joined(guess.fragments), self.labels[guess.label], guess.score)
                    for guess in decode(_whole(sentence, mine), self.overlap, self.joined_overlap)
                ]
            )
        return found

    @torch.inference_mode()
    def guesses(self, prepared: Prepared) -> list[list[Guess]]:
        """For each sentence what may be entities, before `decode` chooses."""
        found: list[list[Guess]] = [[] for _ in range(len(prepared))]
        self.network.eval()
        for ids in prepared.order(self.device):
            for sentence, own in zip(ids.tolist(), self.network.guesses(prepared.batch(ids), self.memory), strict=True):
                found[sentence] = own
        return found

    def remember(
        self,
        sentences: Sequence[Sentence],
        entities: Sequence[Sequence[WordEntity]],
        prepared: Prepared | None = None,
        discontinuous: Sequence[Sequence[Gold]] = (),
    ) -> Memory:
        """Fill the memory with all spans of labelled sentences, as the network sees them now."""
        broken = discontinuous or [()] * len(sentences)
        kept = [remembered(*one) for one in zip(sentences, entities, broken, strict=True)]
        found = self.vectors(prepared or self.prepare(sentences, entities))
        memory = Memory.of(kept, self.labels[1:], self.network.max_width, *found, given=self.typing)
        if self.memory is not None:  # forgotten for good
            memory = replace(memory, forgotten=self.memory.forgotten)
        self.memory = memory
        return memory

    def labelled(self, documents: Iterable[Document]) -> LabelledSentences:
        """Documents as this model reads and remembers them."""
        head, joining, width = self.recipe.head, self.network.joiner is not None, self.network.max_width
        if self.typing:
            return LabelledSentences.given(documents, self.split, width)
        return LabelledSentences.of(documents, self.split, width, head.multilabel, joining, head.tags_words)

    def remembered(self, document: Document) -> list[Remembered]:
        """The sentences of a document as the memory would keep them."""
        return _kept(self.labelled([document]))

    def revised(self, memory: Memory, revision: Revision) -> Memory:
        """A memory after edits: vectors are taken from `memory`, those of added documents are computed.

        They are computed again where something else is forgotten, so that they are the same whenever that was.
        """
        known, sources = set(memory.ids) if memory.forgotten == revision.forgotten else set(), [memory]
        self._silence(revision.forgotten)
        try:
            for first, document in revision.added.items():
                found = self.labelled([document])
                ids = range(first, first + len(found.sentences))
                if any(number in revision.sentences and number not in known for number in ids):
                    vectors = self.vectors(self.prepare(found.sentences))
                    fresh = Memory.of(_kept(found), self.labels[1:], self.network.max_width, *vectors, ids)
                    sources.append(fresh)
        finally:
            self._silence(self.memory.forgotten if self.memory is not None else frozenset())
        return replace(gathered(sources, revision.sentences, self.labels[1:]), forgotten=revision.forgotten)

    def refresh(self, prepared: Prepared) -> None:
        """Compute the memory's vectors again after the weights have changed."""
        if self.memory is not None:
            self.memory = self.memory.with_vectors(*self.vectors(prepared))

    def vectors(self, prepared: Prepared) -> tuple[Tensor | WordSums, Tensor]:
        """Vectors of all candidate spans [N, H] or of their words, and unit vectors [M, E] of all sentences."""
        return corpus_vectors(self.network, prepared)

    def explain(self, document: Document | str, count: int = 5) -> list[Evidence]:
        """For each entity found in a text, the training spans it rests on.

        Where spans are given, the label of a discontinuous entity rests on each of its fragments: they come one by one.
        """
        (annotated,) = self.annotate([document])
        return self.evidence(annotated, count)

    def evidence(self, annotated: Document, count: int = 5) -> list[Evidence]:
        """As `explain`, of a document that `annotate` gave."""
        return [
            self._evidence(annotated, span, count, entity.label)
            for entity in annotated.entities
            for span in (_fragments(entity.span) if self.typing else [entity.span])
        ]

    def neighbours(self, document: Document | str, span: Span, count: int = 5) -> Evidence:
        """What a span of a text is near to, whether it was predicted or not."""
        return self._evidence(_document(document), span, count)

    @torch.inference_mode()
    def _evidence(self, document: Document, span: Span, count: int, label: str | None = None) -> Evidence:
        memory = self.memory  # an editor may put another in its place at any time
        if memory is None or not len(memory):
            raise ModelError("this model has no memory to take evidence from: fill it with Model.remember")
        joiner = self.network.joiner
        if span.discontinuous and joiner is None:
            reason = (
                "tells a label from its fragments one by one: ask about each of them"
                if self.typing
                else "joins no fragments: its training data held no discontinuous entity, or its recipe leaves "
                "`joining` out"
            )
            raise NearspanError(f"{span.text(document.text)!r} is discontinuous, and this model {reason}")
        part, places = self._located(document, span)
        prepared = self.prepare([part.sentence], [[(*place, NULL) for place in places]])
        asked = Question(prepared.batch(torch.tensor([0])), part.sentence.tokens, tuple(places))
        network, text = self.network.eval(), span.text(document.text)
        if span.discontinuous and joiner is not None:
            return explain_fragments(network, joiner, memory, self.labels, asked, span, text, count, label)
        return explain_candidate(network, memory, self.labels, asked, span, text, count, label)

    def _located(self, document: Document, span: Span) -> tuple[Reading, list[tuple[int, int]]]:
        """The part of the document that answers for a span, and the words of its fragments in it."""
        for sentence in self.split(document):
            if not sentence.start <= span.start < span.end <= sentence.end:
                continue
            for part in readings(sentence, self.network.max_width):
                starts, stops = part.sentence.starts, part.sentence.stops
                edges = [(starts.get(start), stops.get(end)) for start, end in span.fragments]
                places = [(first, stop) for first, stop in edges if first is not None and stop is not None]
                if len(places) < len(edges) or not part.owns(places[0][0]):
                    continue
                widest = max(stop - first for first, stop in places)
                if widest > self.network.max_width and not self.recipe.head.tags_words:
                    raise NearspanError(
                        f"{span.text(document.text)!r} has {widest} {sentence.unit}{' in a row' * span.discontinuous}; "
                        f"this model considers spans of at most {self.network.max_width} (candidates.max_width)"
                    )
                return part, places
        runs = "made of runs" if span.discontinuous else "a run"
        raise NearspanError(f"{span.text(document.text)!r} is not {runs} of whole words inside one sentence")


def usable_device(wanted: str = "") -> torch.device:
    """The device of a name, or a GPU where there is one; a clear error where it cannot be used."""
    try:
        device = torch.device(wanted or ("cuda" if torch.cuda.is_available() else "cpu"))
        if device.type not in ("cpu", "cuda"):
            raise RuntimeError("not supported")
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:  # no such one, torch built without it, no memory left on it
        reason = str(error).strip().splitlines()[0]
        raise ConfigError(f"--device {wanted}: {reason}; use cpu, cuda or cuda:1 as this machine has them") from error
    return device


def remembered(sentence: Sentence, entities: Sequence[WordEntity], discontinuous: Sequence[Gold] = ()) -> Remembered:
    """A labelled sentence as the memory keeps it, with offsets into its own text."""
    words = tuple((start - sentence.start, end - sentence.start) for start, end in sentence.words)
    whole, broken = tuple(entities), tuple(discontinuous)
    return Remembered(sentence.document.id, sentence.index, sentence.text, words, whole, broken)


def _kept(found: LabelledSentences) -> list[Remembered]:
    return [remembered(*one) for one in zip(found.sentences, found.entities, found.discontinuous, strict=True)]


def _fragments(span: Span) -> list[Span]:
    return [Span.of(start, end) for start, end in span.fragments]


def _document(given: Document | str) -> Document:
    return Document(given) if isinstance(given, str) else given


def _with_spans(given: Document | str) -> Document:
    """A document for a model that labels given spans; a bare text has none."""
    if isinstance(given, str):
        raise NearspanError(
            "this model was trained for typing: it labels spans that are given and finds none itself. Give it "
            "documents with entities, which it labels anew, or train the recipe with task=recognition"
        )
    return given


def _whole(sentence: Sentence, guesses: list[Guess]) -> list[Guess]:
    """Those of a sentence's guesses whose fragments begin and end where a word does."""
    if sentence.wholes is None:
        return guesses
    firsts, stops = (set(edges) for edges in zip(*sentence.wholes, strict=True))
    return [guess for guess in guesses if all(first in firsts and stop in stops for first, stop in guess.fragments)]


def _blocks(documents: Iterable[Document | str], split: Splitter) -> Iterator[list[tuple[Document, list[Sentence]]]]:
    """Documents with their sentences, some `BLOCK` words at a time."""
    block, words = [], 0
    for given in documents:
        document = replace(_document(given), entities=())
        sentences = split(document)
        block.append((document, sentences))
        words += sum(map(len, sentences))
        if words >= BLOCK:
            yield block
            block, words = [], 0
    if block:
        yield block
