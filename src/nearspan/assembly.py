"""The assembly: a recipe's parts are built and put together as one network."""

from __future__ import annotations

from collections.abc import Sequence

from nearspan.encoders import Encoder
from nearspan.errors import ConfigError
from nearspan.heads import Head
from nearspan.network import Network
from nearspan.objectives import Vocabulary
from nearspan.recipes import Recipe
from nearspan.spans import Ends


def assemble(
    recipe: Recipe, encoder: Encoder, labels: int, vocabulary: Vocabulary | None = None, joined: Sequence[int] = ()
) -> Network:
    """The network of a recipe around an encoder.

    Generators are built where there is a vocabulary for them, a joiner where labels, by their numbers, are `joined`:
    those that have discontinuous entities.
    """
    representation = recipe.representation.build(encoder, recipe.candidates.max_width)
    bottleneck = recipe.bottleneck.build(representation.size) if recipe.bottleneck else None
    ends = representation.end_size if isinstance(representation, Ends) else 0
    if bottleneck is not None and recipe.head.kind == "biaffine":
        raise ConfigError("the biaffine head compares a span's ends, which a bottleneck blends: set bottleneck=none")
    size = bottleneck.size if bottleneck else representation.size
    if recipe.head.tags_words:
        _refuse_spans(recipe)
        head: Head = recipe.head.build(encoder.size, labels)
    else:
        head = recipe.head.build(size, labels, ends)
    wanted, max_width = recipe.objective.generation, recipe.candidates.max_width
    generators = wanted.build(representation.size, vocabulary) if wanted and vocabulary else None
    joiner = recipe.joining.build(size, joined) if recipe.joining and joined else None
    if recipe.vote is not None and recipe.head.kind == "instances":
        raise ConfigError("the instance head is a vote of the memory already: set vote=none")
    typing = recipe.task == "typing"
    for name in ("smoothing", "generation"):
        if typing and getattr(recipe.objective, name) is not None:
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
        recipe.objective,
        bottleneck,
        generators,
        joiner,
        recipe.vote,
        typing,
    )


def _refuse_spans(recipe: Recipe) -> None:
    """A head over words has no use for given spans, or for what changes span vectors or their targets."""
    if recipe.task == "typing":
        raise ConfigError(f"the {recipe.head.kind} head reads words and cannot label given spans: set task=recognition")
    parts = {"bottleneck": recipe.bottleneck, "joining": recipe.joining}
    parts |= {f"objective.{name}": getattr(recipe.objective, name) for name in ("smoothing", "generation")}
    for place in (place for place, part in parts.items() if part is not None):
        raise ConfigError(f"the {recipe.head.kind} head reads words, not spans: set {place}=none")
