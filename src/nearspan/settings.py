"""Typed settings: the base of every part's configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """Settings of one part; unknown keys are refused and values never change after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())
