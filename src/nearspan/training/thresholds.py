"""Thresholds for labels that hold or do not hold each by itself, chosen on development data."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from nearspan.evaluation import Evaluator
from nearspan.heads import SigmoidHead

LEAST = 0.05  # no label holds below this probability
Scored = tuple[float, bool]  # the probability of a label that was guessed, and whether it is right


def fit_thresholds(judge: Evaluator) -> None:
    """Give each label of a sigmoid head the threshold with the best F1 of its own on the judge's documents.

    Labels are looked at one by one and without regard to overlaps; if all of them together score worse than
    before, the thresholds stay as they were.
    """
    model, head = judge.model, judge.model.network.head
    if not isinstance(head, SigmoidHead):
        raise TypeError(f"only the sigmoid head has thresholds, not {type(head).__name__}")
    before, f1 = head.thresholds.clone(), judge.evaluate().scores.f1
    guessed, gold = _guessed(judge, head)
    for number, label in enumerate(model.labels[1:]):
        head.thresholds[number] = best_threshold(guessed[label], gold[label], float(before[number]))
    if judge.evaluate().scores.f1 < f1:
        head.thresholds.copy_(before)


def _guessed(judge: Evaluator, head: SigmoidHead) -> tuple[dict[str, list[Scored]], dict[str, int]]:
    """For each label what a model gives any probability to, and how many entities there are."""
    model = judge.model
    guessed: dict[str, list[Scored]] = {label: [] for label in model.labels}
    gold = dict.fromkeys(model.labels, 0)
    levels = model.overlap, model.joined_overlap
    model.overlap, model.joined_overlap = "any", "any"
    head.thresholds.fill_(LEAST)
    for document, found in zip(judge.documents, judge.evaluate().predicted, strict=True):
        right = {(entity.span, entity.label) for entity in document.entities if not entity.span.discontinuous}
        for _, label in right:
            gold[label] = gold.get(label, 0) + 1
        for entity in found.entities:
            if not entity.span.discontinuous:  # those have thresholds of their own
                guessed[entity.label].append((entity.score or 0.0, (entity.span, entity.label) in right))
    model.overlap, model.joined_overlap = levels
    return guessed, gold


def best_threshold(guessed: Iterable[Scored], gold: int, default: float) -> float:
    """The threshold with the best F1, half-way between the last probability above it and the next one below.

    >>> best_threshold([(0.9, True), (0.3, True), (0.2, False)], gold=2, default=0.5)
    0.25
    """
    ranked = [
        (score, [right for _, right in group])
        for score, group in groupby(sorted(guessed, reverse=True), key=lambda one: one[0])
    ]
    below = [*(score for score, _ in ranked), LEAST][1:]
    best, threshold, hits, count = 0.0, default, 0, 0
    for (score, group), after in zip(ranked, below, strict=True):
        hits, count = hits + sum(group), count + len(group)
        f1 = 2 * hits / (count + gold)
        if f1 > best:
            best, threshold = f1, (score + after) / 2
    return threshold
