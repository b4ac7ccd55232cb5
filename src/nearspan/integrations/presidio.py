"""A nearspan model as a recognizer of Microsoft Presidio, which finds and masks personal data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from nearspan.document import Entity
from nearspan.errors import ConfigError, ResourceError, did_you_mean
from nearspan.version import __version__

try:
    from presidio_analyzer import AnalysisExplanation, EntityRecognizer, RecognizerResult
    from presidio_analyzer.nlp_engine import NlpArtifacts
except ImportError as error:
    raise ResourceError("presidio-analyzer is not installed: pip install 'nearspan[presidio]'") from error

if TYPE_CHECKING:
    from nearspan.model import Model
    from nearspan.model.thresholds import Threshold


class NearspanRecognizer(EntityRecognizer):
    """Recognizes the entities that a model finds, under its labels or under Presidio's names for them.

        recognizer = NearspanRecognizer("runs/mine", {"PER": "PERSON", "LOC": "LOCATION"})
        AnalyzerEngine(...).registry.add_recognizer(recognizer)

    The model is a folder, the id of one on the Hugging Face hub, or one that is loaded already. With `labels` the
    entities of these labels alone are recognized. Each fragment of a discontinuous entity is a result.
    """

    name: str  # set by the base class

    def __init__(
        self,
        model: Model | Path | str,
        labels: Mapping[str, str] | None = None,
        *,
        threshold: Threshold | None = None,
        device: str = "",
        supported_language: str = "en",
        name: str = "NearspanRecognizer",
    ) -> None:
        import nearspan

        self.model = nearspan.load(model, device) if isinstance(model, Path | str) else model
        if self.model.classifies_given_spans:
            raise ConfigError("this model classifies spans that are given and finds none itself")
        known = self.model.labels[1:]
        for label in labels or ():
            if label not in known:
                raise ConfigError(
                    f"`labels` has {label!r}, which this model does not know; {did_you_mean(label, known)}"
                )
        self.names = dict(labels) if labels is not None else {label: label for label in known}
        self.threshold = threshold
        supported = list(dict.fromkeys(self.names.values()))
        super().__init__(supported, name=name, supported_language=supported_language, version=__version__)

    def load(self) -> None:
        """Nothing is left to load."""

    def analyze(
        self,
        text: str,
        entities: list[str] | None = None,
        nlp_artifacts: NlpArtifacts | None = None,  # noqa: ARG002
    ) -> list[RecognizerResult]:
        """The entities of a text that are asked for; all, where none are named."""
        wanted = set(entities or self.supported_entities)
        document = self.model(text, threshold=self.threshold)
        return [
            self._result(entity, start, end)
            for entity in document.entities
            if self.names.get(entity.label) in wanted
            for start, end in entity.fragments
        ]

    def _result(self, entity: Entity, start: int, end: int) -> RecognizerResult:
        score = entity.score or 0.0
        parts = f", a fragment of {entity.span}" if entity.span.discontinuous else ""
        reason = f"{entity.label} by the nearspan model {self.model.path or self.model.recipe.name}{parts}"
        explanation = AnalysisExplanation(recognizer=self.name, original_score=score, textual_explanation=reason)
        return RecognizerResult(
            self.names[entity.label],
            start,
            end,
            score,
            explanation,
            {
                RecognizerResult.RECOGNIZER_NAME_KEY: self.name,
                RecognizerResult.RECOGNIZER_IDENTIFIER_KEY: self.id,
            },
        )
