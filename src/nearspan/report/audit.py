"""Audit a corpus: which annotations do the training spans around them contradict?"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from nearspan.errors import ModelError, NearspanError
from nearspan.evaluation.evaluator import UNKNOWN_LABEL
from nearspan.explain.evidence import Neighbour, neighbours_at
from nearspan.formats import Documents, as_documents
from nearspan.io.atomic import write_file
from nearspan.io.outputs import check_outputs
from nearspan.knn.leave_one_out import LeaveOneOut
from nearspan.knn.storage import NO_MEMORY
from nearspan.model import Model
from nearspan.progress import Progress
from nearspan.progress import progress as show_progress
from nearspan.report.label_issues import LabelIssue, find_label_issues
from nearspan.report.leave_one_out_predictions import LeaveOneOutPredictions, predict_leave_one_out, split_corpus
from nearspan.report.rendering import render_page
from nearspan.segment import Coverage


@dataclass(frozen=True)
class Audit:
    """Label issues, the gravest first, and what of the corpus could be looked at."""

    issues: Sequence[LabelIssue]
    coverage: Coverage
    strength: str  # `exact` where the neighbours' shares are how the model decides, else `nearest`
    total: int  # issues before the list was cut to the gravest

    @property
    def kinds(self) -> dict[str, int]:
        """How many issues of each kind are listed."""
        return dict(Counter(issue.kind for issue in self.issues).most_common())

    def lines(self) -> Iterator[str]:
        """The list as JSON lines."""
        return (json.dumps(issue.to_dict(), ensure_ascii=False) + "\n" for issue in self.issues)

    def write(self, path: Path | str, *, force: bool = False) -> None:
        """Write the list as JSON lines, over a file that is there only with `force`."""
        check_outputs([Path(path)], force=force)
        write_file(Path(path), self.lines())

    def page(self, labels: Sequence[str], corpus: str = "") -> str:
        """The list as HTML; `labels` give the colours, and `corpus` is the name of what was audited."""
        title = f"{self.total:,} label {'issue' if self.total == 1 else 'issues'}" + (f" in {corpus}" if corpus else "")
        kinds = [(kind, kind) for kind in self.kinds]
        return render_page("audit.html.j2", labels, audit=self, title=title, kind_choices=kinds)


def audit(
    model: Model, documents: Documents, *, most: int | None = None, count: int = 3, progress: Progress | None = None
) -> Audit:
    """List the annotations of a corpus that the model's memory contradicts, and what looks like a missing entity.

    The corpus may be the one that the model was trained on: a sentence and its copies are left out of the memory
    whenever its own spans are asked about. `most` cuts the list; `count` training spans are given for each side.

        result = nearspan.audit(model, "train.conll")
        for issue in result.issues[:10]:
            print(issue.kind, issue.entity.span.text(issue.document.text), issue.severity)
    """
    if model.classifies_given_spans:
        raise NearspanError(
            "this model classifies given spans and has no opinion on what is an entity: audit with one that finds "
            "entities, trained with suggester.kind=all"
        )
    if not model.datastore:
        raise ModelError(f"this model has no memory to audit with: {NO_MEMORY}")
    store = LeaveOneOut.of(model.datastore)
    if len(store.groups) < 2:
        raise ModelError("the memory holds a single sentence, and a sentence does not speak for itself: remember more")
    sentences, coverage = split_corpus(model, as_documents(documents))
    if not sentences:
        raise NearspanError("the corpus holds no words, so there is nothing to audit")
    unknown = sum(gold.label not in model.labels for sentence in sentences for gold in sentence.entities)
    coverage += Coverage(unreachable={UNKNOWN_LABEL: unknown} if unknown else {})
    with show_progress() if progress is None else nullcontext(progress) as advance:
        predictions = predict_leave_one_out(model, sentences, store, advance)
    issues = find_label_issues(model, predictions)
    listed = _add_evidence(model, store, predictions, issues[:most], count)
    return Audit(listed, coverage, "exact" if model.network.head.sums_inner_products else "nearest", len(issues))


@torch.inference_mode()
def _add_evidence(
    model: Model, store: LeaveOneOut, predictions: LeaveOneOutPredictions, issues: Sequence[LabelIssue], count: int
) -> list[LabelIssue]:
    """The issues with the training spans that speak for either side."""
    number = {label: i for i, label in enumerate(model.labels)}
    sides = [
        (i, side, number[entity.label] if entity else 0)
        for i, issue in enumerate(issues)
        for side, entity in (
            ("against", issue.suggested if issue.kind != "wrong boundary" else None),
            ("support", issue.annotated),
        )
    ]
    evidence: dict[tuple[int, str], list[Neighbour]] = {}
    for label in {label for _, _, label in sides}:
        keys = [(i, side) for i, side, its_label in sides if its_label == label]
        rows = torch.tensor([issues[i].row for i, _ in keys], device=predictions.vectors.device)
        evidence |= zip(keys, _nearest(model, store, predictions, rows, label, count), strict=True)
    return [
        replace(issue, against=evidence[i, "against"], support=evidence[i, "support"]) for i, issue in enumerate(issues)
    ]


def _nearest(
    model: Model, store: LeaveOneOut, predictions: LeaveOneOutPredictions, rows: Tensor, label: int, count: int
) -> Iterator[list[Neighbour]]:
    """For each span the nearest others with a label, with their shares in its probabilities or else their cosines."""
    totals, vectors, groups = predictions.totals, predictions.vectors[rows], predictions.groups[rows]
    scores, nearest = store.nearest_spans(vectors, groups, label, count, cosine=totals is None)
    weights = scores if totals is None else (scores - totals[rows, None]).exp()
    for score, *near in zip(scores, weights, nearest, strict=True):
        real = score.isfinite()  # fewer than `count` where the memory has no more
        neighbours = neighbours_at(store.datastore, model.labels, *(column[real] for column in near))
        yield [replace(neighbour, label=model.labels[label]) for neighbour in neighbours]
