"""Typed settings: the base of every part's configuration."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, field_validator


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
