"""The variables of a search space: settings of a recipe, each with a range of numbers or a list of choices."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from nearspan.config import value_of
from nearspan.errors import ConfigError

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

    def with_type_of(self, value: Any) -> Range:
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

    def with_type_of(self, value: Any) -> Choice:  # noqa: ARG002
        """The choice as it is: its values are text."""
        return self

    def __str__(self) -> str:
        return f"{self.key}={'|'.join(self.values)}"


Variable = Range | Choice


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
    _check_step(variable)
    return variable


def _check_step(variable: Range) -> None:
    if variable.step is None:
        return
    low, high, step = (Decimal(repr(number)) for number in (variable.low, variable.high, variable.step))
    if step <= 0:
        raise ConfigError(f"{variable}: a step is above 0")
    if rest := (high - low) % step:
        last = "only one value" if rest == high - low else f"{high - rest}"
        raise ConfigError(f"{variable}: steps of {step} from {low} do not meet {high}; they reach {last}")


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
