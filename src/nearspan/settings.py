"""Typed settings: the base of every part's configuration, and fields that hold any registered part's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, field_validator, model_validator
from pydantic_core import CoreSchema, SchemaValidator, core_schema

from nearspan import registry

NAME = "^[a-z][a-z0-9_]*$"  # of an entry in a table of parts


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
        return _one(tuple(self.settings().items())).validate_python(value)


class PartTable(Settings):
    """A table of registered parts' settings, as many as one likes; `none` leaves one out.

    An entry has a name of its own and says its kind, or with `by_kind` its name is its kind:

        class Features(PartTable):
            role = "word_feature"

        Features(lengths={"kind": "word_length"}).entries["lengths"]

        class Losses(PartTable):
            role = "loss"
            by_kind = True

        Losses(boundary_smoothing={"epsilon": 0.2}).boundary_smoothing.epsilon
        Losses().boundary_smoothing  # None
    """

    model_config = ConfigDict(extra="allow")

    role: ClassVar[registry.Role]
    by_kind: ClassVar[bool] = False

    @property
    def entries(self) -> dict[str, PartSettings]:
        """The settings by their names in the table."""
        return dict(self.__pydantic_extra__ or {})

    def __getattr__(self, name: str) -> Any:
        if self.by_kind and name not in (self.__pydantic_extra__ or {}) and name in PartField(self.role).settings():
            return None
        return super().__getattr__(name)  # type: ignore[misc]

    @model_validator(mode="before")
    @classmethod
    def _validate_entries(cls, content: Any) -> Any:
        if not isinstance(content, dict) or not content:  # nothing to look up, as in a default that a module makes
            return content
        validator = (_by_kind if cls.by_kind else _by_name)(tuple(PartField(cls.role).settings().items()))
        return validator.validate_python({name: value for name, value in content.items() if value is not None})


Choices = tuple[tuple[str, type[Settings]], ...]  # kinds and the settings classes they name


def _schema(choices: Choices) -> CoreSchema:
    schemas = {kind: settings.__pydantic_core_schema__ for kind, settings in choices}
    return core_schema.tagged_union_schema(schemas, discriminator="kind")


@lru_cache
def _one(choices: Choices) -> SchemaValidator:
    """Settings of one part, which their `kind` names."""
    return SchemaValidator(_schema(choices))


@lru_cache
def _by_name(choices: Choices) -> SchemaValidator:
    """Settings of any number of parts, each of which has a name and says its kind."""
    return SchemaValidator(core_schema.dict_schema(core_schema.str_schema(pattern=NAME), _schema(choices)))


@lru_cache
def _by_kind(choices: Choices) -> SchemaValidator:
    """Settings of any number of parts of different kinds, by kind."""
    schemas = ((kind, settings.__pydantic_core_schema__) for kind, settings in choices)
    fields = {kind: core_schema.typed_dict_field(schema, required=False) for kind, schema in schemas}
    return SchemaValidator(core_schema.typed_dict_schema(fields, extra_behavior="forbid"))


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
