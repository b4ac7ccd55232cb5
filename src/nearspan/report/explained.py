"""Evidence as a page of its own: a text, its entities, and what each rests on. It loads nothing."""

from __future__ import annotations

from collections.abc import Sequence

from nearspan.explain import Evidence, Neighbour, RecalledWord, describe_removal
from nearspan.report.elements import bar, chip, highlighted, text
from nearspan.report.frame import frame

STRENGTHS = {
    "exact": "Exact: the label is a vote of training spans, and these shares add up to the probability.",
    "attended": "Attended: training occurrences of the words, with their weights in what each word recalled; that is a "
    "part of the words' states, from which the head decided.",
    "nearest": "Nearest: look-alikes by cosine, not the mechanism that decided.",
}


def page(whole: str, found: Sequence[Evidence], labels: Sequence[str]) -> str:
    """The evidence for some spans of a text as HTML."""
    cards = "".join(_card(one, whole, labels) for one in found) or "<p>No entity was found.</p>"
    return frame("evidence", "Why", f'<p class="query">{_whole(whole, found)}</p>', cards)


def _whole(whole: str, found: Sequence[Evidence]) -> str:
    if not found:
        return f'<span dir="auto" class="context">{text(whole)}</span>'
    return highlighted(whole, [(one.span, "predicted") for one in found], around=len(whole))


def _card(evidence: Evidence, whole: str, labels: Sequence[str]) -> str:
    """One span with its probabilities, its neighbours and what speaks against it."""
    ranked = " ".join(
        f"{chip(label, labels)} {100 * value:.1f}%" for label, value in list(evidence.probabilities.items())[:3]
    )
    exact = evidence.strength == "exact"
    groups = "".join(
        _neighbours(group, labels, exact) + _rest(evidence.unlisted.get(label, 0.0), label, labels)
        for label, group in evidence.neighbours.items()
        if not exact or evidence.probabilities[label] >= 0.0005
    )
    if evidence.strength == "attended":
        groups = "".join(_recalled(word, labels) for word in evidence.recalled)
    against = "" if exact else f"<h4>Against it</h4>{_neighbours(evidence.against, labels, exact)}"
    notes = [describe_removal(evidence)] if exact else []
    if evidence.knn_probabilities:
        said = ", ".join(f"{label or 'no entity'} {100 * value:.1f}%" for label, value in evidence.knn_probabilities.items())
        notes.append(f"the memory's vote has a share of {evidence.share:g} in this: {said}")
    return (
        f'<section class="card"><h3><bdi>{text(evidence.text)}</bdi> {chip(evidence.label, labels)}</h3>'
        f"<p>{highlighted(whole, [(evidence.span, 'predicted')])}</p><p>{ranked}</p>"
        f'{groups}{against}<p class="note">{STRENGTHS[evidence.strength]}</p>'
        + "".join(f'<p class="note">{text(note)}</p>' for note in notes)
        + "</section>"
    )


def _neighbours(group: Sequence[Neighbour], labels: Sequence[str], exact: bool) -> str:
    rows = "".join(
        f"<li>{chip(one.label, labels)}<span class=weight>{bar(one.weight, 'var(--accent)')}"
        f"{f'{100 * one.weight:.1f}%' if exact else f'{one.weight:.3f}'}</span>"
        f"{highlighted(one.sentence, [(one.span, 'span')])}"
        f"<small><bdi>{text(one.document)}</bdi> #{one.sentence_id}</small></li>"
        for one in group
        if not exact or one.weight >= 0.0005
    )
    return f'<ul class="neighbours">{rows}</ul>' if rows else ""


def _recalled(word: RecalledWord, labels: Sequence[str]) -> str:
    """A word with the training occurrences that were blended into its state."""
    share = f"{100 * word.share:.0f}% recalled" if word.share else "not in the training data"
    head = f"<h4><bdi>{text(word.text)}</bdi>: {share}</h4>"
    return head + _neighbours(word.neighbours, labels, exact=True)


def _rest(share: float, label: str, labels: Sequence[str]) -> str:
    if share < 0.0005:
        return ""
    return (
        f'<ul class="neighbours"><li>{chip(label, labels)}<span class=weight>{bar(share, "var(--accent)")}'
        f"{100 * share:.1f}%</span>all others of this label together</li></ul>"
    )
