"""The component of a spaCy pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacy.pipeline import Pipe
from spacy.pipeline.spancat import spancat_score
from spacy.scorer import get_ner_prf
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch

from nearspan.errors import ConfigError
from nearspan.integrations.spacy.annotations import set_entities, to_document
from nearspan.integrations.spacy.evidence import Annotator, remember_annotator

if TYPE_CHECKING:
    from nearspan.model import Model
    from nearspan.model.thresholds import Threshold


class NearspanComponent(Pipe):
    """Finds entities with a nearspan model; spaCy's tokens are the words that it reads.

    The model is loaded when it is first needed: a pipeline that is read from disk brings its own, and the one that its
    config names may be gone.
    """

    def __init__(
        self,
        name: str,
        source: str,
        revision: str = "",
        device: str = "",
        threshold: Threshold | None = None,
        spans_key: str = "nearspan",
        set_ents: bool = True,
    ) -> None:
        self.name = name
        self.source = source
        self.revision = revision
        self.device = device
        self.threshold = threshold
        self.key = spans_key
        self.set_ents = set_ents
        self._model: Model | None = None

    def load_model(self) -> Model:
        """The model, loaded from its folder or from the hub when it is first needed.

        No property: spaCy looks at those of every component while it makes a pipeline.
        """
        if self._model is None:
            self._model = self._load()
        return self._model

    def _load(self) -> Model:
        import nearspan

        if not self.source:
            raise ConfigError(
                'the component has no model: nlp.add_pipe("nearspan", config={"model": "runs/mine"}), a model folder '
                "or the id of a model on the Hugging Face hub"
            )
        model = nearspan.load(self.source, self.device, revision=self.revision)
        if model.classifies_given_spans:
            raise ConfigError(
                f"the model in {self.source} classifies spans that are given and finds none itself: train the recipe "
                "with suggester.kind=all"
            )
        return model

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of entities; none while no model is loaded, as spaCy asks when it reads a pipeline."""
        return tuple(self._model.labels[1:]) if self._model is not None else ()

    def __call__(self, doc: Doc) -> Doc:
        """Find the entities of a document."""
        for annotated in self.pipe([doc]):
            return annotated
        return doc  # an error handler has taken the error

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 1000) -> Iterator[Doc]:
        """Find the entities of many documents, `batch_size` at a time."""
        handle_error: Callable[..., Any] = self.get_error_handler()
        batches: Iterator[list[Doc]] = minibatch(stream, batch_size)  # type: ignore[no-untyped-call]
        for docs in batches:
            try:
                self.annotate(docs)
            except Exception as error:  # spaCy's way: the pipeline's error handler decides
                handle_error(self.name, self, docs, error)
            else:
                yield from docs

    def annotate(self, docs: Sequence[Doc]) -> None:
        """Write the entities of documents to their spans and entities."""
        model = self.load_model()
        documents = [to_document(doc) for doc in docs]
        has_linker = model.network.fragment_linker is not None
        for doc, document in zip(docs, model.pipe(documents, threshold=self.threshold), strict=True):
            set_entities(doc, document.entities, self.key, self.set_ents, has_linker)
            remember_annotator(doc, Annotator(self.load_model, self.key, document.sentences))

    def score(self, examples: Iterable[Example], **_: Any) -> dict[str, Any]:
        """Score examples: their `doc.spans` as spaCy scores a span categorizer, `doc.ents` as it scores NER."""
        examples = list(examples)
        scores = spancat_score(examples, spans_key=self.key)
        return scores | get_ner_prf(examples) if self.set_ents else scores

    def to_disk(self, path: Path | str, *, exclude: Iterable[str] = ()) -> None:  # noqa: ARG002
        """Write the model folder, with its memory as edits have left it."""
        from nearspan.model.folder import read_card, save

        model = self.load_model()
        save(model, Path(path), read_card(model))

    def from_disk(self, path: Path | str, *, exclude: Iterable[str] = ()) -> NearspanComponent:  # noqa: ARG002
        """Load the model folder that `to_disk` wrote."""
        self.source, self.revision = str(path), ""
        self._model = self._load()
        return self
