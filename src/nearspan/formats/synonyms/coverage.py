"""How many of a corpus's entities have synonyms."""

from collections import Counter, defaultdict
from typing import TypedDict

from nearspan.formats.corpus import Corpus, ProblemRecord
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


def coverage(corpus: Corpus, synonyms: Synonyms) -> SynonymCoverage:
    """Count the entities that are known and those that have at least one other name.

    An annotation that a file gives twice counts twice, as in `statistics`.

    >>> from nearspan.formats.markup import parse
    >>> corpus = Corpus((parse("[Heart attack](DISEASE) after [flu](DISEASE)"),))
    >>> counts = coverage(corpus, Synonyms([("heart attack", "MI")]))
    >>> counts["entities"], counts["covered"], counts["labels"]["DISEASE"]["unknown"]
    (2, 1, ['flu'])
    """
    by_label: defaultdict[str, Counter[str]] = defaultdict(Counter)
    spelling: dict[str, str] = {}
    for index, document in enumerate(corpus.documents):
        for entity in (*document.entities, *corpus.place(index).duplicates):
            text = entity.span.text(document.text)
            key = normal_form(text)
            spelling.setdefault(key, " ".join(text.split()))
            by_label[entity.label][key] += 1
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
