"""A question: a span of a document, on the words of the window that answers for it."""

from collections.abc import Sequence
from dataclasses import dataclass

from nearspan.document import Fragment, Span
from nearspan.errors import NearspanError
from nearspan.heads import Query
from nearspan.segment import Sentence
from nearspan.segment.windows import Window, split_windows
from nearspan.spans import CandidateRules


@dataclass(frozen=True)
class Question:
    """A span to explain: runs of words of a window."""

    span: Span
    text: str  # of the span
    window: Window
    places: tuple[Fragment, ...]  # first word and stop; one, or the fragments of a discontinuous span

    @property
    def key(self) -> tuple[int, int]:
        """Which window of the document it is: questions with the same one share a query."""
        return self.window.sentence.index, self.window.start

    def candidate_rows(self, query: Query) -> list[int]:
        """The candidates that the places are; a place that is none, being too wide, is left out."""
        spans = query.candidates
        rows = (((spans.first == first) & (spans.stop == stop)).nonzero().flatten() for first, stop in self.places)
        return [int(row) for group in rows for row in group]


def locate(sentences: Sequence[Sentence], span: Span, text: str, rules: CandidateRules, has_null: bool) -> Question:
    """Place a span on the words of a document's sentences; an error where the model does not consider it."""
    if span.discontinuous and not rules.links_fragments:
        reason = (
            "links no fragments: its training data held no discontinuous entity, or its recipe leaves "
            "`fragment_linker` out"
            if has_null
            else "classifies fragments one by one: ask about each of them"
        )
        raise NearspanError(f"{text!r} is discontinuous, and this model {reason}")
    for sentence in sentences:
        if not sentence.start <= span.start < span.end <= sentence.end:
            continue
        for window in split_windows(sentence, rules.max_width):
            words, whole_words = window.sentence.words, window.sentence.runs
            starts = {words[first][0]: first for first, _ in whole_words}
            stops = {words[stop - 1][1]: stop for _, stop in whole_words}
            edges = [(starts.get(start), stops.get(end)) for start, end in span.fragments]
            places = [(first, stop) for first, stop in edges if first is not None and stop is not None]
            if len(places) < len(edges) or not window.owns(places[0][0]):
                continue
            widest = max(stop - first for first, stop in places)
            if widest > rules.max_width and not rules.tags_words:
                raise NearspanError(
                    f"{text!r} has {widest} {sentence.unit}{' in a row' * span.discontinuous}; "
                    f"this model considers spans of at most {rules.max_width} (suggester.max_width)"
                )
            return Question(span, text, window, tuple(places))
    runs = "made of runs" if span.discontinuous else "a run"
    raise NearspanError(f"{text!r} is not {runs} of whole words inside one sentence")
