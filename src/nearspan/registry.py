"""Parts by name: word features, representations, heads, losses, suggesters and formats, ours and those of others.

A part registers itself under its role; a recipe names it by its `kind`. Packages from outside list a module in the
entry-point group `nearspan.parts`: it is imported before a part is first looked up, and registers its parts:

    [project.entry-points."nearspan.parts"]
    cosine = "nearspan_cosine"
"""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Literal, get_args, get_origin

from nearspan.errors import ConfigError, did_you_mean, first_line

Role = Literal["word_feature", "representation", "head", "loss", "suggester", "format"]

GROUP = "nearspan.parts"

_parts: dict[str, dict[str, Any]] = {role: {} for role in get_args(Role)}


def register(role: Role, part: Any, name: str = "") -> Any:
    """Make a part known by name, so that recipes, commands and model folders can name it; returns the part.

    A part is known by its `name`: that of a format, or the `kind` of its `Settings`.

        nearspan.register("head", CosineHead)
    """
    if role not in _parts:
        raise ConfigError(f"there is no role {role!r} for parts; {did_you_mean(role, _parts)}")
    name = name or _name(role, part)
    known = _parts[role].get(name)
    if known is not None and known is not part and known.__module__ != part.__module__:
        raise ConfigError(f"a {role} named {name!r} is registered already, by {known.__module__}: choose another name")
    _parts[role][name] = part
    return part


def part(role: Role, name: str) -> Any:
    """The part of a name; an error that lists the known ones where there is none."""
    known = parts(role)
    if name not in known:
        raise ConfigError(f"there is no {role} {name!r}; {did_you_mean(name, known)}")
    return known[name]


def parts(role: Role) -> Mapping[str, Any]:
    """All parts of a role by name, those of installed packages too."""
    _import_entry_points()
    return _parts[role]


def _name(role: Role, part: Any) -> str:
    """What a part calls itself: a format its `name`, any other part the `kind` of its `Settings`."""
    if role == "format":
        return str(part.name)
    settings = getattr(part, "Settings", None)
    kind = getattr(settings, "model_fields", {}).get("kind")
    if kind is None or get_origin(kind.annotation) is not Literal or kind.default not in get_args(kind.annotation):
        raise ConfigError(
            f"the {role} {part.__name__} has no name: give it `Settings`, a subclass of nearspan.settings.Settings "
            'with a field such as kind: Literal["mine"] = "mine"'
        )
    return str(kind.default)


@cache
def _import_entry_points() -> None:
    for entry in entry_points(group=GROUP):
        try:
            entry.load()
        except Exception as error:  # a package from outside may fail as it likes
            raise ConfigError(
                f"the package of the entry point {entry.name!r} ({entry.value}) cannot be imported: "
                f"{first_line(error)}. Mend or uninstall it"
            ) from error
