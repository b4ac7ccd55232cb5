"""Fields that hold the settings of any registered part."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, ValidationError

from nearspan import registry
from nearspan.errors import ConfigError
from nearspan.settings import PartField, Settings


class SmallSettings(Settings):
    kind: Literal["small"] = "small"
    size: int = Field(default=3, ge=1)
    note: str | None = None


class LargeSettings(Settings):
    kind: Literal["large"] = "large"


class Small:
    Settings = SmallSettings


class Large:
    Settings = LargeSettings


class House(Settings):
    head: Annotated[Settings, PartField("head")] = SmallSettings()
    rooms: dict[str, Annotated[Settings, PartField("head")]] = Field(default={})


@pytest.fixture(autouse=True)
def parts(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    known: dict[str, Any] = {"small": Small}
    monkeypatch.setitem(registry._parts, "head", known)
    return known


def problems(**content: Any) -> list[tuple[Any, str]]:
    with pytest.raises(ValidationError) as caught:
        House(**content)
    return [(problem["loc"], problem["type"]) for problem in caught.value.errors()]


def test_a_table_becomes_the_settings_of_the_part_that_its_kind_names() -> None:
    assert House(head={"kind": "small", "size": 4}).head == SmallSettings(size=4)  # type: ignore[arg-type]
    assert House(head=SmallSettings(size=4)).head == SmallSettings(size=4)


def test_a_part_that_is_registered_later_is_known() -> None:
    assert problems(head={"kind": "large"}) == [(("head",), "union_tag_invalid")]
    registry.register("head", Large)
    assert House(head={"kind": "large"}).head == LargeSettings()  # type: ignore[arg-type]


def test_errors_are_located_by_field_kind_and_key() -> None:
    assert problems(head={"kind": "small", "size": 0}) == [(("head", "small", "size"), "greater_than_equal")]
    assert problems(rooms={"a": {"kind": "small", "sise": 4}}) == [(("rooms", "a", "small", "sise"), "extra_forbidden")]
    assert problems(head={"size": 4}) == [(("head",), "union_tag_not_found")]


def test_an_unknown_kind_is_refused_with_the_known_ones(parts: dict[str, Any]) -> None:
    parts["large"] = Large
    with pytest.raises(ValidationError, match="'small', 'large'"):
        House(head={"kind": "huge"})  # type: ignore[arg-type]


class Nameless(Settings):
    kind: str = "nameless"  # a kind that is no literal cannot be told from others


@pytest.mark.parametrize("settings", [None, Settings, Nameless])
def test_a_part_without_a_literal_kind_is_refused_with_what_to_write(settings: type[Settings] | None) -> None:
    part = type("Large", (), {"Settings": settings})
    with pytest.raises(ConfigError, match=r'the head Large has no name: .* kind: Literal\["mine"\] = "mine"'):
        registry.register("head", part)


def test_settings_are_written_by_their_own_fields() -> None:
    house = House(head=SmallSettings(size=4), rooms={"a": SmallSettings()})
    content: dict[str, Any] = {"head": {"kind": "small", "size": 4}, "rooms": {"a": {"kind": "small", "size": 3}}}
    assert house.model_dump(exclude_none=True) == content
    assert House(**content) == house
