"""Pieces: what a pretrained encoder's tokenizer makes of words, and sentences over pieces instead of words."""

import json
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from nearspan.document import Document, Fragment
from nearspan.encoders.packaged import PACKAGED, encoder_source
from nearspan.errors import ResourceError, first_line
from nearspan.segment import Sentence, Siblings, split

CAPITAL = re.compile("[A-Z]")
TOKENIZER, IDS = "tokenizer.json", "pieces.json"  # in the folder of a model's encoder
MOST_PIECES = 100_000  # that are read at once, where a tokenizer knows no limit


@dataclass(frozen=True)
class PieceCodes:
    """The pieces of a sentence's words."""

    ids: list[int]
    places: list[Fragment]  # the characters of each piece, counted from the beginning of its word
    of_word: list[list[int]]  # the positions of each word's pieces; every word has one or more


@dataclass(frozen=True, eq=False)
class PieceTokenizer:
    """What makes pieces of words, and the ids that stand for something else; in files it is data alone."""

    backend: Any  # of the library tokenizers
    unknown: int  # the id for what cannot be read
    padding: int
    longest: int  # pieces that the encoder can read at once

    def __post_init__(self) -> None:
        self.backend.no_truncation()
        self.backend.no_padding()

    @classmethod
    def of(cls, tokenizer: Any) -> "PieceTokenizer":
        """The same of transformers' tokenizer."""
        longest = min(tokenizer.model_max_length, MOST_PIECES)
        return cls(tokenizer.backend_tokenizer, tokenizer.unk_token_id or 0, tokenizer.pad_token_id or 0, longest)

    @classmethod
    def from_disk(cls, folder: Path) -> "PieceTokenizer":
        """The tokenizer as `save` wrote it."""
        from tokenizers import Tokenizer

        backend = Tokenizer.from_str((folder / TOKENIZER).read_text(encoding="utf-8"))
        ids = json.loads((folder / IDS).read_text(encoding="utf-8"))
        unknown, padding, longest = (ids[name] for name in ("unknown", "padding", "longest"))
        if None in map(backend.id_to_token, (unknown, padding)):
            raise ValueError(f"{IDS} names pieces that {TOKENIZER} does not have")
        return cls(backend, unknown, padding, int(longest))

    def save(self, folder: Path) -> None:
        """Write it to a folder."""
        (folder / TOKENIZER).write_text(self.backend.to_str(), encoding="utf-8")
        ids = {"unknown": self.unknown, "padding": self.padding, "longest": self.longest}
        (folder / IDS).write_text(json.dumps(ids), encoding="utf-8")

    @cached_property
    def specials(self) -> tuple[list[int], list[int]]:
        """The special tokens that stand before and after a text."""
        bare, full = (self.backend.encode("a", add_special_tokens=special).ids for special in (False, True))
        first = next(i for i in range(len(full)) if full[i : i + len(bare)] == bare)
        return full[:first], full[first + len(bare) :]


@dataclass(frozen=True)
class Splitter:
    """Splits documents into the sentences that a system reads: over words, or with a tokenizer over pieces.

    >>> [sentence.tokens for sentence in Splitter()(Document("Ann left. Bo came."))]
    [['Ann', 'left', '.'], ['Bo', 'came', '.']]
    """

    characters: bool = False  # as words
    tokenizer: PieceTokenizer | None = None

    def __call__(self, document: Document) -> list[Sentence]:
        """The sentences of a document, each with all of them around."""
        sentences = split(document, characters=self.characters)
        if self.tokenizer is None:
            return sentences
        pairs = zip(sentences, encode_pieces(sentences, self.tokenizer), strict=True)
        units = [_split_words(sentence, pieces) for sentence, pieces in pairs]
        return list(Siblings(document, [words for words, _ in units], [wholes for _, wholes in units]))


def load_tokenizer(name: str) -> PieceTokenizer:
    """A pretrained encoder's tokenizer, by the name of a packaged one, by folder or by hub id."""
    from transformers import AutoTokenizer

    source = encoder_source(name)
    safe = {"use_fast": True, "trust_remote_code": False}
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, **safe)
        if getattr(tokenizer, "add_prefix_space", None) is False:  # RoBERTa: a word has its blank in its first piece
            tokenizer = AutoTokenizer.from_pretrained(source, add_prefix_space=True, **safe)
        if _lowers_known_capitals(tokenizer):  # a BERT published without its tokenizer's settings: uncased by default
            tokenizer = AutoTokenizer.from_pretrained(source, do_lower_case=False, **safe)
    except Exception as error:  # transformers and tokenizers raise what they like
        raise loading_error(name, error) from error
    if not tokenizer.is_fast:
        raise ResourceError(
            f"the tokenizer of {name!r} has no fast version, which offsets need: choose an encoder that has one"
        )
    return PieceTokenizer.of(tokenizer)


def _lowers_known_capitals(tokenizer: Any) -> bool:
    """Whether a tokenizer lowers all letters, though its vocabulary has many pieces with capital ones."""
    normalizer = tokenizer.backend_tokenizer.normalizer if tokenizer.is_fast else None
    if normalizer is None or normalizer.normalize_str("A") != "a":
        return False
    special = set(tokenizer.all_special_tokens)
    capital = sum(piece not in special and bool(CAPITAL.search(piece)) for piece in tokenizer.get_vocab())
    return capital > len(tokenizer) / 100


def loading_error(name: str, error: Exception) -> ResourceError:
    """The error for a pretrained encoder that cannot be loaded."""
    return ResourceError(
        f"cannot load the encoder {name!r}: {first_line(error)} "
        "Give a folder with config.json, weights and tokenizer, the id of a model on the hub, or the name of one that "
        f"comes as a package: {', '.join(PACKAGED)}."
    )


def encode_pieces(sentences: Sequence[Sentence], tokenizer: PieceTokenizer) -> list[PieceCodes]:
    """The pieces of sentences' whole words. A word whose characters the tokenizer drops is read as unknown."""
    words = [_whole_words(sentence) for sentence in sentences]
    encodings = tokenizer.backend.encode_batch(words, is_pretokenized=True, add_special_tokens=False)
    pairs = zip(sentences, encodings, strict=True)
    return [_piece_codes(len(sentence.runs), encoding, tokenizer.unknown) for sentence, encoding in pairs]


def _whole_words(sentence: Sentence) -> list[str]:
    """The texts of a sentence's whole words."""
    text, words = sentence.document.text, sentence.words
    return [text[words[first][0] : words[stop - 1][1]] for first, stop in sentence.runs]


def _piece_codes(words: int, encoding: Any, unknown: int) -> PieceCodes:
    """The pieces of so many words, with an unknown one for each word that has none."""
    of_word: list[list[int]] = [[] for _ in range(words)]
    for position, word in enumerate(encoding.word_ids):
        of_word[word].append(position)
    if all(of_word):
        return PieceCodes(encoding.ids, encoding.offsets, of_word)
    codes = PieceCodes([], [], [])
    for positions in of_word:
        codes.of_word.append(list(range(len(codes.ids), len(codes.ids) + max(len(positions), 1))))
        codes.ids.extend([encoding.ids[position] for position in positions] or [unknown])
        codes.places.extend([encoding.offsets[position] for position in positions] or [(0, 0)])
    return codes


def unit_pieces(sentence: Sentence, pieces: PieceCodes) -> list[list[int]]:
    """The positions of the pieces that each word of a sentence has; over pieces, that each of its units has.

    A piece belongs to the unit in which it begins. Where a tokenizer sees a word differently in a part of
    its sentence, a unit may be left without; it then reads the first piece of its word.
    """
    if sentence.wholes is None:
        return pieces.of_word
    of_unit: list[list[int]] = [[] for _ in sentence.words]
    for (first, stop), positions in zip(sentence.wholes, pieces.of_word, strict=True):
        begin = sentence.words[first][0]
        starts = [start - begin for start, _ in sentence.words[first:stop]]
        for position in positions:
            of_unit[first + bisect_right(starts, pieces.places[position][0]) - 1].append(position)
        for unit in range(first, stop):
            of_unit[unit] = of_unit[unit] or positions[:1]
    return of_unit


def split_units(places: Sequence[Fragment], size: int) -> list[Fragment]:
    """The parts of a word of `size` characters that its pieces tell apart, in order and without gaps.

    Pieces that share characters are one unit, a piece without characters goes with one that has some, and
    characters without a piece go with those before them.

    >>> split_units([(0, 3), (3, 4)], size=4), split_units([(0, 0), (0, 1), (0, 1), (2, 3)], size=3)
    ([(0, 3), (3, 4)], [(0, 2), (2, 3)])
    """
    starts, reached = [0], 0
    for start, end in places:
        if start < end:
            if 0 < reached <= start:
                starts.append(start)
            reached = max(reached, end)
    return list(zip(starts, [*starts[1:], size], strict=True))


def _split_words(sentence: Sentence, pieces: PieceCodes) -> tuple[tuple[Fragment, ...], tuple[Fragment, ...]]:
    """The parts that its pieces make of a sentence's words, and for each word which of them it has."""
    units: list[Fragment] = []
    wholes: list[Fragment] = []
    for (start, end), positions in zip(sentence.words, pieces.of_word, strict=True):
        parts = split_units([pieces.places[position] for position in positions], end - start)
        wholes.append((len(units), len(units) + len(parts)))
        units.extend((start + first, start + last) for first, last in parts)
    return tuple(units), tuple(wholes)
