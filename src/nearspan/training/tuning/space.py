"""The search space of a tuning: which settings of a recipe are tried, and which values of them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from nearspan.config import Recipe
from nearspan.errors import ConfigError
from nearspan.training.tuning.variables import VALUES, Variable, parse_variable

SOURCE = "the search space"  # of settings, in the errors of a recipe


@dataclass(frozen=True)
class Space:
    """What a tuning varies, in an order of its own: how it was written makes no difference.

    >>> print(Space.parse(["training.learning_rate=1e-4..1e-2:log", "training.batch=8|16"]))
    training.batch=8|16
    training.learning_rate=0.0001..0.01:log
    """

    variables: tuple[Variable, ...]

    @classmethod
    def parse(cls, searches: Iterable[str]) -> Space:
        """The space of `part.key=LOW..HIGH` and `part.key=a|b|c`."""
        return cls._of_pairs(map(_split_search, searches))

    @classmethod
    def of(cls, content: Space | Mapping[str, Any] | Path | str) -> Space:
        """The space of a mapping, or of a TOML file of one.

        It maps parts in parts or `part.key` to text as `parse` takes it, or to a list of choices.

        >>> print(Space.of({"training": {"batch": [8, 16]}, "suggester.max_width": "4..8:2"}))
        suggester.max_width=4..8:2
        training.batch=8|16
        """
        if isinstance(content, Space):
            return content
        return cls.read(content) if isinstance(content, Path | str) else cls._of_pairs(_flatten(content))

    @classmethod
    def read(cls, path: Path | str) -> Space:
        """The space in a TOML file."""
        try:
            return cls.of(tomllib.loads(Path(path).read_text(encoding="utf-8")))
        except (OSError, ValueError, RecursionError) as error:
            raise ConfigError(f"cannot read the space {path}: {error}") from error

    @classmethod
    def _of_pairs(cls, pairs: Iterable[tuple[str, Any]]) -> Space:
        variables: dict[str, Variable] = {}
        for key, values in pairs:
            if key in variables:
                raise ConfigError(f"the search space is given twice for {key}: leave one of them out")
            variables[key] = parse_variable(key, values)
        return cls(tuple(sorted(variables.values(), key=_order)))

    def __or__(self, other: Space) -> Space:
        """Both spaces; where both have a setting, the other's."""
        variables = {variable.key: variable for variable in (*self.variables, *other.variables)}
        return Space(tuple(sorted(variables.values(), key=_order)))

    def __str__(self) -> str:
        return "\n".join(map(str, self.variables))

    def for_recipe(self, recipe: Recipe) -> Space:
        """The space with the types of this recipe's settings; both ends and every choice are tried on the recipe."""
        if not self.variables:
            raise ConfigError(f"nothing to tune: the search space takes part.key=VALUES, with VALUES {VALUES}")
        kinds = [variable.settings() for variable in self.variables if variable.selects_part]
        for chosen in product(*kinds):
            recipe.override(chosen, SOURCE)
            for variable in self.variables:
                if not variable.selects_part:
                    _try_settings(recipe, chosen, variable)
        first_kinds = [settings[0] for settings in kinds]
        return Space(tuple(_with_type(recipe, first_kinds, variable) for variable in self.variables))


def _order(variable: Variable) -> tuple[bool, str]:
    """By name, but kinds first: a part's kind decides which settings it has."""
    return not variable.selects_part, variable.key


def _split_search(search: str) -> tuple[str, str]:
    key, separator, values = (part.strip() for part in search.partition("="))
    if not separator or not key:
        raise ConfigError(f"a search takes part.key=VALUES, with VALUES {VALUES}; found {search!r}")
    return key, values


def _flatten(content: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in content.items():
        key = f"{prefix}{name.strip()}"
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{key}.")
        else:
            yield key, value


def _try_settings(recipe: Recipe, kinds: Sequence[str], variable: Variable) -> None:
    for setting in variable.settings():
        try:
            recipe.override([*kinds, setting], SOURCE)
        except ConfigError as error:
            beside = f" (beside {', '.join(kinds)})" if kinds else ""
            raise ConfigError(f"{variable} cannot be tried{beside}: {error}") from None


def _with_type(recipe: Recipe, kinds: Sequence[str], variable: Variable) -> Variable:
    value: Any = recipe.override([*kinds, variable.settings()[0]])
    for part in variable.key.split("."):
        value = getattr(value, part, None)
    return variable.with_type_of(value)
