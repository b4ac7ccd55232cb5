"""What decides between an entity and none, chosen on development data when all else is trained."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby

from torch import Tensor

from nearspan.evaluation import Evaluation, Evaluator

LEAST = 0.05  # no label holds below this probability
TIMES = (1.4, 2.0, 2.8, 4.0, 5.6, 8.0)  # that the spans of entities may count
Scored = tuple[float, bool]  # the probability of a label that was predicted, and whether it is right


def fit_thresholds(evaluator: Evaluator, thresholds: Tensor) -> None:
    """Give each label the threshold [Y] with the best F1 of its own on the evaluator's documents.

    Labels are looked at one by one and without regard to overlaps; if all of them together score worse than
    before, the thresholds stay as they were.
    """
    before, f1 = thresholds.clone(), evaluator.evaluate().scores.f1
    predicted, gold = _predictions(evaluator, thresholds)
    for number, label in enumerate(evaluator.model.labels[1:]):
        thresholds[number] = best_threshold(predicted[label], gold[label], float(before[number]))
    if evaluator.evaluate().scores.f1 < f1:
        thresholds.copy_(before)


def fit_times(evaluator: Evaluator, scores: Evaluation) -> Evaluation:
    """Let the datastore's entities count as often, beside null, as gives the best F1; `scores` are those with once.

    It looks on as long as F1 rises. The scores with the best number come back.
    """
    model, best = evaluator.model, scores
    if model.datastore is None:
        return scores
    known = frozenset(model.trained_labels)
    for times in TIMES:
        before = model.datastore
        model.datastore = replace(before, vote=replace(before.vote, known=known, known_times=times))
        evaluation = evaluator.evaluate()
        if evaluation.value <= best.value:
            model.datastore = before
            break
        best = evaluation
    return best


def _predictions(evaluator: Evaluator, thresholds: Tensor) -> tuple[dict[str, list[Scored]], dict[str, int]]:
    """For each label what a model gives any probability to, and how many entities there are."""
    model = evaluator.model
    predicted: dict[str, list[Scored]] = {label: [] for label in model.labels}
    gold = dict.fromkeys(model.labels, 0)
    levels = model.overlap, model.linked_overlap
    model.overlap, model.linked_overlap = "any", "any"
    thresholds.fill_(LEAST)
    for document, annotated in zip(evaluator.documents, evaluator.evaluate().predicted, strict=True):
        right = {(entity.span, entity.label) for entity in document.entities if not entity.span.discontinuous}
        for _, label in right:
            gold[label] = gold.get(label, 0) + 1
        for entity in annotated.entities:
            if not entity.span.discontinuous:  # those have thresholds of their own
                predicted[entity.label].append((entity.score or 0.0, (entity.span, entity.label) in right))
    model.overlap, model.linked_overlap = levels
    return predicted, gold


def best_threshold(predicted: Iterable[Scored], gold: int, default: float) -> float:
    """The threshold with the best F1, half-way between the last probability above it and the next one below.

    >>> best_threshold([(0.9, True), (0.3, True), (0.2, False)], gold=2, default=0.5)
    0.25
    """
    ranked = [
        (score, [right for _, right in group])
        for score, group in groupby(sorted(predicted, reverse=True), key=lambda pair: pair[0])
    ]
    below = [*(score for score, _ in ranked), LEAST][1:]
    best, threshold, hits, count = 0.0, default, 0, 0
    for (score, group), after in zip(ranked, below, strict=True):
        hits, count = hits + sum(group), count + len(group)
        f1 = 2 * hits / (count + gold)
        if f1 > best:
            best, threshold = f1, (score + after) / 2
    return threshold
