"""Recipes: one TOML file a system. What is here reads none of them, so that listing them costs nothing."""

from __future__ import annotations

from pathlib import Path

from nearspan.errors import ConfigError, did_you_mean
from nearspan.io.paths import is_file

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """The recipes that come with nearspan."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def find(name: str | Path) -> Path:
    """The TOML file of a recipe: one of ours by its name, or one of yours by its path.

    >>> find("instance").name
    'instance.toml'
    """
    path = FOLDER / f"{name}.toml" if str(name) in names() else Path(name)
    if not is_file(path):
        raise ConfigError(
            f"no recipe {str(name)!r}: {did_you_mean(str(name), names())} (or give the path of a TOML file)"
        )
    return path
