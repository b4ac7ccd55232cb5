"""Sentences: the unit that models read, and where they end in a raw text of any language."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from operator import itemgetter
from typing import Self

from nearspan.document import Document, Fragment, Span
from nearspan.segment.abbreviations import ABBREVIATIONS, NUMBERED
from nearspan.segment.words import words

_STOPS = ".!?…"  # end a sentence when whitespace follows
_CLOSERS = "\"'”’»)]}›"
_OPENERS = "\"'“‘„«([{‹¿¡-–—"

# Stops that need no whitespace after them, with the stops and closing marks that follow.
_SURE = re.compile("[。！？｡؟۔।॥։።။។][。！？｡؟۔।॥։።။។!?…”’»）」』】》〉)]*")
_GAP = re.compile(rf"(?<=[{re.escape(_STOPS + _CLOSERS)}])\s+")
_OPENING = re.compile(rf"[\s{re.escape(_OPENERS)}]*")
_LAST = re.compile(r"[\w.]*\Z")
_LINE = re.compile("[^\n\r\f\v\x85\u2028\u2029]+")
_NEWLINE = re.compile("\r\n|[\n\r\x85\u2028]")
_PARAGRAPH = re.compile("[\f\v\u2029]")
_WORD = re.compile(r"\S+")
_ITEM = re.compile(r"(?:[-*•·–—▪◦●○■□►]|\(?(?:\d{1,2}|[a-zA-Z])[.)])\s")
_LONGEST = 12  # characters; no abbreviation is longer


@dataclass(frozen=True, slots=True, eq=False)
class Sentence:
    """A view of some consecutive words of a document, or of the pieces that a tokenizer makes of them.

    >>> document = Document("Oslo is cold.", words=((0, 4), (5, 7), (8, 12), (12, 13)))
    >>> Sentence(document, 0, document.words).tokens
    ['Oslo', 'is', 'cold', '.']
    """

    document: Document
    index: int
    words: tuple[Fragment, ...]
    around: "Siblings | None" = field(default=None, repr=False)  # the document's sentences, this one included
    wholes: tuple[Fragment, ...] | None = field(default=None, repr=False)  # of each word, where `words` are pieces

    def __len__(self) -> int:
        return len(self.words)

    @property
    def tokens(self) -> list[str]:
        """The words' texts."""
        text = self.document.text
        return [text[start:end] for start, end in self.words]

    @property
    def start(self) -> int:
        """Where the sentence begins in the document's text."""
        return self.words[0][0]

    @property
    def end(self) -> int:
        """Where the sentence ends in the document's text."""
        return self.words[-1][1]

    @property
    def text(self) -> str:
        """The sentence's characters."""
        return self.document.text[self.start : self.end]

    @property
    def unit(self) -> str:
        """What `words` are."""
        return "words" if self.wholes is None else "pieces"

    @property
    def runs(self) -> Sequence[Fragment]:
        """For each whole word which of `words` it is made of, half-open."""
        return [(i, i + 1) for i in range(len(self.words))] if self.wholes is None else self.wholes

    def part(self, first: int, stop: int) -> Self:
        """Some whole words as a sentence of their own, with nothing around."""
        words, wholes = self.words[first:stop], self.wholes
        if wholes is not None:
            inside = slice(*(bisect_left(wholes, edge, key=itemgetter(0)) for edge in (first, stop)))
            wholes = tuple((a - first, b - first) for a, b in wholes[inside])
        return type(self)(self.document, self.index, words, wholes=wholes)

    def to_document(self, id: str = "") -> Document:
        """The sentence as a document of its own, of the same whole words and without entities.

        >>> split(Document("It rained. He left."))[1].to_document("letter").sentences
        ((0, 8),)
        """
        start, words = self.start, self.words
        whole = tuple((words[first][0] - start, words[stop - 1][1] - start) for first, stop in self.runs)
        return Document(self.text, (), id, whole, ((0, self.end - start),))

    def span(self, first: int, stop: int) -> Span:
        """The characters of words `first` to `stop`, half-open."""
        return Span.of(self.words[first][0], self.words[stop - 1][1])


@dataclass(frozen=True, slots=True, eq=False)
class Siblings:
    """The sentences of a document in order, made when they are asked for. Sentences that held each other would keep
    their document in memory, and the file's block that it is of, until cycles are looked for.

    >>> [sentence.text for sentence in Siblings(Document("Who? He left."), [((0, 3), (3, 4)), ((5, 7), (8, 13))])]
    ['Who?', 'He left.']
    """

    document: Document
    words: Sequence[tuple[Fragment, ...]]  # of each sentence
    wholes: Sequence[tuple[Fragment, ...]] | None = None  # of each, where `words` are pieces

    def __iter__(self) -> Iterator[Sentence]:
        for index, of_sentence in enumerate(self.words):
            wholes = None if self.wholes is None else self.wholes[index]
            yield Sentence(self.document, index, of_sentence, self, wholes)


def split(document: Document, *, characters: bool = False) -> list[Sentence]:
    """The document's sentences that hold a word: the given ones, or those found in the text.

    Given words and sentences are kept; what is not given is found by `words` and `boundaries`. No word
    is lost: words outside the given sentences make sentences of their own, and a given word belongs
    to the sentence in which it begins.

    >>> [sentence.text for sentence in split(Document("It was Dr. Who. He left."))]
    ['It was Dr. Who.', 'He left.']
    >>> split(Document("北京 很大"), characters=True)[0].tokens
    ['北', '京', '很', '大']
    """
    return list(Siblings(document, split_words(document, characters=characters)))


def split_words(document: Document, *, characters: bool = False) -> list[tuple[Fragment, ...]]:
    """The words of each sentence that `split` gives.

    >>> split_words(Document("Who? He left."))
    [((0, 3), (3, 4)), ((5, 7), (8, 12), (12, 13))]
    """
    text = document.text
    inner = boundaries(text) if document.sentences is None else chain.from_iterable(document.sentences)
    edges = [0, *sorted({edge for edge in inner if 0 < edge < len(text)}), len(text)]
    groups: list[tuple[Fragment, ...]] = []
    if document.words is not None:
        starts = [start for start, _ in document.words]
        cuts = [0, *(bisect_left(starts, edge) for edge in edges[1:-1]), len(starts)]
        groups += [document.words[first:stop] for first, stop in pairwise(cuts)]
    else:
        for start, end in pairwise(edges):
            inside = words(text[start:end], characters)
            groups.append(tuple([(start + first, start + last) for first, last in inside] if start else inside))
    return [group for group in groups if group]


def boundaries(text: str) -> list[int]:
    """Offsets at which a sentence ends and another may begin, in order; the ends of the text are left out.

    A sentence ends
    - at a blank line, a form feed or a paragraph separator;
    - after `。 ！ ？ ؟ ۔ ।` and their kin, with the closing marks that follow;
    - after `! ? …` or a full stop, with the closing marks that follow, before whitespace. Not after a listed
      abbreviation, an initial, a dotted abbreviation or a number of one or two digits (`3. Oktober`); not
      before `,`, `;` or `:`. Before a small letter only after an unquoted `!` or `?`, or a full stop behind
      an ordinary word of four letters or more;
    - at a single line break that nobody needed for lack of room: the next line is a list item, or it begins
      with no small letter and its first word would have fitted into the widest line of the paragraph.
      Lines that a machine has wrapped stay together, headings stand alone.

    In doubt there is no boundary: a sentence too long costs time, a sentence too short loses entities.

    >>> text = "Title\\nAt 3.5 mg vs. 4 mg (J. S. Bach et al.) it works. Why? 不知道。好"
    >>> [text[a:b].strip() for a, b in zip([0, *boundaries(text)], [*boundaries(text), None])]
    ['Title', 'At 3.5 mg vs. 4 mg (J. S. Bach et al.) it works.', 'Why?', '不知道。', '好']
    """
    edges = {match.end() for match in _SURE.finditer(text)}
    edges.update(gap.start() for gap in _GAP.finditer(text) if ends_sentence(text, gap.start(), gap.end()))
    for paragraph in _paragraphs(text):
        edges.add(paragraph[-1][1])
        widest = max(end - start for start, end in paragraph)
        for line, following in pairwise(paragraph):
            if _is_deliberate(text, line, following, widest):
                edges.add(line[1])
    return sorted(edge for edge in edges if 0 < edge < len(text))


def ends_sentence(text: str, end: int, following: int) -> bool:
    """Whether a sentence ends before the whitespace `text[end:following]`."""
    stop = end
    while stop and text[stop - 1] in _CLOSERS:
        stop -= 1
    first = stop
    while first and text[first - 1] in _STOPS:
        first -= 1
    marks = text[first:stop]
    if not marks:
        return False
    opening = _OPENING.match(text, following)
    after = opening.end() if opening else following
    if text[after : after + 1] in (",", ";", ":"):
        return False
    small = text[after : after + 1].islower()
    if "!" in marks or "?" in marks:
        speech = stop < end or text[following : following + 1] in ("-", "–", "—")  # "Really?" he said
        return not (small and speech)
    if marks != ".":
        return not small
    last = _LAST.search(text[max(0, first - _LONGEST) : first])
    word = last.group() if last else ""
    if "." in word or word.casefold() in ABBREVIATIONS:
        return False
    if word.casefold() in NUMBERED and text[after : after + 1].isdigit():
        return False
    if (len(word) == 1 and word.isalpha()) or (len(word) <= 2 and word.isdigit()):
        return False
    return not small or (len(word) >= 4 and word.islower())


def _paragraphs(text: str) -> Iterator[list[Fragment]]:
    """The lines of each paragraph, without the whitespace around them."""
    lines: list[Fragment] = []
    for match in _LINE.finditer(text):
        stripped = match.group().strip()
        if not stripped:
            continue
        start = match.start() + match.group().index(stripped[0])
        if lines:
            between = text[lines[-1][1] : start]
            if _PARAGRAPH.search(between) or len(_NEWLINE.findall(between)) > 1:
                yield lines
                lines = []
        lines.append((start, start + len(stripped)))
    if lines:
        yield lines


def _is_deliberate(text: str, line: Fragment, following: Fragment, widest: int) -> bool:
    """Whether the line break after `line` was made for its meaning and not for lack of room."""
    if _ITEM.match(text, *following):
        return True
    if text[following[0]].islower():
        return False
    word = _WORD.match(text, *following)
    return line[1] - line[0] + 1 + (word.end() - word.start() if word else 0) <= widest
