"""Coverage: what was read, and what the settings put out of reach."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from nearspan.document import count_of


@dataclass(frozen=True, slots=True)
class Coverage:
    """Counts of what was read, and of the entities out of reach by reason. Coverages add up.

    >>> read = Coverage(1, 10, 200, 30, {"misaligned": 1})
    >>> print(read + Coverage(unreachable={"wider than 6 words": 2}))
    30 entities in 10 sentences; 3 unreachable (2 wider than 6 words, 1 misaligned)
    >>> sum([read, read], Coverage()).reachable
    58
    """

    documents: int = 0
    sentences: int = 0
    words: int = 0
    entities: int = 0
    unreachable: Mapping[str, int] = field(default_factory=dict)

    @property
    def reachable(self) -> int:
        """Entities that a prediction can still equal."""
        return self.entities - sum(self.unreachable.values())

    def __add__(self, other: Self) -> Self:
        reasons = Counter(self.unreachable)
        reasons.update(other.unreachable)
        documents, sentences = self.documents + other.documents, self.sentences + other.sentences
        words, entities = self.words + other.words, self.entities + other.entities
        return type(self)(documents, sentences, words, entities, dict(reasons))

    def to_dict(self) -> dict[str, Any]:
        """For JSON; reasons with the largest count first."""
        return asdict(self) | {"reachable": self.reachable, "unreachable": dict(self._reasons())}

    def __str__(self) -> str:
        line = f"{count_of(self.entities, 'entity', 'entities')} in "
        line += count_of(self.sentences, "sentence", "sentences")
        if not any(self.unreachable.values()):
            return f"{line}; all reachable" if self.entities else line
        listed = ", ".join(f"{count:,} {reason}" for reason, count in self._reasons())
        return f"{line}; {self.entities - self.reachable:,} unreachable ({listed})"

    def _reasons(self) -> list[tuple[str, int]]:
        reasons = ((reason, count) for reason, count in self.unreachable.items() if count)
        return sorted(reasons, key=lambda item: (-item[1], item[0]))
