"""A recipe: the parts of a system and how it is trained, typed and checked."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, Field, ValidationError

from nearspan.decoding import DecodingSettings
from nearspan.encoders import EncoderSettings, Splitter, load_tokenizer
from nearspan.errors import ConfigError, did_you_mean
from nearspan.heads import HeadSettings, JoiningSettings
from nearspan.memory import VoteSettings
from nearspan.objectives import ObjectiveSettings
from nearspan.paths import is_file
from nearspan.settings import Settings
from nearspan.spans import BottleneckSettings, CandidateSettings, MinusSettings, RepresentationSettings

FOLDER = Path(__file__).parent
LONG = 200  # characters of a value that an error shows


class TrainingSettings(Settings):
    """How a system is trained."""

    epochs: int = Field(default=100, ge=1, le=1_000_000)
    batch: int = Field(default=8, ge=0, le=1_000_000)  # sentences; 0: all of them, so that an epoch is one step
    optimizer: Literal["adam", "adamw", "sgd"] = "adam"
    weight_decay: float = Field(default=0.01, ge=0, allow_inf_nan=False)  # of adamw, and of sgd
    momentum: float = Field(default=0.0, ge=0, lt=1)  # of sgd
    learning_rate: float = Field(default=1e-3, gt=0, allow_inf_nan=False)  # at its highest
    schedule: Literal["inverse", "linear"] = "inverse"
    decay: float = Field(default=0.05, ge=0, allow_inf_nan=False)  # rho: epoch t learns at learning_rate / (1 + rho t)
    warmup: float = Field(default=0.2, ge=0, lt=1)  # linear: the share of all steps in which the rate rises from 0
    clip: float = Field(default=5.0, ge=0)  # largest norm of the gradient; 0: any
    patience: int = Field(default=0, ge=0, le=1_000_000)  # stop after so many epochs without a better F1; 0: never
    precision: Literal["auto", "float32", "bf16"] = "auto"  # auto: bf16 to fine-tune an encoder on a GPU
    checkpoint_minutes: float = Field(default=5.0, ge=0)  # between checkpoints within an epoch


class Recipe(Settings):
    """One system, ready to be trained."""

    name: str
    about: str = ""
    task: Literal["recognition", "typing"] = "recognition"  # find entities, or label spans that are given
    characters_as_words: bool = False  # split raw text into single characters, for Chinese
    encoder: EncoderSettings
    candidates: CandidateSettings = CandidateSettings()
    representation: RepresentationSettings = MinusSettings()
    bottleneck: BottleneckSettings | None = None
    head: HeadSettings
    joining: JoiningSettings | None = None
    vote: VoteSettings | None = None
    objective: ObjectiveSettings = ObjectiveSettings()
    decoding: DecodingSettings = DecodingSettings()
    training: TrainingSettings = TrainingSettings()

    @classmethod
    def parse(cls, content: Mapping[str, Any], source: str) -> Recipe:
        """Check a recipe's content; `source` names it in errors."""
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            problems = "\n".join(f"  {_explained(problem)}" for problem in error.errors())
            raise ConfigError(f"{source} has wrong settings:\n{problems}") from None

    def splitter(self, tokenizer: Any = None) -> Splitter:
        """What splits documents for this system; its encoder's tokenizer is loaded where it is needed and not given."""
        if self.candidates.unit == "words":
            return Splitter(self.characters_as_words)
        if self.encoder.transformer is None:
            raise ConfigError(
                "candidates.unit is pieces, and this recipe has no pretrained encoder to make them: "
                "set encoder.transformer.name, or candidates.unit=words"
            )
        tokenizer = load_tokenizer(self.encoder.transformer.name) if tokenizer is None else tokenizer
        return Splitter(self.characters_as_words, tokenizer)

    def override(self, settings: Iterable[str], option: str = "--set") -> Recipe:
        """The recipe with `part.key=value` settings applied; values are TOML, bare words are strings.

        Changing a part's `kind` drops that part's other settings. `option` names the settings in errors.

        >>> load("classifier").override(["training.epochs=3"]).training.epochs
        3
        """
        content = self.model_dump(exclude_none=True)
        for setting in settings:
            key, separator, value = setting.partition("=")
            if not separator or not key.strip():
                raise ConfigError(f"{option} takes part.key=value, found {setting!r}")
            *parts, last = key.strip().split(".")
            place = content
            for part in parts:
                found = place.setdefault(part, {})
                if not isinstance(found, dict):
                    raise ConfigError(f"{option} {setting}: {part} is a value and has no settings of its own")
                place = found
            if last == "kind" and place.get("kind") != value_of(value.strip()):
                place.clear()
            place[last] = None if value.strip() == "none" else value_of(value.strip())  # none leaves a part out
        return Recipe.parse(content, f"the recipe with {option}")


def names() -> list[str]:
    """The recipes that come with nearspan."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load(name: str | Path) -> Recipe:
    """A recipe by its name, or from a TOML file of yours.

    >>> load("instance").head.kind
    'instances'
    """
    path = FOLDER / f"{name}.toml" if str(name) in names() else Path(name)
    if not is_file(path):
        raise ConfigError(
            f"no recipe {str(name)!r}: {did_you_mean(str(name), names())} (or give the path of a TOML file)"
        )
    try:
        return Recipe.parse(tomllib.loads(path.read_text(encoding="utf-8")), f"recipe {path.name}")
    except (OSError, ValueError, RecursionError) as error:  # ValueError: no UTF-8, no TOML, or too long a number
        raise ConfigError(f"cannot read recipe {path}: {error}") from error


def value_of(text: str) -> Any:
    """A setting's value as it is written: TOML, or else a bare word.

    >>> value_of("0.5"), value_of("true"), value_of("nested")
    (0.5, True, 'nested')
    """
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):  # no TOML, or more digits or brackets than can be read
        return text


def _explained(problem: Any) -> str:
    steps = problem["loc"]
    place, _ = _located(steps)
    shown = ".".join(place) or "the recipe"
    if problem["type"] == "extra_forbidden":
        _, parts = _located(steps[:-1])
        known = {name for part in parts for name in part.model_fields}
        return f"{shown}: no such setting; {did_you_mean(place[-1], known)}"
    if problem["type"] == "union_tag_not_found":
        return f"{shown}: set {shown}.kind first, which says what its other settings are"
    return f"{shown}: {problem['msg']}, found {_shown(problem.get('input'))}"


def _located(steps: Sequence[Any]) -> tuple[list[str], list[type[BaseModel]]]:
    """A place as `--set` names it, and the parts that may be there: pydantic puts a part's kind between the two."""
    place: list[str] = []
    parts: list[type[BaseModel]] = [Recipe]
    for step in steps:
        if len(parts) > 1 and (chosen := [part for part in parts if step in _kinds(part)]):
            parts = chosen
            continue
        place.append(str(step))
        fields = [part.model_fields[step] for part in parts if step in part.model_fields]
        parts = [model for field in fields for model in _models(field.annotation)]
    return place, parts


def _kinds(part: type[BaseModel]) -> tuple[Any, ...]:
    return get_args(part.model_fields["kind"].annotation) if "kind" in part.model_fields else ()


def _models(annotation: Any) -> list[type[BaseModel]]:
    if get_origin(annotation) in (Union, UnionType):
        return [model for part in get_args(annotation) for model in _models(part)]
    return [annotation] if isinstance(annotation, type) and issubclass(annotation, BaseModel) else []


def _shown(value: Any) -> str:
    """A value as an error shows it, cut where it is long."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return "a value too long to be shown"
    return text if len(text) <= LONG else f"{text[:LONG]}..."
