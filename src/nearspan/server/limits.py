"""Limits: what one request may ask of the server, checked before the model is touched."""

from collections.abc import Sequence
from typing import Self

from pydantic import Field, ValidationError
from starlette.exceptions import HTTPException

from nearspan.errors import ConfigError, did_you_mean
from nearspan.settings import Settings

HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "1"}}


class Refusal(HTTPException):
    """A request that is not served, with its HTTP status. The message says what would be served."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(status, message, HEADERS.get(status))


class Limits(Settings):
    """The most that a request may ask for.

    >>> Limits().override(["characters=500"]).characters
    500
    """

    body_bytes: int = Field(default=1_000_000, ge=1_000)  # of a request
    characters: int = Field(default=20_000, ge=1)  # of a request's texts together
    explained_characters: int = Field(default=10_000, ge=1)  # of a text whose entities are all explained
    explained_entities: int = Field(default=100, ge=1)  # in one request
    texts: int = Field(default=256, ge=1)  # of a batch
    neighbours: int = Field(default=50, ge=1)  # listed for each label
    points: int = Field(default=2_000, ge=5, le=20_000)  # of the map
    waiting: int = Field(default=256, ge=1)  # requests that wait for the model
    answer_seconds: float = Field(default=60.0, gt=0)  # that a request may wait and be worked on
    send_seconds: float = Field(default=10.0, gt=0)  # that a client may take to send a request
    idle_seconds: int = Field(default=75, ge=1)  # that a connection may wait for its next request
    connections: int = Field(default=1_024, ge=1)  # open at once

    def override(self, settings: Sequence[str]) -> Self:
        """The limits with some changed, each as `name=value`."""
        values: dict[str, str] = {}
        for setting in settings:
            name, equals, value = setting.partition("=")
            if not equals:
                raise ConfigError(f"a limit is set as name=value, found {setting!r}")
            if name not in type(self).model_fields:
                raise ConfigError(f"there is no limit {name!r}: {did_you_mean(name, type(self).model_fields)}")
            values[name] = value
        try:
            return type(self).model_validate({**self.model_dump(), **values})
        except ValidationError as error:
            first = error.errors()[0]
            raise ConfigError(f"limit {first['loc'][0]}={first['input']}: {first['msg']}") from error

    def check_texts(self, texts: Sequence[str], characters: int | None = None) -> None:
        """Refuse texts that are too many or too long; `characters` are allowed where a route has its own limit."""
        if len(texts) > self.texts:
            raise Refusal(413, f"{len(texts):,} texts in one request; at most {self.texts:,} are served")
        most = self.characters if characters is None else characters
        size = sum(map(len, texts))
        if size > most:
            raise Refusal(413, f"{size:,} characters in one request; at most {most:,} are served")

    def check_explained(self, entities: int) -> None:
        """Refuse to explain too many entities at once."""
        if entities > self.explained_entities:
            raise Refusal(
                413,
                f"the text has {entities:,} entities; at most {self.explained_entities:,} are explained in one "
                "request: send it in parts, or ask /neighbours about the spans that matter",
            )

    def check_count(self, count: int) -> None:
        """Refuse too long a list of neighbours."""
        if count > self.neighbours:
            raise Refusal(422, f"count is {count:,}; at most {self.neighbours:,} neighbours are listed")
