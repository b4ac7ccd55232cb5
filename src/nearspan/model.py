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
from nearspan.encoders import Encoded, Encoder, Prepared, Splitter
from nearspan.errors import ConfigError, ModelError, NearspanError
from nearspan.evidence import NULL, Asked, Evidence, explain
from nearspan.heads import Instances
from nearspan.memory import Memory, Remembered
from nearspan.network import Network, assemble
from nearspan.objectives import Vocabulary
from nearspan.recipes import Recipe
from nearspan.spans import Minus, WordEntity, WordSums, enumerate_spans, how_many
from nearspan.text import Sentence
from nearspan.text.reading import Reading, readings

BLOCK = 50_000  # words that `annotate` reads before it gives results


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
    ) -> None:
        self.recipe = recipe
        self.labels = [NULL, *labels]
        self.network = network.eval()
        self.overlap = overlap
        self.memory = memory
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
        entities: Sequence[Sequence[WordEntity]] = (),
    ) -> Model:
        """An untrained model: vocabularies from the training sentences, fresh weights; `vocabulary` is generators'.

        `entities` are those of the training sentences; only label vectors (`encoder.context`) need them.
        """
        context = recipe.encoder.context
        if context is not None and context.pooling == "labels" and not any(entities):
            raise ValueError("label vectors begin as means over the training entities: give them")
        encoder = Encoder.learn(recipe.encoder, train, others, entities)
        return cls(recipe, labels, assemble(recipe, encoder, len(labels), vocabulary), overlap)

    def save(self, path: Path | str, card: str = "") -> None:
        """Write the model as a folder; `card` becomes its README.md."""
        saved = folder.Saved(self.recipe, self.labels[1:], self.network, self.overlap, self.memory)
        folder.save(saved, Path(path), card)

    @classmethod
    def load(cls, path: Path | str, device: str = "") -> Model:
        """Read a model folder. Nothing in it is run."""
        saved = folder.load(Path(path))
        model = cls(saved.recipe, saved.labels, saved.network, saved.overlap, saved.memory)
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

    def annotate(self, documents: Iterable[Document | str]) -> Iterator[Document]:
        """The documents with the entities found, in order; reads on only as results are taken."""
        for block in _blocks(documents, self.split):
            found = iter(self.entities(self.read([sentence for _, sentences in block for sentence in sentences])))
            for document, sentences in block:
                yield document.with_entities(entity for _ in sentences for entity in next(found))

    def read(self, sentences: Sequence[Sentence]) -> Input:
        """Sentences as tensors on the model's device, very long ones in windows."""
        parts = [part for sentence in sentences for part in readings(sentence, self.network.max_width)]
        return Input(sentences, parts, self.prepare([part.sentence for part in parts]))

    def prepare(self, sentences: Sequence[Sentence], training: bool = False) -> Prepared:
        """Sentences as tensors on the model's device, as they are; `training`: the very ones it has learned from."""
        return self.network.encoder.prepare(sentences, training).to(self.device)

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
        """For each sentence the spans that are entities, with each of their labels."""
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
        prepared = prepared or self.prepare(sentences)
        self.memory = Memory.of(kept, self.labels[1:], self.network.max_width, *self.vectors(prepared))
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
        document = _document(document)
        (annotated,) = self.annotate([document])
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
        asked = Asked(self.prepare([part.sentence]).batch(torch.tensor([0])), part.sentence.tokens, first, stop)
        self.network.eval()
        return explain(self.network, self.memory, self.labels, asked, span, span.text(document.text), count)

    def _located(self, document: Document, span: Span) -> tuple[Reading, int, int]:
        """The part of the document that answers for a span, and the span's words in it."""
        for sentence in self.split(document):
            if span.discontinuous or not sentence.start <= span.start < span.end <= sentence.end:
                continue
            for part in readings(sentence, self.network.max_width):
                first, stop = part.sentence.starts.get(span.start), part.sentence.stops.get(span.end)
                if first is None or stop is None or not part.owns(first):
                    continue
                if stop - first > self.network.max_width and not self.recipe.head.tags_words:
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
        counts = how_many(prepared.lengths, self.network.max_width)
        self.starts = (counts.cumsum(0) - counts).to(model.device)
        self.vectors = torch.empty(int(counts.sum()), self.network.size, dtype=torch.float16, device=model.device)

    def put(self, encoded: Encoded) -> None:
        """Add a batch's spans."""
        candidates = enumerate_spans(encoded.batch.lengths, self.network.max_width, self.vectors.device)
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
