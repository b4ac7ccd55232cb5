"""Plant errors in a corpus; train on it; audit it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from nearspan.document import Document, Entity


@dataclass(frozen=True)
class Planted:
    """A corpus with errors, and where they are: by the document's position."""

    documents: list[Document]
    flips: set[tuple[int, Entity]]  # the entity as it now stands, with the wrong label
    drops: set[tuple[int, Entity]]  # the entity that is gone


def plant(documents: Sequence[Document], seed: int, flips: float = 0.05, drops: float = 0.05) -> Planted:
    """Give a share of the entities another label, and take a share away; no entity has both done to it.

    The other label is drawn evenly from the corpus's other labels.
    """
    chance = random.Random(seed)
    labels = sorted({entity.label for document in documents for entity in document.entities})
    places = [(number, entity) for number, document in enumerate(documents) for entity in set(document.entities)]
    places.sort()
    chance.shuffle(places)
    first, second = round(flips * len(places)), round(drops * len(places))
    wrong = {
        (number, entity): Entity(entity.span, chance.choice([label for label in labels if label != entity.label]))
        for number, entity in places[:first]
    }
    gone = set(places[first : first + second])
    noisy = [
        document.with_entities(
            wrong.get((number, entity), entity)
            for entity in dict.fromkeys(document.entities)
            if (number, entity) not in gone
        )
        for number, document in enumerate(documents)
    ]
    return Planted(noisy, {(number, entity) for (number, _), entity in wrong.items()}, gone)
