"""What a long analysis tells whoever waits for it."""

from collections.abc import Callable

from rich.console import Console

Progress = Callable[[str, int, int], None]  # what is going on, how much of it is done now, and of how much


def say(console: Console | None, message: str) -> None:
    """Print what comes now, if there is a console."""
    if console is not None:
        console.print(message, style="dim", markup=False, highlight=False)
