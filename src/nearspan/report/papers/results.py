"""What the papers' tables and figures say of the models of a report."""

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from torch import Tensor

from nearspan.document import Document
from nearspan.errors import ModelError
from nearspan.evaluation import FalsePositives, false_positives
from nearspan.explain import Neighbour
from nearspan.model import Model
from nearspan.report.papers.curves import CurvePoint
from nearspan.report.papers.generation import Generation, generation
from nearspan.report.papers.geometry import Cosine, Geometry, coupling, geometry
from nearspan.report.papers.label_probabilities import LabelProbabilities
from nearspan.report.papers.projection import Components, posteriors, principal, project
from nearspan.report.papers.retrieval import Agreement, agreement, distance_measure, nearest_neighbours, sample_queries
from nearspan.report.papers.spans import GoldSpan, gold_spans, negative_spans, span_vectors
from nearspan.report.progress import say
from nearspan.report.scored_model import ScoredModel
from nearspan.training.folder import METRICS

MOST_SPANS = 2000  # gold entities whose vectors are looked at, and as many spans that are none
MOST_QUERIES = 12


@dataclass(frozen=True)
class RetrievalQuery:
    """A gold span, and for each model the labels it predicts for it and its nearest training spans."""

    gold: GoldSpan
    predicted: list[list[str]]
    neighbours: list[list[Neighbour]]


@dataclass(frozen=True)
class SpanSpace:
    """How the span vectors of a model lie."""

    projection: NDArray[np.float32]  # t-SNE [N, 2], in the order of the results' spans
    components: Components  # the same spans
    coupling: dict[str, Cosine]  # by level of overlap
    geometry: Geometry
    posteriors: dict[str, NDArray[np.float32]]  # t-SNE [N, 2] of the representation's vectors and of the latents
    agreement: Agreement  # of the labels of training spans nearby


@dataclass(frozen=True)
class PaperResults:
    """The papers' analyses; lists go with `models`. Models that classify given spans have the first two only."""

    models: list[ScoredModel]
    losses: list[list[float]]  # of each epoch of the training, where they are known
    probabilities: list[LabelProbabilities]
    positives: Sequence[FalsePositives] = ()
    spans: Sequence[GoldSpan] = ()
    spaces: Sequence[SpanSpace] = ()
    queries: Sequence[RetrievalQuery] = ()
    generations: Sequence[Generation | None] = ()  # None: a model without generators
    sizes: Sequence[CurvePoint] = ()  # the data-size curve
    occurrences: Sequence[CurvePoint] = ()  # the curve over what a word recalls

    def to_dict(self) -> dict[str, Any]:
        """The numbers, for JSON."""
        names = [scored.name for scored in self.models]
        models: list[dict[str, Any]] = [
            {"name": name, "losses": losses, "outputs": probabilities.to_dict()}
            for name, losses, probabilities in zip(names, self.losses, self.probabilities, strict=True)
        ]
        if not self.spaces:
            return {"models": models}

        def by_name(values: Iterable[Any]) -> dict[str, Any]:
            return dict(zip(names, values, strict=True))

        rows = zip(models, self.models, self.positives, self.spaces, self.generations, strict=True)
        for model, scored, positives, space, generated in rows:
            model["false_positives"] = asdict(positives)
            model["retrieval"] = {"by": distance_measure(scored.model), **asdict(space.agreement)}
            model["coupling"] = {level: asdict(cosine) for level, cosine in space.coupling.items()}
            model["geometry"] = asdict(space.geometry)
            model["generation"] = generated.to_dict() if generated else None
        return {
            "models": models,
            "retrieval": [
                {
                    "text": query.gold.text,
                    "fragments": query.gold.span.fragments,
                    "sentence": query.gold.sentence.text,
                    "gold": query.gold.entity.label,
                    "predicted": by_name(query.predicted),
                    "neighbours": by_name([near.to_dict() for near in group] for group in query.neighbours),
                }
                for query in self.queries
            ],
            "projection": {
                "spans": [{"text": span.text, "label": span.entity.label} for span in self.spans],
                "points": by_name(_round_points(space.projection) for space in self.spaces),
                "posteriors": by_name(
                    {key: _round_points(points) for key, points in space.posteriors.items()} for space in self.spaces
                ),
                "components": by_name(
                    {"explained": space.components.explained, "points": _round_points(space.components.points)}
                    for space in self.spaces
                ),
            },
            "curve": [point.to_dict("share") for point in self.sizes],
            "occurrences": [point.to_dict("most") for point in self.occurrences],
        }


def analyse(models: list[ScoredModel], documents: Sequence[Document], console: Console | None = None) -> PaperResults:
    """Everything but the curves."""
    by_key = [gold_spans(scored.model, documents) for scored in models]
    losses = [training_losses(scored.folder) for scored in models]
    if models[0].model.classifies_given_spans:
        drawn = [_draw(list(spans.values())) for spans in by_key]
        pairs = zip(models, drawn, strict=True)
        return PaperResults(models, losses, [LabelProbabilities.of(scored.model, spans) for scored, spans in pairs])
    keys = _draw([key for key in by_key[0] if all(key in spans for spans in by_key)])
    query_keys = sample_queries(keys, MOST_QUERIES)
    number = {key: i for i, key in enumerate(keys)}
    rows = [number[key] for key in query_keys]
    widest = min(scored.model.network.max_width for scored in models)  # the same pairs for all
    spaces, neighbours, probabilities = [], [], []
    for scored, spans_by_key in zip(models, by_key, strict=True):
        say(console, f"span vectors of {scored.name}: retrieval, likeness and pictures of {len(keys):,} spans")
        spans = [spans_by_key[key] for key in keys]
        vectors = span_vectors(scored.model, spans)
        neighbours.append(nearest_neighbours(scored.model, [spans[i] for i in rows], vectors[rows]))
        probabilities.append(LabelProbabilities.of(scored.model, spans))
        spaces.append(_span_space(scored.model, documents, spans, vectors, widest))
    queries = []
    for place, (document, entity) in enumerate(query_keys):
        predicted = [
            [other.label for other in scored.predicted[document].entities if other.span == entity.span]
            for scored in models
        ]
        queries.append(RetrievalQuery(by_key[0][document, entity], predicted, [groups[place] for groups in neighbours]))
    generations = [
        generation(scored.model, documents) if scored.model.network.generators else None for scored in models
    ]
    positives = [false_positives(documents, scored.predicted) for scored in models]
    spans = [by_key[0][key] for key in keys]
    return PaperResults(models, losses, probabilities, positives, spans, spaces, queries, generations)


def _draw(items: list[Any]) -> list[Any]:
    """At most MOST_SPANS of the items, always the same ones, in their order."""
    drawn = random.Random(0).sample(range(len(items)), min(MOST_SPANS, len(items)))
    return [items[i] for i in sorted(drawn)]


def _span_space(
    model: Model, documents: Sequence[Document], spans: Sequence[GoldSpan], vectors: Tensor, widest: int
) -> SpanSpace:
    """How the vectors [N, H] of gold spans lie among themselves and among others."""
    negatives = span_vectors(model, negative_spans(model, documents, widest, MOST_SPANS))
    points = vectors.cpu().numpy()
    projection = project(points)
    return SpanSpace(
        projection,
        principal(points),
        coupling(model, spans, widest),
        geometry(model, vectors, [span.entity.label for span in spans], negatives),
        posteriors(model, spans, projection),
        agreement(model, spans, vectors),
    )


def training_losses(folder: Path | None) -> list[float]:
    """The loss of each epoch, from the record that training left in a model's folder; none where there is none."""
    if folder is None or not (folder / METRICS).is_file():
        return []
    try:
        lines = (folder / METRICS).read_text(encoding="utf-8").splitlines()
        return [float(json.loads(line)["loss"]) for line in lines if line.strip()]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{folder / METRICS} cannot be read: {error}; delete it to do without the losses") from error


def _round_points(points: NDArray[np.float32]) -> list[list[float]]:
    return [[round(float(x), 3), round(float(y), 3)] for x, y in points]
