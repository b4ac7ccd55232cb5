"""The words of `--span`: where they stand in a text."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from nearspan.document import Span
from nearspan.errors import ConfigError, EditError, NearspanError

if TYPE_CHECKING:
    from nearspan.explain import Evidence
    from nearspan.memory.editor import Editor
    from nearspan.model import Model

BREAK = " ... "  # between the fragments of a discontinuous entity


def explain_words(model: Model, text: str, words: str, count: int) -> Evidence:
    """Evidence for the first place of a text where words stand as whole words."""
    fragments = split_fragments(words)
    spans = find_spans(text, fragments)
    if not spans:
        raise ConfigError(f"--span {words!r} does not occur in the text")
    for span in spans[:-1]:
        with suppress(NearspanError):
            return model.explain_span(text, span, count)
    return model.explain_span(text, spans[-1], count)


def find_in_memory(editor: Editor, sentence: int, words: str, start: int) -> Span:
    """Where words stand in a sentence of a memory: at a character, or, below 0, the first place of whole words.

    The discontinuous entities that the memory holds come first, then words in a row, then words apart.
    """
    remembered = editor.sentence(sentence)
    text, fragments = remembered.text, split_fragments(words)
    spans = [
        entity.span
        for entity in remembered.entities
        if entity.span.discontinuous and [text[first:stop] for first, stop in entity.span.fragments] == fragments
    ]
    spans += find_spans(text, [words])
    spans += find_spans(text, fragments) if len(fragments) > 1 else []
    for span in spans:
        if (start < 0 or start == span.start) and editor.holds(sentence, span):
            return span
    where = f"at character {start}" if start >= 0 else "as whole words"
    raise EditError(f"{words!r} does not stand {where} in sentence {sentence}, which reads {text!r}")


def split_fragments(words: str) -> list[str]:
    """The fragments that words are given in.

    >>> split_fragments("pain in ... legs")
    ['pain in', 'legs']
    """
    fragments = words.split(BREAK)
    if not all(fragment.strip() for fragment in fragments):
        raise ConfigError(
            f"--span {words!r} lacks words: give those of an entity, with `{BREAK}` between its fragments"
        )
    return fragments


def find_spans(text: str, fragments: list[str]) -> list[Span]:
    """A span for each place of the first fragment from which all others follow."""
    starts = [match.start() for match in re.finditer(re.escape(fragments[0]), text)]
    return [span for start in starts if (span := span_at(text, start, fragments)) is not None]


def span_at(text: str, start: int, fragments: list[str]) -> Span | None:
    """The fragments one after the other, the first at a place, if they are there."""
    places = [(start, start + len(fragments[0]))]
    for fragment in fragments[1:]:
        after = places[-1][1]
        as_words = re.compile(rf"(?<!\w){re.escape(fragment)}(?!\w)").search(text, after)
        at = as_words.start() if as_words else text.find(fragment, after)
        if at < 0:
            return None
        places.append((at, at + len(fragment)))
    return Span(tuple(places))
