"""Checks of what an edit is given: its weight, its labels, its text."""

from __future__ import annotations

import math
from collections.abc import Iterable

from nearspan.document import Document
from nearspan.errors import EditError, did_you_mean
from nearspan.memory.reweight import Weight
from nearspan.model import Model


def check_weight(weight: Weight) -> None:
    """Refuse what is no weight."""
    if weight != "enough" and not (isinstance(weight, int | float) and 0 < weight < math.inf):
        raise EditError(
            f"a weight is a number above 0, or 'enough' (as much as is needed, which it is where none is given), "
            f"not {weight!r}"
        )


def check_labels(model: Model, labels: Iterable[str]) -> None:
    """Refuse labels that the model does not know."""
    for label in sorted(set(labels) - set(model.labels[1:])):
        raise EditError(f"the model has no label {label!r}; {did_you_mean(label, model.labels[1:])}")


def check_encodable(document: Document) -> None:
    """Refuse a text or an id that could not be written to a file."""
    try:
        for text in (document.text, document.id):
            text.encode("utf-8")
    except UnicodeEncodeError:
        raise EditError("the text or its id holds a lone surrogate, which is no character") from None
