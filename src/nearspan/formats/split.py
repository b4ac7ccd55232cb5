"""A corpus in parts: training, development and test data that share no document, with all labels in each."""

import logging
import random
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from operator import attrgetter
from types import MappingProxyType
from typing import Literal

from nearspan.document import Document, Entity, Fragment
from nearspan.errors import CorpusError
from nearspan.formats.corpus import Corpus
from nearspan.formats.files import Documents, as_documents
from nearspan.segment import split as split_sentences

logger = logging.getLogger(__name__)

Unit = Literal["documents", "sentences"]
PARTS: Mapping[str, float | None] = MappingProxyType({"train": 0.8, "dev": 0.1, "test": 0.1})
FEWEST = 10  # documents; a corpus of fewer is cut at its sentences


def split(
    documents: Documents, parts: Mapping[str, float | None] = PARTS, *, seed: int = 0, by: Unit | None = None
) -> dict[str, Corpus]:
    """Divide a corpus into parts that have each label as often as their size lets expect.

        parts = nearspan.split("corpus.jsonl", {"train": 0.8, "dev": 0.1, "test": 0.1})
        nearspan.write(parts["train"], "train.jsonl")

    A label that several documents have is in every part where there are enough of them, however rare it is. The order
    of the documents is kept, and the same seed gives the same parts.

    Args:
        documents: a path, several paths, a corpus, or documents.
        parts: by name a share of the documents (0.8), a number of them (200), or None for all that the others leave.
        seed: what chance begins with.
        by: keep `documents` whole, or part them at their `sentences`; a part then has what it got of a document as one
            document. Not given: documents, unless there are fewer than ten, as in a column file without -DOCSTART-.

    >>> corpus = [Document("Oslo", (Entity.of(0, 4, "PLACE"),), id=str(number)) for number in range(10)]
    >>> {name: len(part) for name, part in split(corpus, {"train": None, "dev": 2}).items()}
    {'train': 8, 'dev': 2}
    """
    corpus = as_documents(documents)
    if by is None:
        by = "documents" if len(corpus) >= FEWEST else "sentences"
        if by == "sentences":
            logger.warning("there are fewer than %d documents (%d): they are cut at sentences", FEWEST, len(corpus))
    stretches = [stretch for index, document in enumerate(corpus) for stretch in _stretches(document, index, by)]
    sizes = _sizes(parts, len(stretches), by)
    labels = [Counter(entity.label for entity in stretch.entities) for stretch in stretches]
    chosen = _assign(labels, sizes, random.Random(seed))
    return {
        name: _part(corpus, [stretch for stretch, part in zip(stretches, chosen, strict=True) if part == number])
        for number, name in enumerate(parts)
    }


@dataclass(frozen=True)
class _Stretch:
    """Characters of a document that stay together, and their entities in order."""

    document: int
    start: int
    end: int
    entities: Sequence[Entity]


def _sizes(parts: Mapping[str, float | None], total: int, unit: Unit) -> list[int]:
    """How many of `total` each part gets; shares are rounded so that nothing is left over."""
    for name, size in parts.items():
        if size is not None and not (0 < size < 1 or (size >= 1 and size == int(size))):
            raise CorpusError(f"`parts`: {name!r} is {size:g}; give a share such as 0.1, or a number of {unit}")
    if total < len(parts) or not parts:
        raise CorpusError(f"{total:,} {unit} cannot be divided into {len(parts)} parts")
    wanted = [size if size is None else size * total if size < 1 else size for size in parts.values()]
    rest = total - sum(size for size in wanted if size is not None)
    if wanted.count(None) > 1 or (abs(rest) > 1e-6 * total if None not in wanted else rest < 1):
        sizes = ", ".join(f"{name} {'the rest' if size is None else f'{size:g}'}" for name, size in parts.items())
        advice = "let shares add up to 1, or let one part have no size and take the rest"
        raise CorpusError(f"`parts` do not add up to the {total:,} {unit}: {sizes}; {advice}")
    exact = [rest if size is None else size for size in wanted]
    whole = [int(size + 1e-6) for size in exact]
    for index in sorted(range(len(exact)), key=lambda index: whole[index] - exact[index])[: total - sum(whole)]:
        whole[index] += 1
    while not all(whole):  # a part of nothing takes one from the largest
        whole[whole.index(0)] += 1
        whole[whole.index(max(whole))] -= 1
    return whole


def _assign(labels: Sequence[Counter[str]], sizes: Sequence[int], chance: random.Random) -> list[int]:
    """The part of each unit: iterative stratification (Sechidis et al. 2011), the rarest label first.

    Of a label's units the largest go first. Each goes where it brings the counts of its labels nearest to what the
    parts' sizes let expect; the label's last ones go to the parts that have none of it yet.
    """
    total = sum(labels, Counter[str]())
    expected = [{label: count * size / len(labels) for label, count in total.items()} for size in sizes]
    missing = [dict(counts) for counts in expected]  # by part and label, what is still to come
    room = list(sizes)
    part_of = [-1] * len(labels)

    def rise(unit: int, part: int) -> float:
        """How much a unit adds to the chi-square of a part's counts, the number of its units among them."""
        counts = ((count, missing[part][label], expected[part][label]) for label, count in labels[unit].items())
        return sum(
            (count * count - 2 * count * lack) / size for count, lack, size in (*counts, (1, room[part], sizes[part]))
        )

    left = {label: {unit for unit, counts in enumerate(labels) if label in counts} for label in sorted(total)}
    while left:
        label = min(left, key=lambda label: (len(left[label]), label))
        units = sorted(left.pop(label))
        chance.shuffle(units)
        units.sort(key=lambda unit: -labels[unit].total())
        for later, unit in zip(reversed(range(len(units))), units, strict=True):
            free = [part for part in range(len(sizes)) if room[part]]
            without = [part for part in free if missing[part][label] == expected[part][label]]
            part = min(without if later < len(without) else free, key=lambda part: rise(unit, part))
            part_of[unit] = part
            room[part] -= 1
            for name, count in labels[unit].items():
                missing[part][name] -= count
                left.get(name, set()).discard(unit)
        left = {label: units for label, units in left.items() if units}
    unlabelled = [unit for unit, counts in enumerate(labels) if not counts]
    chance.shuffle(unlabelled)
    places = [part for part, free in enumerate(room) for _ in range(free)]
    for unit, part in zip(unlabelled, places, strict=True):
        part_of[unit] = part
    return part_of


def _stretches(document: Document, index: int, by: Unit) -> Iterator[_Stretch]:
    """A document as a whole, or its sentences with the blanks after them; those that share an entity stay together.

    >>> parts = _stretches(Document("One. Two. Three.", (Entity.of(5, 16, "X"),)), 0, "sentences")
    >>> [(part.start, part.end) for part in parts]
    [(0, 5), (5, 16)]
    """
    starts = [0, *(sentence.start for sentence in split_sentences(document)[1:])] if by == "sentences" else [0]
    inside: set[int] = set()  # sentences that begin inside an entity
    for entity in document.entities:
        inside.update(starts[bisect_right(starts, entity.start) : bisect_left(starts, entity.end)])
    entities = sorted(document.entities)
    for start, end in pairwise([*(start for start in starts if start not in inside), len(document.text)]):
        first, stop = (bisect_left(entities, edge, key=attrgetter("start")) for edge in (start, end))
        yield _Stretch(index, start, end, entities[first:stop])


def _part(corpus: Corpus, stretches: Iterable[_Stretch]) -> Corpus:
    """The documents of a part, each with those of its stretches that the part got."""
    pieces = {index: list(group) for index, group in groupby(stretches, key=attrgetter("document"))}
    documents = tuple(_excerpt(corpus[index], group) for index, group in pieces.items())
    places = tuple(corpus.place(index) for index in pieces) if corpus.places else ()
    return Corpus(documents, (), corpus.format, min(corpus.docstarts, len(documents)), places)


def _excerpt(document: Document, stretches: Sequence[_Stretch]) -> Document:
    """Some stretches of a document as a document.

    >>> document = Document("One. Two. Three.", (Entity.of(10, 15, "X"),))
    >>> first, _, last = _stretches(document, 0, "sentences")
    >>> _excerpt(document, [first, last])
    Document('', 11 characters, 1 entity: 'One. Three.')
    """
    if stretches[0].start == 0 and stretches[0].end == len(document.text):
        return document
    given = (document.words or (), [(sentence.start, sentence.end) for sentence in split_sentences(document)])
    kept: tuple[list[Fragment], list[Fragment]] = ([], [])  # words and sentences
    entities: list[Entity] = []
    size = 0
    for stretch in stretches:
        by = size - stretch.start
        entities += [replace(entity, span=entity.span.shift(by)) for entity in stretch.entities]
        for offsets, all_offsets in zip(kept, given, strict=True):
            first, stop = (bisect_left(all_offsets, (edge,)) for edge in (stretch.start, stretch.end))
            offsets += [(start + by, end + by) for start, end in all_offsets[first:stop]]
        size += stretch.end - stretch.start
    text = "".join(document.text[stretch.start : stretch.end] for stretch in stretches)
    text = text[: max(len(text.rstrip()), *(entity.end for entity in entities), 0)]
    words = None if document.words is None else tuple(kept[0])
    return Document(text, tuple(entities), document.id, words, tuple(kept[1]))
