"""What a long analysis tells whoever waits for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from rich.console import Console
from rich.progress import track

Item = TypeVar("Item")
Progress = Callable[[str, int, int], None]  # what is going on, how much of it is done now, and of how much


def say(console: Console | None, message: str) -> None:
    """Print what comes now, if there is a console."""
    if console is not None:
        console.print(message, style="dim", markup=False, highlight=False)


def each(items: Sequence[Item], console: Console | None, message: str) -> Iterator[Item]:
    """The items one by one, with a bar on the console while they are worked on."""
    if console is None:
        yield from items
    else:
        yield from track(items, message, console=console, transient=True)
