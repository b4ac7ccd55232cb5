"""A recipe: the parts of a system and how it is trained, typed and checked."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast, get_args, get_origin

from pydantic import BaseModel, Field, ValidationError

from nearspan import recipes, registry
from nearspan.encoders import EncoderSettings, Splitter, load_tokenizer
from nearspan.errors import ConfigError, did_you_mean
from nearspan.heads import FragmentLinkerSettings, Head
from nearspan.knn import InterpolationSettings
from nearspan.losses import LossSettings
from nearspan.segment import split
from nearspan.segment.words import words
from nearspan.settings import PartField, PartSettings, Settings
from nearspan.spans import AllSpans, BottleneckSettings, CandidateRules, LstmMinus, SuggesterSettings
from nearspan.spans.labelled_sentences import Split

LONG = 200  # characters of a value that an error shows


class DecodingSettings(Settings):
    """How entities of one sentence may overlap; `auto` takes what the training data shows."""

    overlap: Literal["auto", "flat", "nested", "any"] = "auto"  # contiguous ones
    linked: Literal["auto", "flat", "nested", "any"] = "auto"  # two of which one or both are discontinuous


class TrainingSettings(Settings):
    """How a system is trained."""

    epochs: int = Field(default=100, ge=1, le=1_000_000)
    minutes: float = Field(default=0.0, ge=0, allow_inf_nan=False)  # of `epochs` as many as take so long; 0: all
    dev_share: float = Field(default=0.0, ge=0, lt=1)  # of the training data, scored where none is given for that
    rehearsal: float = Field(default=4.0, ge=0, allow_inf_nan=False)  # of a warm start: old sentences for each new one
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
    characters_as_words: bool = False  # split raw text into single characters, for Chinese
    encoder: EncoderSettings
    suggester: Annotated[SuggesterSettings, PartField("suggester", default="all")] = SuggesterSettings()
    representation: Annotated[PartSettings, PartField("representation")] = cast(PartSettings, LstmMinus.Settings())
    bottleneck: BottleneckSettings | None = None
    head: Annotated[PartSettings, PartField("head")]
    fragment_linker: FragmentLinkerSettings | None = None
    interpolation: InterpolationSettings | None = None
    losses: LossSettings = LossSettings()
    decoding: DecodingSettings = DecodingSettings()
    training: TrainingSettings = TrainingSettings()

    @classmethod
    def parse(cls, content: Mapping[str, Any], source: str) -> Self:
        """Check a recipe's content; `source` names it in errors."""
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            problems = "\n".join(f"  {_explain(problem)}" for problem in error.errors())
            raise ConfigError(f"{source} has wrong settings:\n{problems}") from None

    def rules(self) -> CandidateRules:
        """Which entities a model of this recipe can predict."""
        head: type[Head] = registry.part("head", self.head.kind)
        linked = self.fragment_linker is not None
        return CandidateRules(self.suggester.max_width, head.multilabel, linked, head.reads_words)

    def build_suggester(self) -> AllSpans:
        """What proposes the candidates."""
        suggester: AllSpans = registry.part("suggester", self.suggester.kind)(self.suggester.max_width)
        return suggester

    def splitter(self, tokenizer: Any = None) -> Split:
        """What splits documents for this system; its encoder's tokenizer is loaded where it is needed and not given."""
        if self.suggester.unit == "words":
            words("", self.characters_as_words)  # builds its pattern now, and not at the first text
            return partial(split, characters=self.characters_as_words)
        if self.encoder.transformer is None:
            raise ConfigError(
                "suggester.unit is pieces, and this recipe has no pretrained encoder to make them: "
                "set encoder.transformer.name, or suggester.unit=words"
            )
        tokenizer = load_tokenizer(self.encoder.transformer.name) if tokenizer is None else tokenizer
        return Splitter(self.characters_as_words, tokenizer)

    def override(self, settings: Iterable[str], option: str = "`settings`") -> Self:
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
                settings_of_part = place.setdefault(part, {})
                if not isinstance(settings_of_part, dict):
                    raise ConfigError(f"{option} {setting}: {part} is a value and has no settings of its own")
                place = settings_of_part
            if last == "kind" and _begins_anew(parts, place.get("kind"), value_of(value.strip())):
                place.clear()
            place[last] = None if value.strip() == "none" else value_of(value.strip())  # none leaves a part out
        return type(self).parse(content, f"the recipe with {option}")


def load(name: str | Path) -> Recipe:
    """A recipe by its name, or from a TOML file of yours.

    >>> load("instance").head.kind
    'instances'
    """
    content = recipes.read(name)
    content.pop("reported", None)  # for those who choose a recipe
    return Recipe.parse(content, f"recipe {recipes.find(name).name}")


def value_of(text: str) -> Any:
    """A setting's value as it is written: TOML, or else a bare word.

    >>> value_of("0.5"), value_of("true"), value_of("nested")
    (0.5, True, 'nested')
    """
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):  # no TOML, or more digits or brackets than can be read
        return text


def _begins_anew(parts: Sequence[str], before: Any, kind: Any) -> bool:
    """Whether another kind of a part has other settings, so that those of the old one go."""
    field = Recipe.model_fields.get(parts[0]) if len(parts) == 1 else None
    roles = [part for part in field.metadata if isinstance(part, PartField)] if field else []
    known = {kind: name for part in roles for kind, name in part.settings().items()}
    return before != kind and (before is None or known.get(before) is not known.get(kind) or kind not in known)


def _explain(problem: Any) -> str:
    steps = problem["loc"]
    place, _ = _locate(steps)
    name = ".".join(place) or "the recipe"
    if problem["type"] == "extra_forbidden":
        _, parts = _locate(steps[:-1])
        known = {field for part in parts for field in part.model_fields}
        return f"{name}: no such setting; {did_you_mean(place[-1], known)}"
    if problem["type"] == "union_tag_not_found":
        return f"{name}: set {name}.kind first, which says what its other settings are"
    if problem["type"] == "union_tag_invalid":
        kind, kinds = problem["ctx"]["tag"], problem["ctx"]["expected_tags"].replace("'", "").split(", ")
        return f"{name}.kind: there is no {_quote(kind)}; {did_you_mean(str(kind), kinds)}"
    return f"{name}: {problem['msg']}, found {_quote(problem.get('input'))}"


def _locate(steps: Sequence[Any]) -> tuple[list[str], list[type[BaseModel]]]:
    """A place as `override` names it, and the parts that may be there: pydantic puts a part's kind between the two."""
    place: list[str] = []
    parts: list[type[BaseModel]] = [Recipe]
    named = False  # whether the step is the name of a part in a table of them
    for step in steps:
        if named:
            place.append(str(step))
            named = False
            continue
        if chosen := [part for part in parts if step in _kinds(part)]:
            parts = chosen
            continue
        place.append(str(step))
        fields = [part.model_fields[step] for part in parts if step in part.model_fields]
        named = any(get_origin(field.annotation) is dict for field in fields)
        parts = [model for field in fields for model in _models(field)]
    return place, parts


def _kinds(part: type[BaseModel]) -> tuple[Any, ...]:
    return get_args(part.model_fields["kind"].annotation) if "kind" in part.model_fields else ()


def _models(field: Any) -> list[type[BaseModel]]:
    """The settings classes that may stand in a field, or under the names of its table."""
    options = get_args(field.annotation) or (field.annotation,)
    metadata = get_args(options[1]) if get_origin(field.annotation) is dict else field.metadata
    if parts := [part for part in metadata if isinstance(part, PartField)]:
        return list(dict.fromkeys(model for part in parts for model in part.settings().values()))
    return [option for option in options if isinstance(option, type) and issubclass(option, BaseModel)]


def _quote(value: Any) -> str:
    """A value as an error shows it, cut where it is long."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return "a value too long to be shown"
    return text if len(text) <= LONG else f"{text[:LONG]}..."
