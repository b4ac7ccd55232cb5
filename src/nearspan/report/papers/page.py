"""The page of the papers' tables and figures."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from nearspan.evaluation import Counts
from nearspan.report.papers import figures
from nearspan.report.papers.curves import occurrence_figures, size_figure
from nearspan.report.papers.geometry import LEVELS, NEAR
from nearspan.report.papers.label_probabilities import LabelProbabilities
from nearspan.report.papers.projection import FEWEST
from nearspan.report.papers.results import PaperResults
from nearspan.report.papers.retrieval import distance_measure
from nearspan.report.papers.spans import GoldSpan
from nearspan.report.rendering import percent, render_page
from nearspan.report.scored_model import STRUCTURES

OBVIOUS = 1.0  # log2: the likeliest label has more than twice the gold label's probability
EXAMPLES = 20  # generated entities
RATIOS = ("0", "above 0, up to 0.5", "above 0.5, below 1")


def papers_page(results: PaperResults, title: str, labels: Sequence[str]) -> str:
    """The page as HTML; `labels` give the colours."""
    models, names = results.models, [scored.name for scored in results.models]
    pairs = zip(names, results.spaces, strict=bool(results.spaces))
    enough = all(len(spans.gold) >= FEWEST for spans in results.probabilities)
    return render_page(
        "papers.html.j2",
        labels,
        title=title,
        results=results,
        models=models,
        fewest=FEWEST,
        near=NEAR,
        slices=_slices(results) if results.spaces else None,
        measures=[distance_measure(scored.model) for scored in models],
        levels=zip(LEVELS, RATIOS, strict=True),
        widest=min(scored.model.network.max_width for scored in models),
        unit=" or ".join(sorted({scored.model.recipe.suggester.unit for scored in models})),
        space=_space(results, labels) if len(results.spans) >= FEWEST else None,
        without_templates=[name for name, space in pairs if space.geometry.templates is None],
        generation=_generation(results),
        without_losses=[name for name, losses in zip(names, results.losses, strict=True) if not losses],
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


def _space(results: PaperResults, labels: Sequence[str]) -> dict[str, Any]:
    """The vectors of gold spans in two dimensions: t-SNE, principal components and, where a model has any, latents."""
    groups, titles = _groups(results.spans, labels), _titles(results.spans)
    placed, directed, latents = [], [], []
    for number, space in enumerate(results.spaces):
        placed.append(figures.scatter(space.projection, groups, titles, f"space{number}"))
        axes, points = _component_axes(space.components.explained), space.components.points
        directed.append(figures.scatter(points, groups, titles, f"components{number}", axes))
        if any(len(other.posteriors) > 1 for other in results.spaces):
            named = ((key, points, f"posteriors{number}{key}") for key, points in space.posteriors.items())
            latents.append({key: figures.scatter(points, groups, titles, name) for key, points, name in named})
    return {"labels": _present(results.spans, labels), "placed": placed, "directed": directed, "latents": latents}


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
    pictures: dict[str, list[Markup]] = {"components": [], "violins": [], "discrepancy": []}
    for number, spans in enumerate(probabilities):
        groups = _groups(spans.spans, labels)
        pairs = zip(_titles(spans.spans), spans.gold_probability, strict=True)
        titles = [f"{title} ({likely:.3f})" for title, likely in pairs]
        axes, points = _component_axes(spans.components.explained), spans.components.points
        pictures["components"].append(figures.scatter(points, groups, titles, f"outputs{number}", axes, spans.right))
        points = np.stack([spans.discrepancy, spans.dispersion], axis=1).astype(np.float32)
        axes, name = ["log2 (highest P / P of gold)", "log10 (variance / P of gold)"], f"discrepancy{number}"
        pictures["discrepancy"].append(figures.scatter(points, groups, titles, name, axes, spans.right, OBVIOUS))
        pictures["violins"].append(_violins(spans, f"violins{number}"))
    present = _present([span for spans in probabilities for span in spans.spans], labels)
    return {"labels": present, "counts": list(map(_count_correct, probabilities)), **pictures}


def _count_correct(spans: LabelProbabilities) -> list[str]:
    """Right and wrong spans, each with the median of the gold label's probability; and those wrong by far."""
    cells = []
    for which in (spans.right, ~spans.right):
        median = percent(float(np.median(spans.gold_probability[which]))) if which.any() else "–"
        cells += [f"{int(which.sum()):,}", median]
    return [*cells, f"{int((spans.discrepancy > OBVIOUS).sum()):,}"]


def _violins(spans: LabelProbabilities, name: str) -> Markup:
    label_of = np.array([span.entity.label for span in spans.spans], dtype=object)
    groups = {
        label: [spans.gold_probability[(label_of == label) & which] for which in (spans.right, ~spans.right)]
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
