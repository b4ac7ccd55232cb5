"""Sections of the page on what the model is and how well it does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from nearspan.evaluation import VOCABULARIES, Counts, Scores
from nearspan.report.elements import bar, chip, measured, percent, section, table, text
from nearspan.report.failures import KINDS
from nearspan.report.figures import bars, colour, sign
from nearspan.report.findings import Findings
from nearspan.report.subject import Subject

STRUCTURES = ("flat", "nested", "covering", "both")


def names(found: Findings) -> list[str]:
    """The models' names with the sign of each, where there are two."""
    if len(found.subjects) == 1:
        return [text(found.subjects[0].name)]
    return [
        f'<span class="chip"><i style="color:{colour(i)}">{sign(i)}</i>{text(subject.name)}</span>'
        for i, subject in enumerate(found.subjects)
    ]


def model(found: Findings) -> str:
    """What was examined."""
    parts = []
    for subject, name in zip(found.subjects, names(found), strict=True):
        memory = f"{len(subject.memory):,} spans of {len(subject.memory.sentences):,} training sentences"
        chips = " ".join(chip(label, found.labels) for label in subject.model.labels[1:])
        parts.append(
            f'<div class="card"><h3>{name}</h3><p>{text(subject.model.recipe.about)}</p><dl>'
            f"<dt>labels</dt><dd>{chips}</dd><dt>memory</dt><dd>{memory}</dd>"
            f"<dt>decoding</dt><dd>{text(subject.model.overlap)}</dd></dl></div>"
        )
    settings = [dict(_flat(subject.model.recipe.model_dump())) for subject in found.subjects]
    keys = [key for key in dict.fromkeys(key for own in settings for key in own) if key not in ("name", "about")]
    rows = []
    for key in keys:
        values = [text(own.get(key, "")) for own in settings]
        differ = len(set(values)) > 1
        rows.append([f"<code>{text(key)}</code>", *(f"<b>{value}</b>" if differ else value for value in values)])
    note = " Settings that differ are bold." if len(settings) > 1 else ""
    everything = table(["setting", *names(found)], rows)
    return section(
        "model",
        "Model",
        f'<div class="grid">{"".join(parts)}</div>',
        f"<details><summary>All {len(keys)} settings</summary><p>{note}</p>{everything}</details>",
    )


def scores(found: Findings) -> str:
    """Overall scores and scores by label."""
    tiles = []
    for subject, name in zip(found.subjects, names(found), strict=True):
        own = subject.evaluation.scores
        values = {"F1": own.f1, "precision": own.precision, "recall": own.recall, "macro F1": own.macro_f1}
        tiles.append(
            f'<div class="card"><h3>{name}</h3><div class="tiles">'
            + "".join(f"<div><b>{percent(value)}</b><span>{key}</span></div>" for key, value in values.items())
            + "</div></div>"
        )
    return section(
        "scores",
        "Scores",
        "<p>An entity is right when its fragments and its label are. All numbers are percentages; "
        "overall scores are micro averages.</p>",
        f'<div class="grid">{"".join(tiles)}</div>',
        "<h3>By label</h3>",
        _compared(
            found,
            "label",
            lambda label: chip(label, found.labels),
            lambda subject: dict(subject.evaluation.scores.labels),
            long=True,
        ),
        _discontinuous(found),
    )


def _discontinuous(found: Findings) -> str:
    """Scores of discontinuous entities alone and of the sentences that hold them, where there are any."""
    if not any(subject.evaluation.discontinuous for subject in found.subjects):
        return ""
    names = {"entities": "discontinuous entities", "sentences": "all entities of sentences with discontinuous ones"}
    scores = _compared(
        found, "what", lambda key: names[key], lambda subject: _totals(subject.evaluation.discontinuous), long=True
    )
    return f"<h3>Discontinuous entities</h3>{scores}"


def coverage(found: Findings) -> str:
    """What the settings put out of reach."""
    parts = []
    alike = len({str(subject.evaluation.coverage) for subject in found.subjects}) == 1
    for subject, name in list(zip(found.subjects, names(found), strict=True))[: 1 if alike else None]:
        seen = subject.evaluation.coverage.to_dict()
        best = seen["reachable"] / seen["entities"] if seen["entities"] else 0.0
        reasons = seen["unreachable"].items()
        head = f"{seen['documents']:,} documents, {seen['sentences']:,} sentences, {seen['words']:,} words"
        lost = table(["out of reach because", "entities"], ([text(why), f"{count:,}"] for why, count in reasons))
        title = "" if alike else f"<h3>{name}</h3>"
        parts.append(
            f'<div class="card">{title}<p>{head}. {seen["reachable"]:,} of {seen["entities"]:,} entities can '
            f"be found with these settings, so recall cannot exceed <b>{percent(best)}</b>.</p>"
            f"{lost if reasons else ''}</div>"
        )
    note = "<p>Entities out of reach are counted as missed; nothing is left out of the scores.</p>"
    return section("coverage", "Coverage", note, f'<div class="grid">{"".join(parts)}</div>')


def slices(found: Findings) -> str:
    """Scores by width and structure (Zhu et al., 2023, figures 2 and 3), and vocabulary (Luo et al., 2020, table 7)."""
    widths = [_totals(subject.widths) for subject in found.subjects]
    structures = [_totals(subject.structures) for subject in found.subjects]
    if not any(widths):
        return section("slices", "Width and structure", "<p>No entities, neither gold nor predicted.</p>")
    order = sorted({key for own in widths for key in own}, key=lambda key: int(key.rstrip("+")))
    nesting = any(set(own) - {"flat"} for own in structures)
    rule = (
        "Nested: inside a gold entity that covers another. Covering: around a gold entity that is inside another. "
        "Both: nested and covering. Flat: neither. Predictions are sorted by the same rule."
        if nesting
        else "No gold entity is inside another, so all are flat."
    )
    return section(
        "slices",
        "Width and structure",
        '<div class="grid"><div><h3>By width in words</h3>',
        _bars(found, widths, order, "widths", "words"),
        _compared(found, "words", text, lambda subject: _totals(subject.widths), order=order),
        "</div><div><h3>By structure</h3>",
        _bars(found, structures, STRUCTURES, "structures", "structure") if nesting else "",
        _compared(found, "structure", text, lambda subject: _totals(subject.structures), order=STRUCTURES),
        f'</div></div><p class="note">{rule}</p>',
        _vocabularies(found),
    )


def _vocabularies(found: Findings) -> str:
    """Scores by vocabulary, where a model has word vectors."""
    if not any(subject.vocabularies for subject in found.subjects):
        return ""
    compared = _compared(
        found, "words", text, lambda subject: _totals(subject.vocabularies), order=VOCABULARIES, long=True
    )
    rule = (
        "IV: all words of the entity are in the training data and have a pretrained vector. OOTV: some word is not in "
        "the training data, all have vectors. OOEV: all are in the training data, some has no vector. OOBV: some word "
        "is not in the training data, and some has no vector. Words count as written or in lower case."
    )
    return f'<h3>By vocabulary</h3>{compared}<p class="note">{rule}</p>'


def error_kinds(found: Findings) -> str:
    """How many errors of which kind."""
    most = max((count for own in found.errors for count in own.values()), default=1)
    rows = [
        [
            kind,
            *(
                f'<span class="measured">{bar(own.get(kind, 0) / most, colour(i))}<b>{own.get(kind, 0):,}</b></span>'
                for i, own in enumerate(found.errors)
            ),
        ]
        for kind in KINDS
        if any(kind in own for own in found.errors)
    ]
    heads = names(found) if len(found.subjects) > 1 else ["errors"]
    return table(["kind", *heads], rows) if rows else "<p>No errors.</p>"


def false_positives(found: Findings) -> str:
    """Category and span errors (tables 5 and 6 of Nguyen et al., 2023)."""
    rows = [
        [
            name,
            *(f"{count:,}" for count in (own.predicted, own.category)),
            percent(own.category_share),
            f"{own.span:,}",
            percent(own.span_share),
        ]
        for name, own in zip(names(found), found.positives, strict=True)
    ]
    return (
        "<h3>False positives</h3><p>Category errors have the span of a gold entity and a wrong label, span errors have "
        "no gold entity's span; percentages are of all predictions (tables 5 and 6 of Nguyen et al., 2023).</p>"
        + table(["model", "predictions", "category errors", "%", "span errors", "%"], rows)
    )


def _totals(of: Mapping[str, Scores]) -> dict[str, Counts]:
    return {key: scores.total for key, scores in of.items()}


def _bars(found: Findings, counts: Sequence[dict[str, Counts]], keys: Sequence[str], name: str, axis: str) -> str:
    """F1 by something as a picture of all models."""
    values = [[100 * own[key].f1 if key in own else None for key in keys] for own in counts]
    caption = f"<figcaption>{' '.join(names(found))}</figcaption>" if len(counts) > 1 else ""
    return f"<figure>{caption}{bars(keys, values, name, axis)}</figure>"


def _compared(
    found: Findings,
    what: str,
    shown: Callable[[str], str],
    counts: Callable[[Subject], dict[str, Counts]],
    long: bool = False,
    order: Sequence[str] = (),
) -> str:
    """A table of F1 by something, the models side by side; precision and recall too where it is `long`.

    Rows named in `order` come first, in that order.
    """
    own = [counts(subject) for subject in found.subjects]
    heads = [f"{name} F1" for name in names(found)] if len(own) > 1 else ["F1"]
    more = ["precision", "recall"] if long else []
    head = [what, *(title for name in heads for title in (name, *more)), "gold"]
    rows = []
    present = dict.fromkeys(key for each in own for key in each)
    for key in dict.fromkeys([*(key for key in order if key in present), *present]):
        row = [shown(key)]
        for i, each in enumerate(own):
            one = each.get(key, Counts())
            row.append(measured(one.f1, colour(i)))
            row += [percent(one.precision), percent(one.recall)] if long else []
        gold = max(each[key].gold for each in own if key in each)
        rows.append([*row, f"{gold:,}"])
    return table(head, rows)


def _flat(settings: dict[str, Any], prefix: str = "") -> Iterable[tuple[str, object]]:
    """Nested settings as `part.key` and value."""
    for key, value in settings.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        elif value is not None:
            yield f"{prefix}{key}", value
