"""The audit as one HTML page that loads nothing."""

from __future__ import annotations

from collections.abc import Sequence

from nearspan.explain import Neighbour
from nearspan.report.audit import Audit
from nearspan.report.elements import bar, chip, highlighted, section, text
from nearspan.report.frame import frame
from nearspan.report.label_issues import Doubt

TITLES = {
    "wrong label": "Wrong label",
    "wrong boundary": "Wrong boundary",
    "no entity": "No entity",
    "missing": "Missing entity",
}


def audit_page(found: Audit, labels: Sequence[str]) -> str:
    """The list as HTML; `labels` give the colours."""
    cards = "".join(_card(one, labels, found.strength) for one in found.doubts)
    counts = ", ".join(f"{count:,} {kind}" for kind, count in found.kinds.items()) or "nothing is in doubt"
    more = (
        f" The gravest {len(found.doubts):,} of {found.found:,} are listed." if found.found > len(found.doubts) else ""
    )
    legend = (
        "<p><mark class=gold>annotated</mark>, <mark class=predicted>suggested</mark>. The number is the probability "
        "that the neighbours do not give to the annotation. Open one to see the training spans that speak for either "
        "side; the sentence itself and its copies are not among them.</p>"
    )
    title = f"{found.found:,} {'doubt' if found.found == 1 else 'doubts'}"
    header = f"<p>{text(counts)}.{more} In {text(found.coverage)}.</p>"
    return frame("audit", title, header, section("doubts", "The gravest first", legend, cards))


def _card(one: Doubt, labels: Sequence[str], strength: str) -> str:
    sides = (("annotated", one.annotated, "gold"), ("suggested", one.suggested, "predicted"))
    marks = [(entity.span, name) for _, entity, name in sides if entity]
    said = "".join(
        f'<span class="said">{word} {chip(entity.label if entity else "", labels)}</span>' for word, entity, _ in sides
    )
    ranked = " ".join(
        f"{chip(label, labels)} {100 * value:.1f}%" for label, value in list(one.probabilities.items())[:3]
    )
    against, backing = (_neighbours(some, labels, strength) for some in (one.against, one.backing))
    where = f'<p class="note">{text(one.document.id)}</p>' if one.document.id else ""
    return (
        f'<details class="card"><summary><b>{one.doubt:.3f}</b> {TITLES[one.kind]}<br>'
        f"{highlighted(one.document.text, marks)}<br>{said}</summary><p>{ranked}</p>"
        f"<h4>Against the annotation</h4>{against}<h4>For the annotation</h4>{backing}{where}</details>"
    )


def _neighbours(some: Sequence[Neighbour], labels: Sequence[str], strength: str) -> str:
    if not some:
        return '<p class="note">None.</p>'
    rows = "".join(
        f"<li>{chip(one.label, labels)}<span class=weight>{bar(one.weight, 'var(--accent)')}"
        f"{f'{100 * one.weight:.1f}%' if strength == 'exact' else f'{one.weight:.3f}'}</span>"
        f"{highlighted(one.sentence, [(one.span, 'span')])}</li>"
        for one in some
    )
    return f'<ul class="neighbours">{rows}</ul>'
