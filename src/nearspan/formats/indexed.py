"""Sentences with word indexes, as Dai et al. (2020) publish CADEC: three lines each.

    Pain in arms and legs .
    0,2 ADR|0,1,4,4 ADR
    (a blank line)

The numbers are pairs of first and last word, counted from 0, both included; several pairs make an entity
discontinuous. Each sentence is a document. A sentence without mentions has an empty line in their place. Lines that are
not in such places are listed. One that looks like mentions is a sentence only where all lines are in their places.
"""

import re
from collections.abc import Iterator
from itertools import groupby

from nearspan.formats.corpus import Corpus
from nearspan.formats.draft import Draft, to_corpus, word_offsets
from nearspan.formats.format import Format
from nearspan.formats.source import Line, Source

_MENTION = re.compile(r"[ \t]*(\d{1,9},\d{1,9}(?:,\d{1,9},\d{1,9})*)[ \t]+([^ \t]+)[ \t]*")
_WORD = re.compile(r"[^ \t]+")


def read(source: Source) -> Corpus:
    """Read a file of indexed sentences."""
    drafts: list[Draft] = []
    in_place = detect(source)
    numbered = [(number, line) for number, line in enumerate(source.lines, 1) if not (in_place and number % 3 == 1)]
    counts = {number: _count(line) for number, line in numbered if _are_mentions(line)}  # wherever they stand
    source.count(sum(counts.values()))
    for block in _blocks(source):
        (number, sentence), *rest = block
        expected = "a sentence before mentions"
        if number not in counts:
            words = _WORD.findall(sentence)
            offsets = word_offsets(words)
            id = f"{source.file}#{len(drafts) + 1}"
            draft = Draft(" ".join(words), source, number, id=id, words=offsets, sentences=[(0, offsets[-1][1])])
            drafts.append(draft)
            if rest:
                source.count(0 if rest[0][0] in counts else _count(rest[0][1]))
                _add(draft, *rest[0])
            elif number + 2 not in counts and "".join(source.lines[number + 1 : number + 2]).strip():
                source.add_unexpected("", "mentions or a second empty line", number + 1)
            block, expected = rest[1:], "a blank line"
        for at, line in block:
            source.add_unexpected(line, f"{expected}; not read", at, lost=counts.get(at, 0))
    return to_corpus(drafts, source, "indexed")


def detect(source: Source) -> bool:
    """Whether every third line is blank and those before it hold mentions or nothing, and one holds some."""
    if any(line.strip() for line in source.sample_lines[2::3]):
        return False
    mentions = [line for line in source.sample_lines[1::3] if line.strip()]
    return bool(mentions) and all(map(_are_mentions, mentions))


def _blocks(source: Source) -> Iterator[list[Line]]:
    """The lines that stand together, without blank ones."""
    for blank, lines in groupby(enumerate(source.lines, 1), key=lambda line: not line[1].strip()):
        if not blank:
            yield list(lines)


def _are_mentions(line: str) -> bool:
    return all(map(_MENTION.fullmatch, line.split("|")))


def _count(mentions: str) -> int:
    return mentions.count("|") + 1


def _add(draft: Draft, number: int, line: str) -> None:
    for mention in line.split("|"):
        match = _MENTION.fullmatch(mention)
        if match is None:
            draft.source.add_unexpected(mention, "FIRST,LAST LABEL", number, lost=1)
            continue
        numbers = [int(number) for number in match[1].split(",")]
        runs = [(first, last + 1) for first, last in zip(numbers[::2], numbers[1::2], strict=True)]
        draft.add_words(runs, draft.words or (), match[2], number)


FORMAT = Format("indexed", read, detect)
