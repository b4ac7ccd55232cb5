"""Evidence to look at in a terminal."""

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from nearspan.colours import LabelColours
from nearspan.document import Span
from nearspan.explain.evidence import Evidence, Neighbour
from nearspan.io.printing import printable

CONTEXT = 40  # characters shown on each side of a training span
BAR = 20

STRENGTHS = {
    "exact": "exact: these training spans' shares add up to the probability",
    "attended": "attended: training occurrences of the words, blended into the words' states",
    "nearest": "nearest: look-alikes by cosine, not the mechanism that decided",
}


def render(evidence: Evidence, colours: LabelColours | None = None) -> RenderableType:
    """One span with its label and the training spans behind it; `colours` are those of the model's labels."""
    colours = colours or LabelColours(sorted(evidence.probabilities))
    title = Text.assemble((printable(evidence.text), "bold"), "  ", label_text(evidence.label, colours))
    title.append(f"  {evidence.probabilities[evidence.label]:.3f}", "bold")
    if evidence.score is not None and abs(evidence.score - evidence.probabilities[evidence.label]) >= 0.0005:
        title.append(f" (score after calibration {evidence.score:.3f})")
    if evidence.stranger:
        title.append("  stranger: far from all entities of the memory", "yellow")
    less = [(label, value) for label, value in evidence.probabilities.items() if label != evidence.label]
    next_best = [f"{_name(label)} {value:.3f}" for label, value in less[:3] if value >= 0.0005]
    if next_best:
        title.append("   then " + ", ".join(next_best), "dim")
    table = _table(STRENGTHS[evidence.strength])
    for label, group in evidence.neighbours.items():
        if evidence.strength == "exact" and evidence.probabilities[label] < 0.0005:
            continue
        name = label_text(label, colours)
        for near in group:
            if evidence.strength == "nearest" or near.weight >= 0.0005:
                _add_row(table, name, near.weight, in_context(near))
        left = evidence.unlisted.get(label, 0.0)
        if left >= 0.0005:
            _add_row(table, name, left, Text("all others of this label together", "dim"))
    for word in evidence.recalled if evidence.strength == "attended" else ():
        line = f"{word.text!r} is not in the training data"
        if word.weight:
            line = f"{word.weight:.0%} of {word.text!r} is what it was in training:"
        table.add_row("", "", "", Text(line, "dim italic"))
        for near in word.neighbours:
            _add_row(table, label_text(near.label, colours), near.weight, in_context(near))
        if word.unlisted >= 0.0005:
            _add_row(table, Text(), word.unlisted, Text("all other occurrences together", "dim"))
    parts: list[RenderableType] = [title]
    if evidence.knn_probabilities:
        labels = (f"{_name(name)} {value:.3f}" for name, value in evidence.knn_probabilities.items() if value >= 0.0005)
        parts.append(Text(f"the memory has a weight of {evidence.weight:g} in this: {', '.join(labels)}", "dim"))
    parts.append(table)
    if evidence.identifiers:
        parts.append(_identifiers(evidence, colours))
    if evidence.strength == "exact":
        parts.append(Text(describe_removal(evidence), "dim italic"))
    elif evidence.against:  # the list above does not show them by label
        against = _table("against it: the nearest with other labels")
        for near in evidence.against:
            _add_row(against, label_text(near.label, colours), near.weight, in_context(near))
        parts.append(against)
    return Group(*parts, Text())


def _identifiers(evidence: Evidence, colours: LabelColours) -> Table:
    """Which concepts the mention may be, and the training spans of like spelling behind them."""
    shares = ((printable(name) or "none of them", share) for name, share in evidence.identifiers.items())
    likely = ", then ".join(f"{name} {share:.3f}" for name, share in shares if share >= 0.0005)
    table = _table(f"identifier {likely}: by the spelling of these training spans")
    for near in evidence.linked:
        if near.weight >= 0.0005:
            _add_row(table, label_text(near.label, colours), near.weight, in_context(near))
    return table


def _table(title: str) -> Table:
    """A table of labels, weights, bars and where these come from."""
    columns = [Column(no_wrap=True) for _ in range(3)]
    table = Table(*columns, Column(ratio=1), box=None, show_header=False, padding=(0, 1), title=Text(title))
    table.title_justify, table.title_style = "left", "dim italic"
    return table


def _add_row(table: Table, label: Text, weight: float, source: Text) -> None:
    bar = Text("█" * round(BAR * max(0.0, min(1.0, weight))), "green")
    table.add_row(label, f"{weight:.3f}", bar, source)


def describe_removal(evidence: Evidence) -> str:
    """In words: what would have to be removed for another label."""
    removal = evidence.counter_evidence
    if removal is None:
        return "No removal from the memory would change this: nothing it is compared with has another label."
    spans = "this training span" if removal.size == 1 else f"these {removal.size:,} training spans"
    if not evidence.label:
        return f"Remove {spans} and it is {_name(removal.label)}."
    return f"Remove {spans} and it is {'no longer an entity' if not removal.label else _name(removal.label)}."


def mark_spans(text: str, spans: list[tuple[Span, str]], colours: LabelColours | None = None) -> Text:
    """A text with its spans underlined and their labels behind them; `colours` are those of the model's labels."""
    colours = colours or LabelColours(sorted({label for _, label in spans}))
    shown = Text(printable(text))
    for span, _ in spans:
        for start, end in span.fragments:
            shown.stylize("bold underline", start, end)
    for span, label in sorted(spans, key=lambda pair: (-pair[0].end, pair[0].start)):  # the innermost first
        end = span.end
        shown = Text.assemble(shown[:end], (f"⟨{printable(label)}⟩", colours[label].terminal), shown[end:])
    return shown


def in_context(near: Neighbour) -> Text:
    """A training span with some of its sentence around it, and where that is in the memory."""
    source = f"   {printable(near.document)} #{near.sentence_id}"
    identifier = f"   {printable(near.identifier)}" if near.identifier else ""
    return excerpt_of(near.span, near.sentence).append(identifier, "bold").append(source, "dim")


def excerpt_of(span: Span, text: str) -> Text:
    """A span with some of its text around it."""
    left, right = max(0, span.start - CONTEXT), min(len(text), span.end + CONTEXT)
    excerpt = Text(printable(text[left:right]))
    for first, last in span.fragments:
        excerpt.stylize("bold underline", first - left, last - left)
    excerpt = Text.assemble("…" * (left > 0), excerpt, "…" * (right < len(text)))
    return Text(" ").join(excerpt.split("\n"))


def label_text(label: str, colours: LabelColours) -> Text:
    """A label in its colour."""
    return Text(_name(label), colours[label].terminal)


def _name(label: str) -> str:
    return printable(label) or "no entity"
