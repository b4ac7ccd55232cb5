"""What a report says, before it becomes a page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from nearspan.document import Document
from nearspan.evaluation import Scores
from nearspan.model import Model
from nearspan.report.confusion import ConfusionMatrix
from nearspan.report.explained_errors import KINDS, ExplainedError, error_kinds, explain_errors
from nearspan.report.rendering import render_page
from nearspan.report.scored_model import ScoredModel
from nearspan.settings import flatten
from nearspan.training.data import digest


@dataclass(frozen=True)
class Results:
    """The scores and errors of one model, or of two side by side; lists go with `models`."""

    corpus: str  # its name
    fingerprint: str  # of its documents
    models: list[ScoredModel]
    confusions: list[ConfusionMatrix]
    error_counts: list[dict[str, int]]  # by kind, in the order of KINDS
    errors: list[ExplainedError]  # of the first model

    @classmethod
    def of(cls, models: list[ScoredModel], documents: Sequence[Document], corpus: str) -> Self:
        """Find the errors of scored models, and explain those of the first."""
        kinds = [error_kinds(scored) for scored in models]
        confusions = [ConfusionMatrix.of(scored.evaluation.scores, scored.errors) for scored in models]
        errors = explain_errors(models[0], kinds[0])
        counts = [{kind: row.count(kind) for kind in KINDS if kind in row} for row in kinds]
        return cls(corpus, digest(documents), models, confusions, counts, errors)

    @property
    def title(self) -> str:
        """The models and the corpus by their names."""
        names = " against ".join(scored.name for scored in self.models)
        return f"{names} on {self.corpus}" if self.corpus else names

    @property
    def labels(self) -> list[str]:
        """All labels, those of the first model first: their order gives them their colours."""
        labels = [label for scored in self.models for label in scored.model.labels[1:]]
        labels += sorted(label for scored in self.models for label in scored.evaluation.scores.labels)
        return list(dict.fromkeys(labels))

    def to_dict(self) -> dict[str, Any]:
        """The numbers, for JSON."""
        rows = zip(self.models, self.error_counts, self.confusions, strict=True)
        return {
            "corpus": {"name": self.corpus, "fingerprint": self.fingerprint},
            "models": [
                {**scored.to_dict(), "errors": counts, "confusion": confusion.to_dict()}
                for scored, counts, confusion in rows
            ],
            "errors": [error.to_dict() for error in self.errors],
        }

    def page(self, papers: bool = False) -> str:
        """The report as HTML; `papers`: beside it is a page of the papers' tables and figures."""
        kinds = [(kind, [counts.get(kind, 0) for counts in self.error_counts]) for kind in KINDS]
        present = [(kind, counts) for kind, counts in kinds if any(counts)]
        label_choices = [("none", "no entity"), *((f"label:{label}", label) for label in self.labels)]
        return render_page(
            "report.html.j2",
            self.labels,
            results=self,
            models=self.models,
            first=self.models[0],
            kinds=present,
            most=max((count for _, counts in present for count in counts), default=1),
            kind_choices=[(kind, kind) for kind in self.error_counts[0]],
            label_choices=label_choices,
            strength=_strength(self.models[0].model),
            given_spans=_given_span_scores(self.models),
            nested=any(set(scored.structures) - {"flat"} for scored in self.models),
            settings=_settings(self.models),
            papers=papers,
        )


def _strength(model: Model) -> str:
    """The kind of most of a model's evidence; "" where it has none."""
    if not model.datastore:
        return ""
    if model.network.head.sums_inner_products:
        return "exact"
    return "attended" if model.recipe.encoder.word_memory is not None else "nearest"


def _given_span_scores(models: Sequence[ScoredModel]) -> list[tuple[str, Scores]]:
    """Names and scores of models that classify given spans, the last of them the majority by string."""
    if not models[0].model.classifies_given_spans:
        return []
    columns = [(scored.name, scored.evaluation.scores) for scored in models]
    baseline = models[0].evaluation.baseline
    return columns if baseline is None else [*columns, ("majority by string", baseline)]


def _settings(models: Sequence[ScoredModel]) -> dict[str, list[str]]:
    """The models' settings by key; "" where a model has none of that key."""
    dumped = [dict(flatten(scored.model.recipe.model_dump(exclude_none=True))) for scored in models]
    keys = dict.fromkeys(key for settings in dumped for key in settings if key not in ("name", "about"))
    return {key: [str(settings.get(key, "")) for settings in dumped] for key in keys}
