"""Pieces: what a pretrained encoder's tokenizer makes of words, and sentences over pieces instead of words."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nearspan.document import Document, Fragment
from nearspan.errors import ResourceError, first_line
from nearspan.segment import Sentence, split

CAPITAL = re.compile("[A-Z]")


@dataclass(frozen=True)
class Coded:
    """The pieces of some words."""

    ids: list[int]
    places: list[Fragment]  # the characters of each piece, counted from the beginning of its word
    of_word: list[list[int]]  # the positions of each word's pieces; every word has one


@dataclass(frozen=True)
class Splitter:
    """Splits documents into the sentences that a system reads: over words, or with a tokenizer over pieces.

    >>> [sentence.tokens for sentence in Splitter()(Document("Ann left. Bo came."))]
    [['Ann', 'left', '.'], ['Bo', 'came', '.']]
    """

    characters: bool = False  # as words
    tokenizer: Any = None

    def __call__(self, document: Document) -> list[Sentence]:
        """The sentences of a document, each with all of them around."""
        sentences = split(document, characters=self.characters)
        if self.tokenizer is None:
            return sentences
        views: list[Sentence] = []
        pieces = coded(sentences, self.tokenizer)
        views.extend(_over_pieces(sentence, own, views) for sentence, own in zip(sentences, pieces, strict=True))
        return views


def load_tokenizer(name: str) -> Any:
    """A pretrained encoder's tokenizer, by folder or by hub id."""
    from transformers import AutoTokenizer

    only = {"use_fast": True, "trust_remote_code": False}
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, **only)
        if getattr(tokenizer, "add_prefix_space", None) is False:  # RoBERTa: a word has its blank in its first piece
            tokenizer = AutoTokenizer.from_pretrained(name, add_prefix_space=True, **only)
        if _lowers_what_it_knows(tokenizer):  # a BERT published without its tokenizer's settings: uncased by default
            tokenizer = AutoTokenizer.from_pretrained(name, do_lower_case=False, **only)
    except Exception as error:  # transformers and tokenizers raise what they like
        raise unloadable(name, error) from error
    if not tokenizer.is_fast:
        raise ResourceError(f"the tokenizer of {name!r} has no fast version, which offsets need")
    return tokenizer


def _lowers_what_it_knows(tokenizer: Any) -> bool:
    """Whether a tokenizer makes small letters of all, though its vocabulary has many pieces with capital ones."""
    normalizer = tokenizer.backend_tokenizer.normalizer if tokenizer.is_fast else None
    if normalizer is None or normalizer.normalize_str("A") != "a":
        return False
    special = set(tokenizer.all_special_tokens)
    capital = sum(piece not in special and bool(CAPITAL.search(piece)) for piece in tokenizer.get_vocab())
    return capital > len(tokenizer) / 100


def unloadable(name: str, error: Exception) -> ResourceError:
    """What to say where a pretrained encoder cannot be loaded."""
    return ResourceError(
        f"cannot load the encoder {name!r}: {first_line(error)} "
        "Give a folder with config.json, weights and tokenizer, or the id of a model on the hub."
    )


def coded(sentences: Sequence[Sentence], tokenizer: Any) -> list[Coded]:
    """The pieces of sentences' whole words. A word whose characters the tokenizer drops is read as unknown."""
    backend = tokenizer.backend_tokenizer  # asked directly: it takes many sentences at once, on all cores
    backend.no_truncation()
    backend.no_padding()
    found = backend.encode_batch([_wholes(one) for one in sentences], is_pretokenized=True, add_special_tokens=False)
    return [_coded(len(one.runs), pieces, tokenizer.unk_token_id) for one, pieces in zip(sentences, found, strict=True)]


def _wholes(sentence: Sentence) -> list[str]:
    """The texts of a sentence's whole words."""
    text, words = sentence.document.text, sentence.words
    return [text[words[first][0] : words[stop - 1][1]] for first, stop in sentence.runs]


def _coded(words: int, pieces: Any, unknown: int) -> Coded:
    of_word: list[list[int]] = [[] for _ in range(words)]
    for position, word in enumerate(pieces.word_ids):
        of_word[word].append(position)
    found = Coded(pieces.ids, pieces.offsets, of_word)
    return found if all(of_word) else _with_unknown(found, unknown)


def shares(sentence: Sentence, pieces: Coded) -> list[list[int]]:
    """The positions of the pieces that each word of a sentence has; over pieces, that each of its units has.

    A piece belongs to the unit in which it begins. Where a tokenizer sees a word differently in a part of
    its sentence, a unit may be left without; it then reads the first piece of its word.
    """
    if sentence.wholes is None:
        return pieces.of_word
    of_unit: list[list[int]] = [[] for _ in sentence.words]
    for (first, stop), own in zip(sentence.wholes, pieces.of_word, strict=True):
        begin = sentence.words[first][0]
        starts = [start - begin for start, _ in sentence.words[first:stop]]
        for position in own:
            of_unit[first + bisect_right(starts, pieces.places[position][0]) - 1].append(position)
        for unit in range(first, stop):
            of_unit[unit] = of_unit[unit] or own[:1]
    return of_unit


def units(places: Sequence[Fragment], size: int) -> list[Fragment]:
    """The parts of a word of `size` characters that its pieces tell apart, in order and without gaps.

    Pieces that share characters are one unit, a piece without characters goes with one that has some, and
    characters without a piece go with those before them.

    >>> units([(0, 3), (3, 4)], size=4), units([(0, 0), (0, 1), (0, 1), (2, 3)], size=3)
    ([(0, 3), (3, 4)], [(0, 2), (2, 3)])
    """
    starts, reached = [0], 0
    for start, end in places:
        if start < end:
            if 0 < reached <= start:
                starts.append(start)
            reached = max(reached, end)
    return list(zip(starts, [*starts[1:], size], strict=True))


def _over_pieces(sentence: Sentence, pieces: Coded, around: Sequence[Sentence]) -> Sentence:
    """The same sentence, with pieces of its words for words."""
    found: list[Fragment] = []
    wholes: list[Fragment] = []
    for (start, end), own in zip(sentence.words, pieces.of_word, strict=True):
        parts = units([pieces.places[position] for position in own], end - start)
        wholes.append((len(found), len(found) + len(parts)))
        found.extend((start + first, start + last) for first, last in parts)
    return Sentence(sentence.document, sentence.index, tuple(found), around, tuple(wholes))


def _with_unknown(pieces: Coded, unknown: int) -> Coded:
    """The same pieces, with an unknown one for each word that has none."""
    ids: list[int] = []
    places: list[Fragment] = []
    of_word: list[list[int]] = []
    for own in pieces.of_word:
        of_word.append(list(range(len(ids), len(ids) + max(len(own), 1))))
        ids.extend([pieces.ids[position] for position in own] or [unknown])
        places.extend([pieces.places[position] for position in own] or [(0, 0)])
    return Coded(ids, places, of_word)
