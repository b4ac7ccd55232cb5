"""The space of a tuning: which settings of a recipe are tried, and which values of them."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

from nearspan.config import Recipe, value_of
from nearspan.errors import ConfigError

OPTION = "`space`"  # how errors name it
HOW = "LOW..HIGH, LOW..HIGH:log, LOW..HIGH:STEP or a|b|c"


@dataclass(frozen=True)
class Range:
    """A setting that takes numbers from `low` to `high`, both included."""

    key: str
    low: int | float
    high: int | float
    step: int | float | None = None
    log: bool = False  # draw evenly over orders of magnitude
    whole: bool = False  # whole numbers only; `Space.checked` finds out

    def tests(self) -> list[str]:
        """Both ends, as settings."""
        return [f"{self.key}={self.low!r}", f"{self.key}={self.high!r}"]

    def __str__(self) -> str:
        how = ":log" if self.log else "" if self.step is None else f":{self.step!r}"
        return f"{self.key}={self.low!r}..{self.high!r}{how}"


@dataclass(frozen=True)
class Choice:
    """A setting that takes one of some values, each as `Recipe.override` takes it."""

    key: str
    values: tuple[str, ...]

    @property
    def kind(self) -> bool:
        """Whether it chooses the kind of a part, and with it the settings that the part has."""
        return self.key.rpartition(".")[2] == "kind"

    def tests(self) -> list[str]:
        """Every value, as settings."""
        return [f"{self.key}={value}" for value in self.values]

    def __str__(self) -> str:
        return f"{self.key}={'|'.join(self.values)}"


@dataclass(frozen=True)
class Space:
    """What a tuning varies, in an order of its own: how it was written makes no difference.

    >>> print(Space.parse(["training.learning_rate=1e-4..1e-2:log", "training.batch=8|16"]))
    training.batch=8|16
    training.learning_rate=0.0001..0.01:log
    """

    variables: tuple[Range | Choice, ...]

    @classmethod
    def parse(cls, searches: Iterable[str]) -> Space:
        """The space of `part.key=LOW..HIGH` and `part.key=a|b|c`."""
        found: dict[str, Any] = {}
        for search in searches:
            key, separator, values = (part.strip() for part in search.partition("="))
            if not separator or not key:
                raise ConfigError(f"{OPTION} takes part.key=VALUES, with VALUES {HOW}; found {search!r}")
            if key in found:
                raise ConfigError(f"{OPTION} is given twice for {key}: leave one of them out")
            found[key] = values
        return cls.of(found)

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Space:
        """The space of a mapping: parts in parts or `part.key`, to a text as `parse` takes it or a list of choices.

        >>> print(Space.of({"training": {"batch": [8, 16]}, "suggester.max_width": "4..8:2"}))
        suggester.max_width=4..8:2
        training.batch=8|16
        """
        variables = [_variable(key, values) for key, values in _flat(content)]
        if len({one.key for one in variables}) < len(variables):
            raise ConfigError("the space names a setting twice: " + ", ".join(one.key for one in variables))
        return cls(tuple(sorted(variables, key=_order)))

    @classmethod
    def read(cls, path: Path | str) -> Space:
        """The space in a TOML file."""
        try:
            return cls.of(tomllib.loads(Path(path).read_text(encoding="utf-8")))
        except (OSError, ValueError, RecursionError) as error:
            raise ConfigError(f"cannot read the space {path}: {error}") from error

    def __or__(self, other: Space) -> Space:
        """Both spaces; where both have a setting, the other's."""
        own = {one.key: one for one in (*self.variables, *other.variables)}
        return Space(tuple(sorted(own.values(), key=_order)))

    def __str__(self) -> str:
        return "\n".join(map(str, self.variables))

    def checked(self, recipe: Recipe) -> Space:
        """The space as this recipe takes it, or an error: both ends and every choice are tried on the recipe."""
        if not self.variables:
            raise ConfigError(f"nothing to tune: give {OPTION} part.key=VALUES, with VALUES {HOW}")
        kinds = [one.tests() for one in self.variables if isinstance(one, Choice) and one.kind]
        for chosen in product(*kinds):
            recipe.override(chosen, OPTION)
            for one in self.variables:
                if not (isinstance(one, Choice) and one.kind):
                    _try(recipe, chosen, one)
        first = [tests[0] for tests in kinds]
        return Space(tuple(_typed(recipe, first, one) if isinstance(one, Range) else one for one in self.variables))


def _order(variable: Range | Choice) -> tuple[bool, str]:
    """By name, but kinds first: a part's kind decides which settings it has."""
    return not (isinstance(variable, Choice) and variable.kind), variable.key


def _flat(content: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in content.items():
        key = f"{prefix}{name.strip()}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{key}.")
        else:
            yield key, value


def _variable(key: str, values: Any) -> Range | Choice:
    if isinstance(values, str) and "|" in values:
        return _choice(key, [part.strip() for part in values.split("|")])
    if isinstance(values, str) and ".." in values:
        return _range(key, values)
    if isinstance(values, Sequence) and not isinstance(values, str):
        return _choice(key, [_written(key, value) for value in values])
    raise ConfigError(f"{OPTION} {key} takes {HOW}, found {values!r}; a single value belongs in the recipe")


def _choice(key: str, values: list[str]) -> Choice:
    shown = "|".join(values)
    if len(values) < 2 or "" in values:
        raise ConfigError(f"{OPTION} {key} takes two choices or more, a|b|c, and none of them empty; found {shown!r}")
    if len(set(values)) < len(values):
        raise ConfigError(f"{OPTION} {key} names a choice twice: {shown}")
    return Choice(key, tuple(values))


def _written(key: str, value: Any) -> str:
    """A choice of a TOML file or of Python, as `Recipe.override` takes it."""
    if isinstance(value, str):
        return value if value and value_of(value) == value else json.dumps(value)
    if isinstance(value, bool | int | float):
        return str(value).lower()
    raise ConfigError(f"{OPTION} {key} takes choices that are words, numbers, true or false; found {value!r}")


def _range(key: str, text: str) -> Range:
    ends, *how = (part.strip() for part in text.split(":"))
    if len(how) > 1:
        raise ConfigError(f"{OPTION} {key} takes {HOW}, found {text!r}: log or a step, not both")
    low, _, high = ends.partition("..")
    log = how == ["log"]
    step = _number(key, how[0], text) if how and not log else None
    made = Range(key, _number(key, low, text), _number(key, high, text), step, log)
    if made.low >= made.high:
        raise ConfigError(f"{OPTION} {made}: the low end {made.low} is not below the high end {made.high}")
    if log and made.low <= 0:
        raise ConfigError(f"{OPTION} {made}: a log scale begins above 0")
    _check_step(made)
    return made


def _check_step(one: Range) -> None:
    if one.step is None:
        return
    low, high, step = (Decimal(repr(number)) for number in (one.low, one.high, one.step))
    if step <= 0:
        raise ConfigError(f"{OPTION} {one}: a step is above 0")
    if rest := (high - low) % step:
        last = "only one value" if rest == high - low else f"{high - rest}"
        raise ConfigError(f"{OPTION} {one}: steps of {step} from {low} do not meet {high}; they reach {last}")


def _number(key: str, text: str, whole: str) -> int | float:
    """A number as it is written: 5 is whole, 5.0 and 5e0 are not."""
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        if math.isfinite(number):
            return number
    raise ConfigError(f"{OPTION} {key} takes {HOW}, found {whole!r}: {text!r} is not a number")


def _try(recipe: Recipe, kinds: Sequence[str], one: Range | Choice) -> None:
    for setting in one.tests():
        try:
            recipe.override([*kinds, setting], OPTION)
        except ConfigError as error:
            beside = f" (beside {', '.join(kinds)})" if kinds else ""
            raise ConfigError(f"{OPTION} {one} cannot be tried{beside}: {error}") from None


def _typed(recipe: Recipe, kinds: Sequence[str], one: Range) -> Range:
    """A range with the type of its setting."""
    value: Any = recipe.override([*kinds, one.tests()[0]])
    for part in one.key.split("."):
        value = getattr(value, part)
    if isinstance(value, bool):
        raise ConfigError(f"{OPTION} {one}: {one.key} is true or false; write {one.key}=true|false")
    if isinstance(value, int) and one.step is not None and one.step != int(one.step):
        raise ConfigError(f"{OPTION} {one}: {one.key} takes whole numbers, and a step of {one.step} leaves them")
    kind = int if isinstance(value, int) else float
    step = None if one.step is None else kind(one.step)
    return replace(one, low=kind(one.low), high=kind(one.high), step=step, whole=kind is int)
