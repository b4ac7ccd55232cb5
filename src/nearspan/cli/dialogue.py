"""A review in the terminal: a text is shown, and a line is read."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

from rich.text import Text

from nearspan.cli.explain import find_spans, split_fragments
from nearspan.cli.terminal import echo, terminal
from nearspan.colours import LabelColours
from nearspan.document import Document, Span, count_of
from nearspan.errors import AnsweredError, ConfigError, NearspanError
from nearspan.explain import mark_spans
from nearspan.explain.render import label_text
from nearspan.model import Model
from nearspan.model.decode import replace_entity
from nearspan.review import Review, Task

PROMPT = "Enter: right   s: skip   u: undo   q: stop   ?: more > "
HELP = """\
   2 = PLACE       entity 2 is a PLACE; the beginning of a label will do: 2 = pl
   -2              entity 2 is none
   Oslo = PLACE    an entity that is missing; ` ... ` parts fragments, and Oslo#2 is the second Oslo
   r               the entities as the model has read them
   t               train the model again with all answers, in the background
   Enter           put the text into the memory as it is shown"""


class Dialogue:
    """What a reviewer is shown, and what becomes of what is typed."""

    def __init__(self, review: Review, reviewer: str, configure: Callable[[Model], Model]) -> None:
        self.review, self.reviewer, self.configure = review, reviewer, configure
        self.task: Task | None = None
        self.document = Document("")  # the text with the entities that it is to have
        self.colours = LabelColours(review.model.labels)
        self.training = ""  # how it stood when that was last said

    def run(self) -> None:
        """Ask text after text, until there is none left or the reviewer stops."""
        self._next()
        while self.task is not None and (line := _read_line()) not in (None, "q"):
            try:
                self._do(line or "")
            except AnsweredError as error:
                echo(f"   {error}")
                self._next()
            except NearspanError as error:
                echo(f"   {error}")

    def _do(self, line: str) -> None:
        if line == "?":
            echo(HELP)
        elif line == "u":
            self._take(self.review.undo(self.reviewer))
        elif line == "s":
            self.review.skip(self.document, self.reviewer)
            self._next()
        elif line == "t":
            self.review.train()
            echo("   the model is trained in the background; once it is ready, the review goes on with it")
        elif line == "r" and self.task is not None:
            self.document = self.task.document
            self._show()
        elif line:
            self.document = change(self.document, line, self.review.model)
            self._show()
        else:
            answer = self.review.answer(self.document, self.reviewer)
            for each in answer.edit.receipt[1:]:  # the first says what is shown
                echo(f"   {each}")
            if answer.is_late:
                echo("   your time for this text was over; the answer counts, as nobody else has given one")
            self._next()

    def _next(self) -> None:
        """The next text, read by the model that was trained meanwhile, where one is ready."""
        if self.review.swap(self.configure):
            self.colours = LabelColours(self.review.model.labels)
            echo("   the model is trained, and goes on with the texts that are left")
        before, self.training = self.training, self.review.progress().training
        if self.training.startswith("failed") and self.training != before:
            echo(f"   the training has {self.training}")
        self._take(self.review.next(self.reviewer))

    def _take(self, task: Task | None) -> None:
        """Go on with a text."""
        self.task = task
        if task is not None:
            self.document = task.document
            echo(f"\n{self.review.progress()}")
            self._show()

    def _show(self) -> None:
        """The text with its entities, and these one by one with their numbers."""
        colours, console = self.colours, terminal()
        entities = self.document.entities
        marked = mark_spans(self.document.text, [(entity.span, entity.label) for entity in entities], colours)
        console.print(Text("   ").join([Text(""), *marked.split("\n")]), soft_wrap=True)
        for number, entity in enumerate(entities, start=1):
            score = f"  {entity.score:.2f}" if entity.score is not None else ""
            parts = (f"   {number}  ", (entity.text, "bold"), "  ", label_text(entity.label, colours), (score, "dim"))
            console.print(Text.assemble(*parts), soft_wrap=True)
        if not entities:
            console.print(Text("   no entity", "dim"))


def change(document: Document, line: str, model: Model) -> Document:
    """A text whose entities are changed as a line says: `2 = PLACE`, `-2` or `Oslo = PLACE`."""
    removed = re.fullmatch(r"-\s*(\d+)", line)
    words, equals, name = line.rpartition("=")
    if not removed and not equals:
        raise ConfigError(f"{line!r} says nothing that can be done; ? tells how to correct")
    words, label = (removed[1], "") if removed else (words.strip(), find_label(name.strip(), model))
    span = document.entities[_index(words, document)].span if words.isdecimal() else find_words(words, document)
    entities = replace_entity(document.entities, span, label, model.overlap, model.linked_overlap)
    return document.with_entities(entities)


def find_label(name: str, model: Model) -> str:
    """The label that a name is the beginning of, in any case; a name that is none is left to the memory to judge.

    Where several labels begin so, it must be one of them as it is.
    """
    labels = [label for label in model.labels[1:] if label.casefold().startswith(name.casefold())]
    if not name or (len(labels) > 1 and name not in labels):
        raise ConfigError(f"which label is {name!r}: {', '.join(labels)}?")
    return name if name in labels or not labels else labels[0]


def find_words(words: str, document: Document) -> Span:
    """Where words stand in a text as whole words: for the first time, or the second time where they end in `#2`."""
    words, number = (match[1], int(match[2])) if (match := re.fullmatch(r"(.+)#(\d+)", words)) else (words, 1)
    edges = document.words or ()
    starts, ends = ({pair[side] for pair in edges} for side in (0, 1))
    spans = [
        span
        for span in find_spans(document.text, split_fragments(words))
        if all(start in starts and end in ends for start, end in span.fragments)
    ]
    if not 1 <= number <= len(spans):
        often = {0: "do not stand", 1: "stand once"}.get(len(spans), f"stand {len(spans)} times")
        raise ConfigError(f"the words {words!r} {often} in this text")
    return spans[number - 1]


def _index(number: str, document: Document) -> int:
    count = len(document.entities)
    if not 1 <= int(number) <= count:
        raise ConfigError(f"there is no entity {number}, but {count_of(count, 'entity', 'entities')}")
    return int(number) - 1


def _read_line() -> str | None:
    """What is typed; None at the end of standard input."""
    if sys.stdin is None:
        return None
    sys.stdout.write(PROMPT)
    sys.stdout.flush()
    line = sys.stdin.readline()
    return line.strip() if line else None
