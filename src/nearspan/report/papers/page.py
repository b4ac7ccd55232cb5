"""The page of the papers' tables and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from nearspan.evaluation import Counts
from nearspan.report.model_access import max_width
from nearspan.report.papers import figures
from nearspan.report.papers.coupling import LEVELS, NEAR
from nearspan.report.papers.curve_figures import occurrence_figures, size_figure
from nearspan.report.papers.geometry import Cosine, Geometry
from nearspan.report.papers.label_probabilities import LabelProbabilities
from nearspan.report.papers.projection import FEWEST
from nearspan.report.papers.results import PaperResults
from nearspan.report.papers.retrieval import distance_measure
from nearspan.report.papers.span_samples import GoldSpan
from nearspan.report.rendering import percent, render_page
from nearspan.report.scored_model import STRUCTURES

OBVIOUS = 1.0  # log2: the likeliest label has more than twice the gold label's probability
EXAMPLES = 20  # generated entities
RATIOS = ("0", "above 0, up to 0.5", "above 0.5, below 1")


def papers_page(results: PaperResults, title: str, labels: Sequence[str]) -> str:
    """The page as HTML; `labels` give the colours."""
    names = [scored.name for scored in results.models]
    enough = all(len(spans.gold) >= FEWEST for spans in results.probabilities)
    return render_page(
        "papers.html.j2",
        labels,
        title=title,
        results=results,
        models=results.models,
        fewest=FEWEST,
        near=NEAR,
        slices=_slices(results) if results.spaces else None,
        measures=[distance_measure(scored.model) for scored in results.models],
        vectors=_vectors(results) if results.spans else None,
        space=_space(results, labels) if len(results.spans) >= FEWEST else None,
        posteriors=_posteriors(results, labels),
        generation=_generation(results),
        loss=figures.losses(results.losses) if any(results.losses) else None,
        probabilities=_probabilities(results.probabilities, labels) if enough else None,
        sizes=size_figure(results.sizes, names) if results.sizes else None,
        occurrences=occurrence_figures(results.occurrences, names) if results.occurrences else None,
    )


def _slices(results: PaperResults) -> dict[str, Markup | None]:
    """F1 by width and structure as pictures (figures 2 and 3 of Zhu et al., 2023), where there is more than one bar."""

    def draw(slices: Sequence[Mapping[str, Counts]], keys: Sequence[str], name: str, axis: str) -> Markup:
        values = [[100 * counts[key].f1 if key in counts else None for key in keys] for counts in slices]
        return figures.bars(keys, values, name, axis)

    widths, structures = ([getattr(scored, name) for scored in results.models] for name in ("widths", "structures"))
    keys = sorted({key for counts in widths for key in counts}, key=lambda key: int(key.rstrip("+")))
    nested = any(set(counts) - {"flat"} for counts in structures)
    return {
        "widths": draw(widths, keys, "widths", "words") if keys else None,
        "structures": draw(structures, STRUCTURES, "structures", "structure") if nested else None,
    }


def _vectors(results: PaperResults) -> dict[str, Any]:
    """Coupling, norms and cosines (tables 4 and 5 of Zhu et al., 2023)."""
    geometries = [space.geometry for space in results.spaces]
    coupling = [
        (level, ratio, *_cosines([space.coupling[level] for space in results.spaces]))
        for level, ratio in zip(LEVELS, RATIOS, strict=True)
    ]
    cosines = {
        "cosine of entities of one label": [geometry.within for geometry in geometries],
        "cosine of entities of different labels": [geometry.between for geometry in geometries],
        "cosine of entities and spans that are none": [geometry.against for geometry in geometries],
    }
    without = [
        scored.name for scored, geometry in zip(results.models, geometries, strict=True) if geometry.templates is None
    ]
    return {
        "widest": min(max_width(scored.model) for scored in results.models),
        "unit": " or ".join(sorted({scored.model.recipe.suggester.unit for scored in results.models})),
        "coupling": coupling,
        "geometry": [
            ("l2-norm of entities", [_number(geometry.norm) for geometry in geometries], ""),
            *((title, *_cosines(row)) for title, row in cosines.items()),
        ],
        "templates": _templates(geometries),
        "without": without,
    }


def _templates(geometries: Sequence[Geometry]) -> list[tuple[str, list[str], str]]:
    """What the heads compare vectors with, where they have a vector a label."""
    templates = [geometry.templates for geometry in geometries]
    if not any(templates):
        return []
    none = Cosine(None, 0)
    rows = [("l2-norm of templates", [_number(vectors.norm if vectors else None) for vectors in templates], "")]
    rows.append(
        ("absolute cosine of templates", *_cosines([vectors.cosine if vectors else none for vectors in templates]))
    )
    if any(vectors and vectors.null.pairs for vectors in templates):
        cosines = [vectors.null if vectors else none for vectors in templates]
        rows.append(("absolute cosine of templates and null's", *_cosines(cosines)))
    return rows


def _cosines(cosines: Sequence[Cosine]) -> tuple[list[str], str]:
    """The models' means, and how many pairs they are over, once if they are the same."""
    pairs = dict.fromkeys(f"{cosine.pairs:,}" for cosine in cosines if cosine.pairs)
    return [_number(cosine.mean) for cosine in cosines], " / ".join(pairs) or "0"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _space(results: PaperResults, labels: Sequence[str]) -> dict[str, Any]:
    """The vectors of gold spans in two dimensions: t-SNE and principal components."""
    groups, titles = _groups(results.spans, labels), _titles(results.spans)
    placed, directed = [], []
    for number, space in enumerate(results.spaces):
        placed.append(figures.scatter(space.projection, groups, titles, f"space{number}"))
        axes, points = _component_axes(space.components.explained), space.components.points
        directed.append(figures.scatter(points, groups, titles, f"components{number}", axes))
    return {"labels": _present(results.spans, labels), "placed": placed, "directed": directed}


def _posteriors(results: PaperResults, labels: Sequence[str]) -> dict[str, Any] | None:
    """The latents of gold spans by t-SNE, where a model has any."""
    if len(results.spans) < FEWEST or all(len(space.posteriors) == 1 for space in results.spaces):
        return None
    groups, titles = _groups(results.spans, labels), _titles(results.spans)
    rows = [
        {key: figures.scatter(points, groups, titles, f"posteriors{number}{key}") for key, points in drawn.items()}
        for number, drawn in enumerate(space.posteriors for space in results.spaces)
    ]
    return {"labels": _present(results.spans, labels), "rows": rows}


def _generation(results: PaperResults) -> dict[str, Any] | None:
    """BLEU-2 of reconstructions, and some beside their originals (tables 7 and 8 of Nguyen et al., 2023)."""
    pairs = zip(results.models, results.generations, strict=bool(results.generations))
    generated = [(i, scored.name, generation) for i, (scored, generation) in enumerate(pairs) if generation is not None]
    if not generated:
        return None
    head, columns = ["original"], []
    for _, name, generation in generated:
        head.append(f"{name}: reconstruction")
        columns.append({entity.gold.key: entity.reconstruction for entity in generation.entities})
        if any(entity.synonym is not None for entity in generation.entities):
            head.append(f"{name}: synonym")
            columns.append({entity.gold.key: entity.synonym or "" for entity in generation.entities})
    originals = {
        entity.original: entity.gold.key
        for entity in generated[0][2].entities
        if all(entity.gold.key in column for column in columns)
    }
    step = max(1, len(originals) // EXAMPLES)
    rows = [
        [original, *(column[key] for column in columns)] for original, key in list(originals.items())[::step][:EXAMPLES]
    ]
    return {"scores": generated, "head": head, "rows": rows}


def _probabilities(probabilities: Sequence[LabelProbabilities], labels: Sequence[str]) -> dict[str, Any]:
    """Probabilities of gold spans: components, violins and discrepancy (figures 4 to 6 of the SNG paper)."""
    return {
        "labels": _present([span for each in probabilities for span in each.spans], labels),
        "counts": [_count_correct(each) for each in probabilities],
        "components": [_components(each, labels, f"outputs{i}") for i, each in enumerate(probabilities)],
        "violins": [_violins(each, f"violins{i}") for i, each in enumerate(probabilities)],
        "discrepancy": [_discrepancy(each, labels, f"discrepancy{i}") for i, each in enumerate(probabilities)],
    }


def _count_correct(each: LabelProbabilities) -> list[str]:
    """Right and wrong spans, each with the median of the gold label's probability; and those wrong by far."""
    cells = []
    for which in (each.right, ~each.right):
        median = percent(float(np.median(each.gold_probability[which]))) if which.any() else "–"
        cells += [f"{int(which.sum()):,}", median]
    return [*cells, f"{int((each.discrepancy > OBVIOUS).sum()):,}"]


def _components(each: LabelProbabilities, labels: Sequence[str], name: str) -> Markup:
    axes, points = _component_axes(each.components.explained), each.components.points
    return figures.correctness_scatter(
        points, _groups(each.spans, labels), each.right, _likely_titles(each), name, axes
    )


def _discrepancy(each: LabelProbabilities, labels: Sequence[str], name: str) -> Markup:
    points = np.stack([each.discrepancy, each.dispersion], axis=1).astype(np.float32)
    axes = ["log2 (highest P / P of gold)", "log10 (variance / P of gold)"]
    groups, titles = _groups(each.spans, labels), _likely_titles(each)
    return figures.correctness_scatter(points, groups, each.right, titles, name, axes, line=OBVIOUS)


def _violins(each: LabelProbabilities, name: str) -> Markup:
    label_of = np.array([span.entity.label for span in each.spans], dtype=object)
    groups = {
        label: [each.gold_probability[(label_of == label) & which] for which in (each.right, ~each.right)]
        for label in sorted(set(label_of))
    }
    return figures.violins(groups, name)


def _component_axes(explained: Sequence[float]) -> list[str]:
    return [f"component {number}: {100 * share:.1f}% of the variance" for number, share in enumerate(explained, 1)]


def _groups(spans: Sequence[GoldSpan], labels: Sequence[str]) -> list[int]:
    number = {label: i for i, label in enumerate(labels)}
    return [number[span.entity.label] for span in spans]


def _present(spans: Sequence[GoldSpan], labels: Sequence[str]) -> list[str]:
    present = {span.entity.label for span in spans}
    return [label for label in labels if label in present]


def _titles(spans: Sequence[GoldSpan]) -> list[str]:
    return [f"{span.entity.label}: {span.text}" for span in spans]


def _likely_titles(each: LabelProbabilities) -> list[str]:
    pairs = zip(_titles(each.spans), each.gold_probability, strict=True)
    return [f"{title} ({likely:.3f})" for title, likely in pairs]
