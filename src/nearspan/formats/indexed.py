"""Sentences with word indexes, as Dai et al. (2020) publish CADEC: three lines each.

    Pain in arms and legs .
    0,2 ADR|0,1,4,4 ADR
    (a blank line)

The numbers are pairs of first and last word, counted from 0, both included; several pairs make an entity
discontinuous. Each sentence is a document.
"""

from __future__ import annotations

import re
from itertools import groupby

from nearspan.formats.corpus import Corpus, excerpt
from nearspan.formats.draft import Draft, to_corpus, word_fragments, word_offsets
from nearspan.formats.format import Format
from nearspan.formats.source import Source

_MENTION = re.compile(r"(\d{1,9},\d{1,9}(?:,\d{1,9},\d{1,9})*) (\S+)")


def read(source: Source) -> Corpus:
    """Read a file of indexed sentences."""
    drafts: list[Draft] = []
    numbered = enumerate(source.lines, 1)
    due = 1  # the line of the next sentence
    for blank, group in groupby(numbered, key=lambda line: not line[1].strip()):
        if blank:
            continue
        lines = list(group)
        number, sentence = lines[0]
        late, due = number - due, number + max(3, len(lines) + 1)
        if len(lines) == 1 and late % 3 == 1 and _are_mentions(sentence):
            message = f"found {excerpt(sentence)} after an empty line, expected a sentence before mentions; not read"
            source.add_problem("malformed", message, number)
            due = number + 2
            continue
        words = [word for word in sentence.split(" ") if word]
        offsets = word_offsets(words)
        sentences = [(0, offsets[-1][1])] if offsets else []
        id = f"{source.file}#{len(drafts) + 1}"
        draft = Draft(" ".join(words), source, number, id=id, words=offsets, sentences=sentences)
        drafts.append(draft)
        if len(lines) > 1:
            _add(draft, *lines[1])
        for at, line in lines[2:]:
            source.add_unexpected(line, "a blank line; not read", at)
    return to_corpus(drafts, source, "indexed")


def detect(source: Source) -> bool:
    """Whether every third line is blank and those before it hold mentions or nothing."""
    lines = source.lines[:3000]
    mentions = [line for line in lines[1::3] if line.strip()]
    right = all(map(_are_mentions, mentions))
    return bool(mentions) and right and not any(line.strip() for line in lines[2::3])


def _are_mentions(line: str) -> bool:
    return all(_MENTION.fullmatch(part) for part in line.split("|"))


def _add(draft: Draft, number: int, line: str) -> None:
    words = draft.words or ()
    for mention in line.split("|"):
        match = _MENTION.fullmatch(mention.strip())
        if match is None:
            draft.source.add_unexpected(mention, "FIRST,LAST LABEL", number)
            continue
        numbers = [int(number) for number in match[1].split(",")]
        pairs = list(zip(numbers[::2], numbers[1::2], strict=True))
        if any(last < first for first, last in pairs):
            draft.add_problem("inverted", f"{mention} ends before it begins", number)
        elif any(last >= len(words) for _, last in pairs):
            draft.add_problem("out of range", f"{mention} in a sentence of {len(words)} words", number)
        else:
            indexes = [index for first, last in pairs for index in range(first, last + 1)]
            draft.add(word_fragments(indexes, words), match[2], number)


FORMAT = Format("indexed", read, detect)
