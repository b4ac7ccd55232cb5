"""Evidence to look at in a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from nearspan.document import Span
from nearspan.evidence.evidence import Evidence, Neighbour

CONTEXT = 40  # characters shown on each side of a training span
BAR = 20

STRENGTHS = {
    "exact": "exact: these training spans' shares add up to the probability",
    "attended": "attended: training occurrences of the words, blended into the words' states",
    "nearest": "nearest: look-alikes by cosine, not the mechanism that decided",
}


def render(evidence: Evidence) -> RenderableType:
    """One span with its label and the training spans behind it."""
    title = Text.assemble((evidence.text, "bold"), "  ", _label(evidence.label))
    title.append(f"  {evidence.probabilities[evidence.label]:.3f}", "bold")
    less = [(label, value) for label, value in evidence.probabilities.items() if label != evidence.label]
    rest = [f"{_name(label)} {value:.3f}" for label, value in less[:3] if value >= 0.0005]
    if rest:
        title.append("   then " + ", ".join(rest), "dim")
    table = Table(box=None, show_header=False, padding=(0, 1), title=STRENGTHS[evidence.strength], title_justify="left")
    table.title_style = "dim italic"
    for _ in range(3):
        table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for label, group in evidence.neighbours.items():
        if evidence.strength == "exact" and evidence.probabilities[label] < 0.0005:
            continue
        for one in group:
            if evidence.strength == "nearest" or one.weight >= 0.0005:
                table.add_row(_label(label), f"{one.weight:.3f}", _bar(one.weight), _in_context(one))
        left = evidence.unlisted.get(label, 0.0)
        if left >= 0.0005:
            table.add_row(_label(label), f"{left:.3f}", _bar(left), Text("all others of this label together", "dim"))
    for word in evidence.recalled if evidence.strength == "attended" else ():
        said = f"{word.share:.0%} of {word.text!r} is what it was in training:" if word.share else ""
        table.add_row("", "", "", Text(said or f"{word.text!r} is not in the training data", "dim italic"))
        for one in word.neighbours:
            table.add_row(_label(one.label), f"{one.weight:.3f}", _bar(one.weight), _in_context(one))
        if word.unlisted >= 0.0005:
            others = Text("all other occurrences together", "dim")
            table.add_row("", f"{word.unlisted:.3f}", _bar(word.unlisted), others)
    return Group(title, table, Text())


def marked(text: str, spans: list[tuple[Span, str]]) -> Text:
    """A text with its spans underlined and their labels behind them."""
    shown = Text(text)
    for span, _ in spans:
        for start, end in span.fragments:
            shown.stylize("bold underline", start, end)
    for span, label in sorted(spans, key=lambda one: (-one[0].end, one[0].start)):  # the innermost label stands first
        end = span.end
        shown = Text.assemble(shown[:end], (f"⟨{label}⟩", "cyan"), shown[end:])
    return shown


def _in_context(one: Neighbour) -> Text:
    start, end = one.span.start, one.span.end
    before, after = one.sentence[max(0, start - CONTEXT) : start], one.sentence[end : end + CONTEXT]
    left, right = "…" if start > CONTEXT else "", "…" if end + CONTEXT < len(one.sentence) else ""
    found = Text.assemble(left + before, (one.sentence[start:end], "bold underline"), after + right)
    found.append(f"   {one.document}", "dim")
    return Text(" ").join(found.split("\n"))


def _label(label: str) -> Text:
    return Text(label or "no entity", "cyan" if label else "magenta")


def _name(label: str) -> str:
    return label or "no entity"


def _bar(weight: float) -> Text:
    return Text("█" * round(BAR * max(0.0, min(1.0, weight))), "green")
