"""A trained system: predict, explain, remember."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from nearspan import registry
from nearspan.config import Recipe
from nearspan.device import usable_device
from nearspan.document import Document, Span
from nearspan.encoders import EncodedCorpus, Encoder
from nearspan.errors import ConfigError, EditError, ModelError, did_you_mean
from nearspan.explain import NULL, Evidence
from nearspan.formats import Documents, as_documents
from nearspan.knn import Datastore, MemorySentence
from nearspan.knn.storage import NO_MEMORY
from nearspan.losses import Vocabulary
from nearspan.model import folder
from nearspan.model.build import build_network
from nearspan.model.calibration import FEWEST, Calibration, CalibrationFit, Circumstance, score_entities
from nearspan.model.decode import Overlap, least_overlap
from nearspan.model.explain import explain_spans
from nearspan.model.metric import fit_metric
from nearspan.model.network import Network
from nearspan.model.predict import Predictor
from nearspan.model.span_vectors import corpus_vectors, memory_sentences
from nearspan.model.strangers import entity_cosines
from nearspan.model.thresholds import Threshold, thresholds_by_label
from nearspan.model.vote import best_vote
from nearspan.model.workers import predict_documents
from nearspan.precision import usable_precision
from nearspan.segment import LabelledSpan, Sentence, contiguous
from nearspan.spans import LabelledSentences, StringMajority, WordSums

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    from nearspan.memory.editor import Editor
    from nearspan.memory.reweight import Weight
    from nearspan.review.review import Review


class Model:
    """A network with its labels and its datastore of training spans.

    model = nearspan.load("runs/mine")
    doc = model("Marie Curie studied in Paris.")
    for doc in model.pipe(texts): ...
    model.explain(doc, k=3)
    model.memory.add("[Vienna](PLACE) is cold")
    """

    def __init__(
        self,
        recipe: Recipe,
        labels: Sequence[str],
        network: Network,
        overlap: Overlap,
        datastore: Datastore | None = None,
        linked_overlap: Overlap = "any",
        strings: StringMajority | None = None,
        path: Path | None = None,
        calibration: Calibration | None = None,
        thresholds: Mapping[str, float] | None = None,
    ) -> None:
        self.recipe = recipe
        self.trained_labels = list(labels)  # in the order of the weights, where the head has any for them
        self.network = network.eval()
        self.trained_overlap = overlap  # that of the memory's own sentences may be another: see `overlap`
        self.linked_overlap = linked_overlap
        self.datastore = datastore  # after the network, whose encoder masks what the datastore has forgotten
        self.strings = strings  # of the training data, for a model that classifies given spans
        self.path = path  # the folder that it was loaded from or saved to
        self.calibration = calibration  # from probabilities to scores; None: scores are probabilities
        self.thresholds = dict(thresholds or {})  # by label: entities with lower scores are left out
        self._editor: Editor | None = None
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
        linked: Sequence[str] = (),
        linked_overlap: Overlap = "any",
        entities: Sequence[Sequence[LabelledSpan[str]]] = (),
    ) -> Model:
        """An untrained model: vocabularies from the training sentences, fresh weights.

        `vocabulary` is the generators'; `linked` are those of the labels that have discontinuous entities; `entities`
        are those of the training sentences, which only label vectors (`encoder.sentence_context`) need.
        """
        context = recipe.encoder.sentence_context
        if context is not None and context.pooling == "labels" and not any(map(contiguous, entities)):
            raise ConfigError(
                "label vectors begin as means over the contiguous entities of the training data, and there are none: "
                "set encoder.sentence_context.pooling to mean"
            )
        vectors = recipe.encoder.vectors
        if vectors is not None and not vectors.read and not registry.part("head", recipe.head.kind).uses_datastore:
            raise ConfigError(
                "vectors that are not read (encoder.vectors.read=false) are for a head that searches for similar "
                "sentences: leave that setting out, or set encoder.vectors=none"
            )
        encoder = Encoder.from_corpus(recipe.encoder, train, others, entities)
        numbers = [number for number, label in enumerate(labels, start=1) if label in linked]
        network = build_network(recipe, encoder, len(labels), vocabulary, numbers)
        return cls(recipe, labels, network, overlap, linked_overlap=linked_overlap)

    def save(self, path: Path | str, card: str = "") -> None:
        """Write the model as a folder; `card` becomes its README.md.

        A model that is there already goes with its memory, and with all edits of it that this one does not hold.
        """
        folder.save(self, Path(path), card)
        self.path, self._editor = Path(path), None

    def push_to_hub(self, name: str, *, memory: bool = False, private: bool | None = None) -> str:
        """Publish the model on the Hugging Face hub as it is now; the address of the commit.

            model.push_to_hub("user/model", private=True)

        Its memory holds the training sentences, so it is left behind unless `memory` is true. `private` is for a
        repository that is new, and checked for one that is not.
        """
        from nearspan.integrations.huggingface import push

        return push(self, name, memory=memory, private=private)

    @classmethod
    def load(cls, path: Path | str, device: str = "", memory: bool = True, precision: str = "auto") -> Model:
        """Read a model folder, with its memory as edits have left it or without. Nothing in the folder is run."""
        model = cls(**folder.load(Path(path)), path=Path(path))
        model.to(usable_device(device)).set_precision(precision)
        if memory and (model.network.head.uses_datastore or folder.has_memory(Path(path))):
            from nearspan.memory.sync import load_edited

            load_edited(model, Path(path))
        return model

    def __repr__(self) -> str:
        place = f", {self.path}" if self.path else ""
        memory = f", {len(self.datastore.sentences):,} sentences in memory" if self.datastore is not None else ""
        return f"Model({self.recipe.name}, labels {', '.join(self.labels[1:])}{memory}{place})"

    @property
    def memory(self) -> Editor:
        """The memory of this model, to be read and edited: add, relabel, remove, forget, undo."""
        if self._editor is None:
            from nearspan.memory.editor import Editor

            if self.path is None:
                raise EditError("edits are kept in the model's folder, and this model has none yet: save it first")
            self._editor = Editor(self.path, self)
        return self._editor

    @property
    def datastore(self) -> Datastore | None:
        """The training spans that predictions rest on. What it has forgotten, the encoder recalls no more."""
        return self._datastore

    @datastore.setter
    def datastore(self, datastore: Datastore | None) -> None:
        self._datastore = datastore
        self.overlap = self.overlap_of(datastore)
        self.network.metric = datastore.metric if datastore is not None else None
        word_memory = self.network.encoder.word_memory
        if word_memory is not None:
            word_memory.mask_forgotten(datastore.forgotten if datastore is not None else frozenset())

    def overlap_of(self, datastore: Datastore | None) -> Overlap:
        """How contiguous entities may overlap: as in training or, where a memory has new labels alone, as in it."""
        if datastore is None or self.recipe.decoding.overlap != "auto":
            return self.trained_overlap
        trained, entities = set(self.trained_labels), [sentence.entities for sentence in datastore.sentences]
        if not any(entities) or any(gold.label in trained for each in entities for gold in each):
            return self.trained_overlap
        return least_overlap([gold.fragments for gold in contiguous(each)] for each in entities)

    def review(self, texts: Iterable[Document | str], *, lease: float = 600.0, weight: Weight = "enough") -> Review:
        """Texts to be answered by people, those first whose answers teach most; answers go into the memory.

            review = model.review(texts)
            task = review.next()
            review.answer(task.document)

        A reviewer has a text for `lease` seconds to himself. `weight` is that of `memory.add`.
        """
        from nearspan.review.review import Review

        return Review(self, texts, lease=lease, weight=weight)

    @property
    def labels(self) -> list[str]:
        """All labels, null's "" first: those of the training, and those that only the memory has."""
        return list(self.datastore.names) if self.datastore is not None else [NULL, *self.trained_labels]

    @property
    def own_labels(self) -> list[str]:
        """The labels that are there whatever the memory holds."""
        return list(self.datastore.own_names) if self.datastore is not None else self.trained_labels

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        return self.network.device

    def to(self, device: torch.device | str) -> Model:
        """Move the network and the datastore to a device."""
        self.network.to(device)
        self.datastore = self.datastore.to(device) if self.datastore is not None else None
        if self.network.precision != "float32":
            self.set_precision(self.network.precision)
        return self

    def set_precision(self, precision: str) -> Model:
        """Predict in a precision from now on: `float32`, `bf16` or `int8`; `auto` gives what float32 gives.

            model.set_precision("bf16")

        The layers of a pretrained encoder, of deep spans and of a bottleneck follow. What compares with the memory
        stays in full precision.
        """
        self.network.set_precision(usable_precision(precision, self.device))
        return self

    @property
    def datastore_weight(self) -> float:
        """How much of a prediction is the datastore's: 1 for a head that predicts from it alone."""
        return self.network.datastore_weight if self.datastore is not None or self.network.head.uses_datastore else 0.0

    @property
    def classifies_given_spans(self) -> bool:
        """Whether this model classifies spans that are given, rather than find entities."""
        return not self.network.suggester.has_null

    def set_search(self, search: str) -> Model:
        """Search the datastore another way from now on: the `nearest` sentences, or the `whole`."""
        head = self.network.head
        if not head.search_modes:
            raise ConfigError(f"this model's head, {self.recipe.head.kind!r}, does not search its datastore")
        if search not in head.search_modes:
            raise ConfigError(f"`search` is {search!r}; {did_you_mean(search, head.search_modes)}")
        if search != head.search:
            self.drop_calibration()
        self.recipe = self.recipe.override([f"head.search={search}"])
        head.search = search
        return self

    def interpolate(self, weight: float, *settings: str) -> Model:
        """Interpolate a head with weights with the nearest training spans from now on; a weight of 0: not at all.

        Further settings are as in a recipe: `model.interpolate(0.3, "neighbours=32", "temperature=0.05")`.
        """
        if weight and self.datastore is None:
            raise ModelError(f"this model has no memory to interpolate with: {NO_MEMORY}")
        if self.network.head.uses_datastore:
            raise ConfigError(
                f"the {self.recipe.head.kind} head predicts from its memory already; others can be given one"
            )
        values = [f"interpolation.{setting}" for setting in (f"weight={weight}", *settings)]
        self.recipe = self.recipe.override(values if weight else ["interpolation=none"], "interpolate")
        if self.network.interpolation != self.recipe.interpolation:
            self.drop_calibration()
        self.network.interpolation = self.recipe.interpolation
        return self

    def drop_calibration(self) -> None:
        """Forget calibration and thresholds: they were for other probabilities."""
        if self.calibration is not None or self.thresholds:
            logger.warning("scores are not calibrated for this use of the memory, and no thresholds are set for it")
        self.calibration, self.thresholds = None, {}

    def __call__(self, text: Document | str, *, threshold: Threshold | None = None) -> Document:
        """One text, or document, with its entities; those with a score below the `threshold` are left out.

        model("Marie Curie studied in Paris.", threshold={"PERSON": 0.8})
        """
        [document] = Predictor(self, threshold).annotate([text])
        return document

    def pipe(
        self, texts: Iterable[Document | str], *, threshold: Threshold | None = None, workers: int | None = None
    ) -> Iterator[Document]:
        """Many texts, or documents, with their entities, in order; reads on only as results are taken.

            for document in model.pipe(texts, workers=4): ...

        That many processes work, one core each; 1 is this process itself. By default all cores work on a CPU where the
        texts are many enough; `torch.set_num_threads` says how many that are.
        Entities with a score below the `threshold`, for all labels or by label, are left out.
        A model that classifies given spans gives the entities that documents have new labels; those out of reach go.
        """
        if isinstance(texts, str | Document):
            raise TypeError("pipe takes several texts or documents: give it a list, or call the model with one text")
        return predict_documents(self, texts, workers, threshold)

    def set_threshold(self, threshold: Threshold) -> Model:
        """Leave out entities with lower scores from now on; for all labels, or by label. 0: leave out none.

            model.set_threshold({"PERSON": 0.8})

        A call's own `threshold` counts instead where it is given.
        """
        self.thresholds = thresholds_by_label(threshold, self.labels[1:])
        return self

    def to_score(self, probability: float, label: str = "", text: str = "", cosine: float | None = None) -> float:
        """The score of an entity that has a probability: the same, unless this model is calibrated.

        A calibration asks for the entity's label and text, and for its cosine with the memory's nearest entity: what
        the memory knows is right more often.
        """
        if self.calibration is None:
            return probability
        return self.calibration.score(probability, self._circumstance(label, text, cosine))

    def is_stranger(self, cosine: float | None) -> bool:
        """Whether an entity is far from all of the memory, by its cosine with the nearest one."""
        least = None if self.calibration is None else self.calibration.least_cosine
        return cosine is not None and least is not None and cosine < least

    def circumstances(self, documents: Sequence[Document]) -> list[Circumstance]:
        """What a calibration asks for of each entity of documents beside its probability; the documents are read."""
        entities = [(document, entity) for document in documents for entity in document.entities]
        compared = self.datastore is not None and not self.classifies_given_spans
        cosines = entity_cosines(self, documents) if compared else [None] * len(entities)
        return [
            self._circumstance(entity.label, entity.span.text(document.text), cosine)
            for (document, entity), cosine in zip(entities, cosines, strict=True)
        ]

    def _circumstance(self, label: str, text: str, cosine: float | None) -> Circumstance:
        """What a calibration asks for beside a probability."""
        if self.datastore is None or not text:
            return Circumstance(label)
        labels = self.datastore.labels_of_text(text)
        return Circumstance(label, "same" if label in labels else "other" if labels else "new", cosine)

    def calibrate(self, documents: Documents) -> CalibrationFit:
        """Make scores say how likely an entity is right, as measured on gold documents that training has not seen.

            fit = model.calibrate("dev.conll")
            model.save_calibration()

        Which entities are found stays the same. Entities far from all that the memory holds are marked as strangers
        from now on. Thresholds go, as they were for other scores.
        """
        gold = as_documents(documents).documents
        plain = copy(self)
        plain.calibration, plain.thresholds = None, {}
        texts = gold if self.classifies_given_spans else [document.with_entities(()) for document in gold]
        return self.fit_calibration(gold, list(plain.pipe(texts)))

    def fit_calibration(self, gold: Sequence[Document], predicted: Sequence[Document]) -> CalibrationFit:
        """The same, where a model that is not calibrated has predicted the entities of the gold documents already."""
        scored = score_entities(gold, predicted)
        if len(scored) < FEWEST:
            raise ConfigError(
                f"scores are calibrated on {FEWEST} predicted entities at least, and there are {len(scored)}: "
                "give more documents"
            )
        circumstances = self.circumstances(predicted)
        calibration = Calibration.fit(scored, circumstances)
        self.calibration, self.thresholds = calibration, {}
        count = sum(len(set(document.entities)) for document in gold)
        return CalibrationFit(calibration, scored, count, circumstances)

    def save_calibration(self) -> None:
        """Keep the calibration and the thresholds that this model has now in its folder."""
        if self.path is None:
            raise ModelError("this model has no folder yet: `save` keeps its calibration too")
        folder.save_calibration(self, self.path)

    @property
    def predictor(self) -> Predictor:
        """The model at work, made anew each time: a copy asks itself, and a model that is let go is freed at once."""
        return Predictor(self)

    def encode(
        self,
        sentences: Sequence[Sentence],
        entities: Sequence[Sequence[LabelledSpan[str]]] | None = None,
        training: bool = False,
    ) -> EncodedCorpus:
        """Sentences as tensors on the model's device; `training`: the very ones it was trained on.

        Their entities are needed where spans are given.
        """
        return self.network.encode(sentences, entities, training)

    def label_documents(self, documents: Iterable[Document]) -> LabelledSentences:
        """Documents as sentences with the entities that this model can learn and remember."""
        return self.network.suggester.label_sentences(documents, self.split, self.network.rules)

    def memory_sentences(self, document: Document) -> list[MemorySentence]:
        """The sentences of a document as the datastore would keep them."""
        return memory_sentences(self.label_documents([document]))

    def build_datastore(
        self,
        labelled: LabelledSentences,
        corpus: EncodedCorpus | None = None,
        labels: Sequence[str] | None = None,
    ) -> Datastore:
        """Fill the datastore with all spans of labelled sentences, as the network sees them now.

        Its own labels are `labels` from now on, where these are given.
        """
        corpus = corpus or self.encode(labelled.sentences, labelled.entities)
        self.network.metric = None  # the old memory's
        vectors = self.span_vectors(corpus)
        datastore = Datastore.of(
            memory_sentences(labelled), self.own_labels if labels is None else labels, self.network.suggester, *vectors
        )
        if self.datastore is not None:  # forgotten for good
            kept = self.datastore.vote.of_known()
            datastore = replace(datastore, forgotten=self.datastore.forgotten, vote=kept)
        vote, score = best_vote(self, datastore)
        self.datastore = datastore = fit_metric(self, replace(datastore, vote=vote), corpus, score)
        return datastore

    def refresh_datastore(self, corpus: EncodedCorpus) -> None:
        """Compute the datastore's vectors again after the weights have changed."""
        if self.datastore is not None:
            self.datastore = self.datastore.with_vectors(*self.span_vectors(corpus))

    def span_vectors(self, corpus: EncodedCorpus) -> tuple[Tensor | WordSums, Tensor]:
        """Vectors of all candidate spans [N, H] or of their words, and unit vectors [M, E] of all sentences."""
        return corpus_vectors(self.network, corpus)

    def explain(self, document: Document | str, k: int = 5) -> list[Evidence]:
        """For each entity the training spans it rests on, `k` for each label.

        The entities are those that this model predicted for a document, or for a text that it predicts first. Where
        spans are given, the label of a discontinuous entity rests on each of its fragments: they come one by one.
        """
        document = document if isinstance(document, Document) else Document(document)
        if not any(entity.score is not None for entity in document.entities):
            document = self(document)
        spans = [
            (span, entity.label)
            for entity in document.entities
            for span in (
                [Span((each,)) for each in entity.span.fragments] if self.classifies_given_spans else [entity.span]
            )
        ]
        return explain_spans(self, document, spans, k)

    def explain_span(self, document: Document | str, span: Span, k: int = 5) -> Evidence:
        """What a span of a text is near to, whether it was predicted or not."""
        document = document if isinstance(document, Document) else Document(document)
        [evidence] = explain_spans(self, document, [(span, None)], k)
        return evidence
