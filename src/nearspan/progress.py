"""How far something long is: a bar on a terminal or in a notebook, elsewhere a line in the log every some seconds.

What is done within a moment shows nothing.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.console import Console

Progress = Callable[[str, int, int], None]  # what is going on, how much of it was done just now, and of how much

T = TypeVar("T")

MOMENT = 1.0  # seconds before a bar is shown
INTERVAL = 5.0  # seconds between two lines of the log

logger = logging.getLogger("nearspan.progress")
_console: Console | None = None


def show_bars_on(console: Console | None) -> None:
    """Show bars on a console from now on; None: log lines, at level INFO."""
    global _console
    _console = console


@contextmanager
def progress() -> Iterator[Progress]:
    """What is called with every part that is done.

    with progress() as advance:
        for sentence in sentences:
            advance("reading", 1, len(sentences))
    """
    if threading.current_thread() is not threading.main_thread():  # of a server, whose requests are short
        yield lambda *_: None
        return
    with ExitStack() as stack:
        now = time.monotonic()
        yield _Stages(stack, began=now, logged=now).advance


def track(items: Iterable[T], what: str, total: int) -> Iterator[T]:
    """The items, of which there are `total`, while it is shown how many have been taken.

    >>> list(track("abc", "reading letters", total=3))
    ['a', 'b', 'c']
    """
    with progress() as advance:
        for item in items:
            yield item
            advance(what, 1, total)


@dataclass
class _Stages:
    """The stages of one analysis, which follow each other, and how much of each is done."""

    stack: ExitStack
    began: float
    logged: float
    done: dict[str, int] = field(default_factory=dict)
    show: Progress | None = None  # the bars, once they are shown

    def advance(self, what: str, count: int, total: int) -> None:
        """Count what was done, and show it if it is time."""
        self.done[what] = self.done.get(what, 0) + count
        now = time.monotonic()
        if self.show is not None:
            self.show(what, self.done[what], total)
        elif now - self.began > MOMENT and (console := _console or _notebook()) is not None:
            self.show = _start_bars(console, self.stack)
        elif now - self.logged >= INTERVAL:
            self.logged = now
            logger.info("%s: %s of %s", what, f"{self.done[what]:,}", f"{total:,}")


def _start_bars(console: Console, stack: ExitStack) -> Progress:
    """Bars on a console, unless it shows others."""
    from rich.errors import LiveError
    from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    tasks: dict[str, TaskID] = {}
    try:
        bars = stack.enter_context(Bars(*columns, console=console, transient=True))
    except LiveError:
        return lambda *_: None

    def show(what: str, done: int, total: int) -> None:
        if what not in tasks:
            tasks[what] = bars.add_task(what, total=total)
        bars.update(tasks[what], completed=done)

    return show


def _notebook() -> Console | None:
    """The console of a notebook that can show bars."""
    try:
        get_ipython  # type: ignore[name-defined]  # noqa: B018
    except NameError:
        return None
    from rich.console import Console

    console = Console()
    return console if console.is_jupyter and find_spec("ipywidgets") is not None else None
