"""Typed settings: the base of every part's configuration, and fields that hold any registered part's."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, field_validator
from pydantic_core import CoreSchema, SchemaValidator, core_schema

from nearspan import registry


class Settings(BaseModel):
    """Settings of one part; unknown keys are refused and values never change after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    @field_validator("*")
    @classmethod
    def _writable(cls, value: Any) -> Any:
        """Refuse a text that no file could hold."""
        if isinstance(value, str) and not value.isascii():
            try:
                value.encode("utf-8")
            except UnicodeEncodeError:
                raise ValueError("holds a lone surrogate, which is no character") from None
        return value


PartName = Annotated[str, Field(pattern="^[a-z][a-z0-9_]*$")]  # of a part in a table of them


class PartSettings(Settings):
    """Settings of a registered part: `kind` names it."""

    kind: str


@dataclass(frozen=True)
class PartField:
    """A field with the settings of a registered part, which its `kind` names.

    The registry is asked when a value is checked, so parts that are registered later are known too:

        class Recipe(Settings):
            head: Annotated[PartSettings, PartField("head")]

    Errors are located like those of a discriminated union: field, kind, key.
    """

    role: registry.Role
    default: str = ""  # the kind where none is named

    def settings(self) -> dict[str, type[Settings]]:
        """The settings classes that may stand here, by kind."""
        return {kind: part.Settings for kind, part in registry.parts(self.role).items()}

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """A check that asks the registry anew each time; settings are written by their own class's fields."""
        return core_schema.no_info_plain_validator_function(self._validate)

    def _validate(self, value: Any) -> Any:
        if self.default and isinstance(value, dict) and "kind" not in value:
            value = {"kind": self.default, **value}
        return _validator(tuple(self.settings().items())).validate_python(value)


@lru_cache
def _validator(choices: tuple[tuple[str, type[Settings]], ...]) -> SchemaValidator:
    """Checks the settings of one part, whose `kind` names one of these classes."""
    schemas = {kind: settings.__pydantic_core_schema__ for kind, settings in choices}
    return SchemaValidator(core_schema.tagged_union_schema(schemas, discriminator="kind"))


def drop_none(table: Any) -> Any:
    """A table of parts without those that are set to none, before it is checked."""
    return {name: part for name, part in table.items() if part is not None} if isinstance(table, dict) else table


def flatten(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Settings in parts as `part.key` and value.

    >>> dict(flatten({"name": "mine", "training": {"batch": 8}}))
    {'name': 'mine', 'training.batch': 8}
    """
    for name, value in settings.items():
        key = f"{prefix}{name.strip()}"
        if isinstance(value, Mapping):
            yield from flatten(value, f"{key}.")
        else:
            yield key, value
