"""A trained system: annotate, remember, explain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor

from nearspan import folder
from nearspan.decoding import Guess, Overlap, decode
from nearspan.document import Document, Entity, Span
from nearspan.encoders import Encoded, Encoder, Given, Prepared, Splitter
from nearspan.errors import ConfigError, ModelError, NearspanError
from nearspan.evidence import NULL, Evidence, explain_candidate
from nearspan.heads import Instances
from nearspan.memory import Memory, Remembered
from nearspan.network import Network, assemble
from nearspan.objectives import Vocabulary
from nearspan.recipes import Recipe
from nearspan.spans import Asked, Minus, Placed, WordEntity, WordSums, how_many
from nearspan.strings import StringMajority
from nearspan.text import Sentence
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
        strings: StringMajority | None = None,
    ) -> None:
        self.recipe = recipe
        self.labels = [NULL, *labels]
        self.network = network.eval()
        self.overlap = overlap
        self.memory = memory
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
    ) -> Model:
        """An untrained model: vocabularies from the training sentences, fresh weights; `vocabulary` is generators'."""
        encoder = Encoder.learn(recipe.encoder, train, others)
        return cls(recipe, labels, assemble(recipe, encoder, len(labels), vocabulary), overlap)

    def save(self, path: Path | str, card: str = "") -> None:
        """Write the model as a folder; `card` becomes its README.md."""
        saved = folder.Saved(self.recipe, self.labels[1:], self.network, self.overlap, self.memory, self.strings)
        folder.save(saved, Path(path), card)

    @classmethod
    def load(cls, path: Path | str, device: str = "") -> Model:
        """Read a model folder. Nothing in it is run."""
        saved = folder.load(Path(path))
        model = cls(saved.recipe, saved.labels, saved.network, saved.overlap, saved.memory, saved.strings)
        return model.to(usable_device(device))

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        return next(self.network.parameters()).device

    def to(self, device: torch.device | str) -> Model:
        """Move the network and the memory to a device."""
        self.network.to(device)
        self.memory = self.memory.to(device) if self.memory is not None else None
        return self

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
        self, sentences: Sequence[Sentence], entities: Sequence[Sequence[WordEntity]] | None = None
    ) -> Prepared:
        """Sentences as tensors on the model's device, as they are; for typing their entities are the given spans."""
        prepared = self.network.encoder.prepare(sentences)
        if self.typing and entities is not None:
            prepared = replace(prepared, given=Given.of([[entity[:2] for entity in own] for own in entities]))
        return prepared.to(self.device)

    def entities(self, given: Input) -> list[list[Entity]]:
        """The entities of each sentence, in the characters of its document."""
        guesses = iter(zip(given.parts, self.guesses(given.prepared), strict=True))
        found = []
        for sentence in given.sentences:
            mine = [
                replace(guess, first=part.start + guess.first, stop=part.start + guess.stop)
                for part, some in islice(guesses, len(readings(sentence, self.network.max_width)))
                for guess in some
                if part.owns(guess.first)
            ]
            found.append(
                [
                    Entity(sentence.span(guess.first, guess.stop), self.labels[guess.label], guess.score)
                    for guess in decode(_whole(sentence, mine), self.overlap)
                ]
            )
        return found

    @torch.inference_mode()
    def guesses(self, prepared: Prepared) -> list[list[Guess]]:
        """For each sentence the candidates that are entities, with each of their labels."""
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
    ) -> Memory:
        """Fill the memory with all spans of labelled sentences, as the network sees them now."""
        kept = [remembered(sentence, own) for sentence, own in zip(sentences, entities, strict=True)]
        prepared = prepared or self.prepare(sentences, entities)
        found = self.vectors(prepared)
        self.memory = Memory.of(kept, self.labels[1:], self.network.max_width, *found, self.typing)
        return self.memory

    def refresh(self, prepared: Prepared) -> None:
        """Compute the memory's vectors again after the weights have changed."""
        if self.memory is not None:
            self.memory = self.memory.with_vectors(*self.vectors(prepared))

    @torch.inference_mode()
    def vectors(self, prepared: Prepared) -> tuple[Tensor | WordSums, Tensor]:
        """Vectors of all candidate spans [N, H] or of their words, and unit vectors [M, E] of all sentences."""
        network = self.network.eval()
        spans = network.adds_up
        kept = _WordsKept(self, prepared, spans) if spans is not None else _SpansKept(self, prepared)
        means = torch.empty(len(prepared), 0, device=self.device)
        for ids in prepared.order(self.device):
            encoded = network.encoder(prepared.batch(ids))
            found = encoded.sentence_vectors().float()
            means = means if means.shape[1] else means.new_empty(len(prepared), found.shape[1])
            means[ids.to(self.device)] = found
            kept.put(encoded)
        return kept.vectors, torch.nn.functional.normalize(means, dim=1)

    def explain(self, document: Document | str, count: int = 5) -> list[Evidence]:
        """For each entity found in a text, the training spans it rests on."""
        (annotated,) = self.annotate([document])
        document = _document(document)
        return [
            replace(self.neighbours(document, entity.span, count), label=entity.label) for entity in annotated.entities
        ]

    @torch.inference_mode()
    def neighbours(self, document: Document | str, span: Span, count: int = 5) -> Evidence:
        """What a span of a text is near to, whether it was predicted or not."""
        document = _document(document)
        if self.memory is None or not len(self.memory):
            raise ModelError("this model has no memory to take evidence from: fill it with Model.remember")
        part, first, stop = self._located(document, span)
        prepared = self.prepare([part.sentence], [[(first, stop, NULL)]])
        batch = prepared.batch(torch.tensor([0]))
        candidates = self.network.candidates(batch)
        row = int(((candidates.first == first) & (candidates.stop == stop)).nonzero())
        text = span.text(document.text)
        self.network.eval()
        return explain_candidate(self.network, self.memory, self.labels, batch, row, span, text, count)

    def _located(self, document: Document, span: Span) -> tuple[Reading, int, int]:
        """The part of the document that answers for a span, and the span's words in it."""
        for sentence in self.split(document):
            if span.discontinuous or not sentence.start <= span.start < span.end <= sentence.end:
                continue
            for part in readings(sentence, self.network.max_width):
                first, stop = part.sentence.starts.get(span.start), part.sentence.stops.get(span.end)
                if first is None or stop is None or not part.owns(first):
                    continue
                if stop - first > self.network.max_width:
                    raise NearspanError(
                        f"{span.text(document.text)!r} has {stop - first} {sentence.unit}; this model considers spans "
                        f"of at most {self.network.max_width} (candidates.max_width)"
                    )
                return part, first, stop
        raise NearspanError(f"{span.text(document.text)!r} is not a run of whole words inside one sentence")


class _WordsKept:
    """The words' vectors of a corpus, whose sums are its spans' vectors."""

    def __init__(self, model: Model, prepared: Prepared, spans: Minus) -> None:
        steps = torch.empty(int(prepared.lengths.sum()), spans.size, device=model.device)
        self.spans = spans
        self.vectors = WordSums(steps.new_empty(1 if spans.begins_alike else len(steps), spans.size), steps)

    def put(self, encoded: Encoded) -> None:
        """Add a batch's words."""
        sums, mask = self.spans.sums(encoded.states), encoded.batch.mask
        rows = encoded.batch.rows[mask]
        self.vectors.steps[rows] = sums.steps[mask].float()
        if self.spans.begins_alike:
            self.vectors.begins.copy_(sums.begins)
        else:
            self.vectors.begins[rows] = sums.begins[mask].float()


class _SpansKept:
    """The vectors [N, H] of all candidates of a corpus, in half precision: there are many."""

    def __init__(self, model: Model, prepared: Prepared) -> None:
        self.network = model.network
        given = prepared.given
        counts = given.counts if given is not None else how_many(prepared.lengths, self.network.max_width)
        self.starts = (counts.cumsum(0) - counts).to(model.device)
        self.vectors = torch.empty(int(counts.sum()), self.network.size, dtype=torch.float16, device=model.device)

    def put(self, encoded: Encoded) -> None:
        """Add a batch's spans."""
        candidates = self.network.candidates(encoded.batch)
        found = self.network.vectors(encoded, candidates)
        starts = self.starts[encoded.batch.ids.to(self.starts.device)]
        self.vectors[starts[candidates.sentence] + candidates.number] = found.half()


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


def remembered(sentence: Sentence, entities: Sequence[WordEntity]) -> Remembered:
    """A labelled sentence as the memory keeps it, with offsets into its own text."""
    words = tuple((start - sentence.start, end - sentence.start) for start, end in sentence.words)
    return Remembered(sentence.document.id, sentence.index, sentence.text, words, tuple(entities))


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
    """Those of a sentence's guesses that begin and end where a word does."""
    if sentence.wholes is None:
        return guesses
    firsts, stops = (set(edges) for edges in zip(*sentence.wholes, strict=True))
    return [guess for guess in guesses if guess.first in firsts and guess.stop in stops]


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
