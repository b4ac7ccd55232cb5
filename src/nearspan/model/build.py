"""The assembly: a recipe's parts are built and put together as one network."""

from __future__ import annotations

from collections.abc import Sequence

from nearspan.config import Recipe
from nearspan.encoders import Encoder
from nearspan.errors import ConfigError
from nearspan.heads import Head
from nearspan.losses import Vocabulary
from nearspan.model.network import Network
from nearspan.spans import EndpointMLP


def assemble(
    recipe: Recipe, encoder: Encoder, labels: int, vocabulary: Vocabulary | None = None, joined: Sequence[int] = ()
) -> Network:
    """The network of a recipe around an encoder.

    Generators are built where there is a vocabulary for them, a joiner where labels, by their numbers, are `joined`:
    those that have discontinuous entities.
    """
    representation = recipe.representation.build(encoder, recipe.suggester.max_width)
    bottleneck = recipe.bottleneck.build(representation.size) if recipe.bottleneck else None
    ends = representation.end_size if isinstance(representation, EndpointMLP) else 0
    if bottleneck is not None and recipe.head.kind == "biaffine":
        raise ConfigError("the biaffine head compares a span's ends, which a bottleneck blends: set bottleneck=none")
    size = bottleneck.size if bottleneck else representation.size
    if recipe.head.tags_words:
        _refuse_spans(recipe)
        head: Head = recipe.head.build(encoder.size, labels)
    else:
        head = recipe.head.build(size, labels, ends)
    wanted, max_width = recipe.losses.generators, recipe.suggester.max_width
    generators = wanted.build(representation.size, vocabulary) if wanted and vocabulary else None
    joiner = recipe.fragment_linker.build(size, joined) if recipe.fragment_linker and joined else None
    if recipe.interpolation is not None and recipe.head.kind == "instances":
        raise ConfigError("the instance head is a vote of the memory already: set interpolation=none")
    typing = recipe.suggester.kind == "given"
    for name in ("smoothing", "generation"):
        if typing and getattr(recipe.losses, name) is not None:
            raise ConfigError(
                f"the task is typing, where spans are given, and objective.{name} is about all spans: "
                f"set objective.{name}=none"
            )
    return Network(
        encoder,
        representation,
        head,
        labels,
        max_width,
        recipe.losses,
        bottleneck,
        generators,
        joiner,
        recipe.interpolation,
        typing,
    )


def _refuse_spans(recipe: Recipe) -> None:
    """A head over words has no use for given spans, or for what changes span vectors or their targets."""
    if recipe.suggester.kind == "given":
        raise ConfigError(
            f"the {recipe.head.kind} head reads words and cannot label given spans: set suggester.kind=all"
        )
    parts = {"bottleneck": recipe.bottleneck, "joining": recipe.fragment_linker}
    parts |= {f"objective.{name}": part for name, part in recipe.losses}
    for place in (place for place, part in parts.items() if part is not None):
        raise ConfigError(f"the {recipe.head.kind} head reads words, not spans: set {place}=none")
