"""How many of a corpus's entities have synonyms."""

from collections import Counter, defaultdict
from typing import TypedDict

from nearspan.document import Entity
from nearspan.formats.corpus import ProblemRecord
from nearspan.formats.synonyms.table import Synonyms, normal_form

_EXAMPLES = 5


class Counts(TypedDict):
    """Entities and their distinct texts: all, those that are a name, and those that have another name as well."""

    entities: int
    known: int
    covered: int
    texts: int
    known_texts: int
    covered_texts: int


class LabelCoverage(Counts):
    """The counts of a label, with the unknown texts that are most frequent."""

    unknown: list[str]


class SynonymCoverage(Counts):
    """The counts of a corpus, by label, and what the synonyms are.

    Texts are distinct after normalisation; one that has two labels counts once in the whole and once in each.
    """

    format: str
    concepts: int
    names: int
    labels: dict[str, LabelCoverage]
    problems: list[ProblemRecord]


class SynonymCounter:
    """Counts entities that are known, and those that have at least one other name.

    >>> from nearspan.formats.markup import parse
    >>> counter = SynonymCounter(Synonyms([("heart attack", "MI")]))
    >>> for entity in parse("[Heart attack](DISEASE) after [flu](DISEASE)").entities:
    ...     counter.add(entity)
    >>> counts = counter.counts()
    >>> counts["entities"], counts["covered"], counts["labels"]["DISEASE"]["unknown"]
    (2, 1, ['flu'])
    """

    def __init__(self, synonyms: Synonyms) -> None:
        self.synonyms = synonyms
        self._by_label: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._spelling: dict[str, str] = {}

    def add(self, entity: Entity) -> None:
        """Count an entity of a document."""
        key = normal_form(entity.text)
        self._spelling.setdefault(key, " ".join(entity.text.split()))
        self._by_label[entity.label][key] += 1

    def counts(self) -> SynonymCoverage:
        """What the entities so far come to."""
        synonyms, by_label, spelling = self.synonyms, self._by_label, self._spelling
        known = {key: bool(synonyms.of(key)) for key in spelling if key in synonyms}
        labels = sorted(by_label, key=lambda label: -by_label[label].total())
        return SynonymCoverage(
            **_counts(sum(by_label.values(), Counter()), known),
            format=synonyms.format,
            concepts=synonyms.concepts,
            names=synonyms.names,
            labels={label: _label(by_label[label], known, spelling) for label in labels},
            problems=[problem.to_dict() for problem in synonyms.problems],
        )


def _label(counts: Counter[str], known: dict[str, bool], spelling: dict[str, str]) -> LabelCoverage:
    unknown = [spelling[key] for key, _ in counts.most_common() if key not in known]
    return LabelCoverage(**_counts(counts, known), unknown=unknown[:_EXAMPLES])


def _counts(counts: Counter[str], known: dict[str, bool]) -> Counts:
    known_counts = [(count, known[key]) for key, count in counts.items() if key in known]
    covered = [count for count, has_others in known_counts if has_others]
    return Counts(
        entities=counts.total(),
        known=sum(count for count, _ in known_counts),
        covered=sum(covered),
        texts=len(counts),
        known_texts=len(known_counts),
        covered_texts=len(covered),
    )
