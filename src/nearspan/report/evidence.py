"""Sections of the page that show training spans: errors and why, retrieval."""

from __future__ import annotations

from nearspan.document import Entity
from nearspan.explain import Evidence
from nearspan.report.elements import CONTEXT, bar, chip, highlighted, section, table, text
from nearspan.report.failures import Failure
from nearspan.report.findings import Findings, Retrieved
from nearspan.report.retrieval import closeness
from nearspan.report.sections import error_kinds, false_positives, names

LISTED = 5  # training spans shown for a span
STRENGTHS = {
    "exact": "Exact: the label is a vote of training spans. These have the largest shares; all shares make 100%.",
    "attended": "Training occurrences of the span's words, with their weights in what the words recalled: a part of "
    "the words' states, from which the head decided.",
    "nearest": "Look-alikes by cosine. They show the space, not the mechanism that decided.",
}


def errors(found: Findings) -> str:
    """Errors by kind, and some with their evidence."""
    parts = []
    for kind in dict.fromkeys(failure.kind for failure in found.failures):
        mine = [failure for failure in found.failures if failure.kind == kind]
        count = found.errors[0][kind]
        shown = f"{len(mine)} of {count:,}" if len(mine) < count else f"{count:,}"
        cards = "".join(_failure(failure, found.labels, first=i == 0) for i, failure in enumerate(mine))
        parts.append(f"<h3>{kind.capitalize()} <small>{shown}</small></h3>{cards}")
    legend = (
        f"<p>Some errors of {text(found.subjects[0].name)}: <mark class=gold>gold</mark>, "
        "<mark class=predicted>predicted</mark>. Open one to see the training spans behind it.</p>"
    )
    return section("errors", "Errors", error_kinds(found), false_positives(found), legend if parts else "", *parts)


def retrieval(found: Findings) -> str:
    """The nearest training spans of some gold spans (tables 2 and 3)."""
    if not found.retrieved:
        return section("retrieval", "Retrieval", "<p>No gold entity is in reach.</p>")
    shares = [
        [
            name,
            *(f"{100 * share:.1f}%" for share in (one.same, one.other, one.null)),
            _stacked(one.same, one.other, one.null),
        ]
        for name, one in zip(names(found), found.agreements, strict=True)
    ]
    measure = " and ".join(f"{text(subject.name)} by {closeness(subject)}" for subject in found.subjects)
    return section(
        "retrieval",
        "Retrieval",
        f"<p>The five nearest spans of the whole memory to gold spans ({measure}; tables 2 and 3 of Ouchi et al., "
        f"2020). Over {found.agreements[0].spans:,} gold spans they are:</p>",
        table(["model", "gold label", "other label", "no entity", ""], shares),
        *(_retrieved(one, found) for one in found.retrieved),
    )


def _failure(failure: Failure, labels: list[str], first: bool) -> str:
    error = failure.error
    marks = [(entity.span, name) for entity, name in ((error.gold, "gold"), (error.predicted, "predicted")) if entity]
    said = " ".join(
        f'<span class="said">{name} {_entity(entity, labels)}</span>'
        for name, entity in (("gold", error.gold), ("predicted", error.predicted))
    )
    evidence = "".join(_evidence(one, failure, labels) for one in failure.evidence)
    where = f'<p class="note">{text(error.document.id)}</p>' if error.document.id else ""
    return (
        f'<details class="card"{" open" if first else ""}><summary>{highlighted(error.document.text, marks)}'
        f"<br>{said}</summary>{evidence}{where}</details>"
    )


def _entity(entity: Entity | None, labels: list[str]) -> str:
    return chip(entity.label if entity else "", labels)


def _evidence(evidence: Evidence, failure: Failure, labels: list[str]) -> str:
    """A span's probabilities and its training spans."""
    ranked = [f"{chip(label, labels)} {100 * value:.1f}%" for label, value in list(evidence.probabilities.items())[:3]]
    groups = [*evidence.neighbours.values()]
    if evidence.strength == "attended":
        groups = [word.neighbours for word in evidence.recalled]
    everything = sorted((one for group in groups for one in group), key=lambda one: -one.weight)
    rows = "".join(
        f"<li>{chip(one.label, labels)}<span class=weight>{bar(one.weight, 'var(--accent)')}"
        f"{f'{100 * one.weight:.1f}%' if evidence.strength == 'exact' else f'{one.weight:.3f}'}</span>"
        f"{highlighted(one.sentence, [(one.span, 'span')])}</li>"
        for one in everything[:LISTED]
    )
    gold = failure.error.gold
    lost = gold is not None and gold.span == evidence.span and gold.label == evidence.label
    note = '<p class="note">The label was right here, but an overlapping span won.</p>' if lost else ""
    return (
        f'<div class="evidence"><p><b dir="auto">{text(evidence.text)}</b> {" ".join(ranked)}</p>'
        f'<ul class="neighbours">{rows}</ul>{note}<p class="note">{STRENGTHS[evidence.strength]}</p></div>'
    )


def _retrieved(one: Retrieved, found: Findings) -> str:
    columns = []
    around = CONTEXT // len(found.subjects)
    for subject, said, neighbours in zip(found.subjects, one.said, one.neighbours, strict=True):
        predicted = " ".join(chip(label, found.labels) for label in said or [""])
        rows = "".join(
            f"<li>{chip(each.label, found.labels)}{highlighted(each.sentence, [(each.span, 'span')], around)}</li>"
            for each in neighbours
        )
        columns.append(
            f"<div><h4>{text(subject.name)} <small>predicted</small> {predicted}</h4>"
            f'<ol class="neighbours">{rows}</ol></div>'
        )
    query = highlighted(one.query.sentence.text, [(one.query.span, "gold")])
    return (
        f'<div class="card"><p class="query">{query} {chip(one.query.entity.label, found.labels)}</p>'
        f'<div class="grid">{"".join(columns)}</div></div>'
    )


def _stacked(same: float, other: float, null: float) -> str:
    shares = ((same, "var(--good)"), (other, "var(--bad)"), (null, "var(--line)"))
    parts = "".join(f'<i style="width:{100 * share:.1f}%;background:{tone}"></i>' for share, tone in shares)
    return f'<span class="bar stacked">{parts}</span>'
