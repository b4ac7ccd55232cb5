"""What a long analysis tells whoever waits for it."""

from rich.console import Console


def say(console: Console | None, message: str) -> None:
    """Print what comes now, if there is a console."""
    if console is not None:
        console.print(message, style="dim", markup=False, highlight=False)
