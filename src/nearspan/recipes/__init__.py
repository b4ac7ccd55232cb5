"""Recipes: one TOML file a system, and one a corpus with what differs there. What is here loads no torch."""

import tomllib
from pathlib import Path
from typing import Any

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


def read_text(name: str | Path) -> str:
    """The TOML of a recipe's file as it stands there."""
    path = find(name)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:  # ValueError: no UTF-8
        raise ConfigError(f"cannot read recipe {path}: {error}") from error


def read(name: str | Path) -> dict[str, Any]:
    """The content of a recipe's file, unchecked; where it names a `base`, that recipe's with its own in their place.

    >>> read("instance-genia")["representation"]["form"], read("instance-genia")["head"]["kind"]
    ('nested', 'instances')
    """
    path = find(name)
    try:
        content = tomllib.loads(read_text(name))
    except (ValueError, RecursionError) as error:  # ValueError: no TOML, or too long a number
        raise ConfigError(f"cannot read recipe {path}: {error}") from error
    base = content.pop("base", None)
    if base is None:
        return content
    if base not in names() or path == FOLDER / f"{base}.toml":
        raise ConfigError(f"recipe {path.name}: base must be one of {', '.join(names())}")
    settings = read(base)
    settings.pop("reported", None)
    return _merge(settings, content)


def _merge(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Settings with some of them changed: another kind drops those of the old one, and "none" leaves a part out."""
    if changes.get("kind", base.get("kind")) != base.get("kind"):
        return changes
    merged = dict(base)
    for key, value in changes.items():
        before = merged.pop(key, None)
        if value != "none":
            merged[key] = _merge(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
    return merged
