"""The search space of a tuning: settings of a recipe, each with a range of numbers or a list of choices to try."""

import json
import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any, Self

from nearspan.config import Recipe, value_of
from nearspan.errors import ConfigError
from nearspan.settings import flatten

SOURCE = "the search space"  # of settings, in the errors of a recipe
VALUES = "LOW..HIGH, LOW..HIGH:log, LOW..HIGH:STEP or a|b|c"


@dataclass(frozen=True)
class Range:
    """A setting that takes numbers from `low` to `high`, both included."""

    key: str
    low: int | float
    high: int | float
    step: int | float | None = None
    log: bool = False  # draw evenly over orders of magnitude
    whole: bool = False  # whole numbers only, as the type of the setting says

    selects_part = False

    def settings(self) -> list[str]:
        """Both ends, as `Recipe.override` takes them."""
        return [f"{self.key}={self.low!r}", f"{self.key}={self.high!r}"]

    def with_type_of(self, value: Any) -> Self:
        """The range with the type that the setting has in a recipe, of which `value` is an example."""
        if isinstance(value, bool):
            raise ConfigError(f"{self} cannot be searched: {self.key} is true or false; write {self.key}=true|false")
        if isinstance(value, int) and self.step is not None and self.step != int(self.step):
            raise ConfigError(
                f"{self} cannot be searched: {self.key} takes whole numbers, and a step of {self.step} leaves them"
            )
        kind = int if isinstance(value, int) else float
        step = None if self.step is None else kind(self.step)
        return replace(self, low=kind(self.low), high=kind(self.high), step=step, whole=kind is int)

    def __str__(self) -> str:
        suffix = ":log" if self.log else "" if self.step is None else f":{self.step!r}"
        return f"{self.key}={self.low!r}..{self.high!r}{suffix}"


@dataclass(frozen=True)
class Choice:
    """A setting that takes one of several values, each written as in `Recipe.override`."""

    key: str
    values: tuple[str, ...]

    @property
    def selects_part(self) -> bool:
        """Whether it chooses the kind of a part, and with it the settings that the part has."""
        return self.key.rpartition(".")[2] == "kind"

    def settings(self) -> list[str]:
        """Every value, as `Recipe.override` takes it."""
        return [f"{self.key}={value}" for value in self.values]

    def __str__(self) -> str:
        return f"{self.key}={'|'.join(self.values)}"


Variable = Range | Choice


@dataclass(frozen=True)
class Space:
    """What a tuning varies, in an order of its own: how it was written makes no difference.

    >>> print(Space.parse(["training.learning_rate=1e-4..1e-2:log", "training.batch=8|16"]))
    training.batch=8|16
    training.learning_rate=0.0001..0.01:log
    """

    variables: tuple[Variable, ...]

    @classmethod
    def parse(cls, searches: Iterable[str]) -> Self:
        """The space of `part.key=LOW..HIGH` and `part.key=a|b|c`."""
        return cls._of_pairs(map(_split_search, searches))

    @classmethod
    def of(cls, content: "Space | Mapping[str, Any] | Path | str") -> "Space":
        """The space of a mapping, or of a TOML file of one.

        It maps parts in parts or `part.key` to text as `parse` takes it, or to a list of choices.

        >>> print(Space.of({"training": {"batch": [8, 16]}, "suggester.max_width": "4..8:2"}))
        suggester.max_width=4..8:2
        training.batch=8|16
        """
        if isinstance(content, Space):
            return content
        if isinstance(content, Path | str):
            try:
                content = tomllib.loads(Path(content).read_text(encoding="utf-8"))
            except (OSError, ValueError, RecursionError) as error:
                raise ConfigError(f"cannot read the space {content}: {error}") from error
        return cls._of_pairs(flatten(content))

    @classmethod
    def _of_pairs(cls, pairs: Iterable[tuple[str, Any]]) -> Self:
        variables: dict[str, Variable] = {}
        for key, values in pairs:
            if key in variables:
                raise ConfigError(f"the search space is given twice for {key}: leave one of them out")
            variables[key] = parse_variable(key, values)
        return cls(tuple(sorted(variables.values(), key=_order)))

    def __or__(self, other: Self) -> Self:
        """Both spaces; where both have a setting, the other's."""
        variables = {variable.key: variable for variable in (*self.variables, *other.variables)}
        return type(self)(tuple(sorted(variables.values(), key=_order)))

    def __str__(self) -> str:
        return "\n".join(map(str, self.variables))

    def for_recipe(self, recipe: Recipe) -> Self:
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
        return type(self)(tuple(_with_type(recipe, first_kinds, variable) for variable in self.variables))


def _order(variable: Variable) -> tuple[bool, str]:
    """By name, but kinds first: a part's kind decides which settings it has."""
    return not variable.selects_part, variable.key


def _split_search(search: str) -> tuple[str, str]:
    key, separator, values = (part.strip() for part in search.partition("="))
    if not separator or not key:
        raise ConfigError(f"a search takes part.key=VALUES, with VALUES {VALUES}; found {search!r}")
    return key, values


def _try_settings(recipe: Recipe, kinds: Sequence[str], variable: Variable) -> None:
    for setting in variable.settings():
        try:
            recipe.override([*kinds, setting], SOURCE)
        except ConfigError as error:
            beside = f" (beside {', '.join(kinds)})" if kinds else ""
            raise ConfigError(f"{variable} cannot be tried{beside}: {error}") from None


def _with_type(recipe: Recipe, kinds: Sequence[str], variable: Variable) -> Variable:
    if isinstance(variable, Choice):  # its values are text
        return variable
    value: Any = recipe.override([*kinds, variable.settings()[0]])
    for part in variable.key.split("."):
        value = getattr(value, part, None)
    return variable.with_type_of(value)


def parse_variable(key: str, values: Any) -> Variable:
    """A variable from text or a list of choices.

    >>> parse_variable("training.epochs", "10..30:10")
    Range(key='training.epochs', low=10, high=30, step=10, log=False, whole=False)
    >>> parse_variable("training.batch", [8, 16])
    Choice(key='training.batch', values=('8', '16'))
    """
    if isinstance(values, str) and "|" in values:
        return _choice(key, [value.strip() for value in values.split("|")])
    if isinstance(values, str) and ".." in values:
        return _range(key, values)
    if isinstance(values, Sequence) and not isinstance(values, str):
        return _choice(key, [_text(key, value) for value in values])
    raise ConfigError(f"{key} takes {VALUES} in a search space, found {values!r}; a single value is a setting")


def _choice(key: str, values: list[str]) -> Choice:
    text = "|".join(values)
    if len(values) < 2 or "" in values:
        raise ConfigError(f"{key} takes two choices or more, a|b|c, and none of them empty; found {text!r}")
    if len(set(values)) < len(values):
        raise ConfigError(f"{key} names a choice twice: {text}")
    return Choice(key, tuple(values))


def _text(key: str, value: Any) -> str:
    """A choice of a TOML file or of Python, as `Recipe.override` takes it."""
    if isinstance(value, str):
        return value if value and value_of(value) == value else json.dumps(value)
    if isinstance(value, bool | int | float):
        return str(value).lower()
    raise ConfigError(f"{key} takes choices that are words, numbers, true or false; found {value!r}")


def _range(key: str, text: str) -> Range:
    ends, *suffixes = (part.strip() for part in text.split(":"))
    if len(suffixes) > 1:
        raise ConfigError(f"{key} takes {VALUES}, found {text!r}: log or a step, not both")
    low, _, high = ends.partition("..")
    log = suffixes == ["log"]
    step = _number(key, suffixes[0], text) if suffixes and not log else None
    variable = Range(key, _number(key, low, text), _number(key, high, text), step, log)
    if variable.low >= variable.high:
        raise ConfigError(f"{variable}: the low end {variable.low} is not below the high end {variable.high}")
    if log and variable.low <= 0:
        raise ConfigError(f"{variable}: a log scale begins above 0")
    if step is not None:
        first, last, by = (Decimal(repr(number)) for number in (variable.low, variable.high, step))
        if by <= 0:
            raise ConfigError(f"{variable}: a step is above 0")
        if rest := (last - first) % by:
            reached = "only one value" if rest == last - first else f"{last - rest}"
            raise ConfigError(f"{variable}: steps of {by} from {first} do not meet {last}; they reach {reached}")
    return variable


def _number(key: str, text: str, values: str) -> int | float:
    """A number as it is written: 5 is whole, 5.0 and 5e0 are not."""
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        if math.isfinite(number):
            return number
    raise ConfigError(f"{key} takes {VALUES}, found {values!r}: {text!r} is not a number")
