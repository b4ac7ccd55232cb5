"""Checks of what an edit is given: its weight, its labels, its text."""

from __future__ import annotations

import math
from collections.abc import Iterable

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
