"""A document as the words of sentences, for formats that hold no other text, and what it loses by that.

Its words are cut where an entity begins or ends inside one. The text of such a format is its words joined by blanks,
and its sentences by newlines.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise

from nearspan.document import Document, Entity, Fragment
from nearspan.formats.corpus import excerpt
from nearspan.formats.draft import Draft, word_offsets
from nearspan.formats.format import (
    ATTRIBUTES,
    count_attributes,
    count_scores,
    refuse_entities,
    unwritable,
)
from nearspan.formats.source import Source
from nearspan.segment import Sentence, split


@dataclass(frozen=True)
class WordGrid:
    """A document's words, the index of each sentence's first one, its entities, and what was changed.

    >>> from nearspan.formats.markup import parse
    >>> grid = WordGrid.of(parse("[Ada](PER) wrote."), "columns")
    >>> grid.tokens, grid.begins, grid.entities[0][:2]
    (['Ada', 'wrote', '.'], [0], (0, 1))
    """

    document: Document
    words: list[Fragment]
    begins: list[int]
    entities: list[tuple[int, int, Entity]]  # first word, the one after the last; no two of the same words and label
    changes: dict[str, int]

    @classmethod
    def of(cls, document: Document, format: str) -> WordGrid:
        """Lay a document out in words; a CorpusError if the format cannot hold its entities."""
        refuse_entities(document, format)
        sentences = split(document)
        words, begins = _cut_words(document, sentences)
        starts, ends = [start for start, _ in words], [end for _, end in words]
        inside: set[int] = set()  # sentences that begin inside an entity
        entities: dict[tuple[int, int, str], Entity] = {}
        trimmed = 0
        for entity in document.entities:
            first, stop = bisect_right(ends, entity.start), bisect_left(starts, entity.end)
            if first >= stop:
                raise unwritable(document, f"the entity {excerpt(entity.text)} holds no word", format)
            entities.setdefault((first, stop, entity.label), entity)
            trimmed += (starts[first], ends[stop - 1]) != (entity.start, entity.end)
            inside.update(begins[bisect_right(begins, first) : bisect_left(begins, stop)])
        begins = [begin for begin in begins if begin not in inside]
        lines = "\n".join(" ".join(sentence.tokens) for sentence in sentences)
        loses_text = lines != document.text and "".join(document.text.split()) != "".join(lines.split())
        blanks = "documents whose blanks, other than one between words and a newline between sentences, were not kept"
        changes = {
            "words cut where an entity begins or ends inside them": len(words) - sum(map(len, sentences)),
            "sentences joined to the one before, as an entity spans both": len(inside),
            "entities left out, as others have their words and label": len(document.entities) - len(entities),
            "entities cut to their words, as they begin or end between words": trimmed,
            "documents with text that is in none of their words, which was not kept": int(loses_text),
            blanks: int(not loses_text and lines != document.text),
        }
        return cls(document, words, begins, [(*key[:2], entity) for key, entity in entities.items()], changes)

    @property
    def tokens(self) -> list[str]:
        """The words' characters."""
        return [self.document.text[start:end] for start, end in self.words]

    @property
    def sentences(self) -> list[Fragment]:
        """The first word of each sentence and the one after its last."""
        return list(pairwise([*self.begins, len(self.words)]))


def lay_out(documents: Iterable[Document], format: str, changes: Counter[str]) -> Iterator[WordGrid]:
    """Documents as words; what they lose by that, scores and attributes included, is counted in `changes`."""
    for document in documents:
        grid = WordGrid.of(document, format)
        changes.update(grid.changes)
        changes["scores not kept"] += count_scores([document])
        changes[ATTRIBUTES] += count_attributes([document])
        yield grid


def draft_of_words(tokens: Sequence[str], begins: Sequence[int] | None, source: Source, line: int, id: str) -> Draft:
    """A document of words, with the sentences whose first words are given; its `words` has all, empty ones too.

    >>> from pathlib import Path
    >>> draft_of_words(["Ada", "wrote", "Yes"], [0, 2], Source(Path("a"), ""), 1, "x").text
    'Ada wrote\\nYes'
    """
    starts = [0, *sorted({begin for begin in begins or () if 0 < begin < len(tokens)})]
    offsets: list[Fragment] = []
    lines: list[str] = []
    sentences: list[Fragment] = []
    for first, stop in pairwise([*starts, len(tokens)]):
        start = offsets[-1][1] + 1 if offsets else 0
        offsets += word_offsets(tokens[first:stop], start)
        lines.append(" ".join(tokens[first:stop]))
        full = [word for word in offsets[first:stop] if word[0] < word[1]]
        sentences += [(full[0][0], full[-1][1])] if full else []
    draft = Draft("\n".join(lines), source, line, id=id, words=offsets)
    draft.sentences = None if begins is None else sentences
    return draft


def drop_empty_words(draft: Draft) -> None:
    """Leave out the empty words of a draft once its entities are added, and list them."""
    words = draft.words or ()
    draft.words = [(start, end) for start, end in words if start < end]
    if empty := len(words) - len(draft.words):
        draft.add_problem("empty", f"words that are empty, which are left out: {empty}")


def _cut_words(document: Document, sentences: Sequence[Sentence]) -> tuple[list[Fragment], list[int]]:
    """The words, cut at the ends of entities, and the index of each sentence's first word."""
    whole = [word for sentence in sentences for word in sentence.words]
    begins = [0, *accumulate(len(sentence) for sentence in sentences)][:-1]
    ends = {edge for entity in document.entities for edge in (entity.start, entity.end)}
    inside = sorted(ends.difference(chain.from_iterable(whole)))  # words, or between two
    if not inside:
        return whole, begins
    words: list[Fragment] = []
    starts: list[int] = []  # of the parts of each word
    for start, end in whole:
        starts.append(len(words))
        words += pairwise([start, *inside[bisect_right(inside, start) : bisect_left(inside, end)], end])
    return words, [starts[begin] for begin in begins]
