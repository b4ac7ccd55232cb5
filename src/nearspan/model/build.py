"""From a recipe to a network: its parts are built and put together."""

from collections.abc import Sequence

from nearspan import registry
from nearspan.config import Recipe
from nearspan.encoders import Encoder
from nearspan.errors import ConfigError
from nearspan.heads import FragmentLinker, Head, HeadInputs
from nearspan.linear import speed_up_linear
from nearspan.losses import Loss, Vocabulary
from nearspan.model.network import Network
from nearspan.spans import AllSpans, Bottleneck


def build_network(
    recipe: Recipe, encoder: Encoder, labels: int, vocabulary: Vocabulary | None = None, linked: Sequence[int] = ()
) -> Network:
    """The network of a recipe around an encoder.

    Generators are built where there is a vocabulary for them, a fragment linker where labels, by their numbers, are
    `linked`: those that have discontinuous entities.
    """
    suggester = recipe.build_suggester()
    representation_class = registry.part("representation", recipe.representation.kind)
    representation = representation_class.build(recipe.representation, encoder, suggester.max_width)
    bottleneck = Bottleneck(recipe.bottleneck, representation.size) if recipe.bottleneck else None
    span_size = bottleneck.size if bottleneck else representation.size
    head_class: type[Head] = registry.part("head", recipe.head.kind)
    _refuse_unfit(recipe, head_class, suggester)
    inputs = HeadInputs(
        labels, span_size, encoder.size, representation.end_size, suggester.has_null, bottleneck is not None
    )
    head = head_class.build(recipe.head, inputs)
    chosen = recipe.losses.about_spans().values()
    losses: list[Loss] = [registry.part("loss", settings.kind).build(settings, inputs) for settings in chosen]
    settings = recipe.losses.generators
    generators = settings.build(representation.size, vocabulary) if settings and vocabulary else None
    linker = FragmentLinker(recipe.fragment_linker, span_size, linked) if recipe.fragment_linker and linked else None
    parts = (encoder, suggester, representation, head, labels, losses, recipe.losses.mean_over)
    network = Network(*parts, bottleneck, generators, linker, recipe.interpolation)
    speed_up_linear(network)
    return network


def _refuse_unfit(recipe: Recipe, head: type[Head], suggester: AllSpans) -> None:
    """Refuse parts that have nothing to do beside others."""
    kind = recipe.head.kind
    generators = {"generators": recipe.losses.generators} if recipe.losses.generators else {}
    losses = {f"losses.{name}": settings for name, settings in (recipe.losses.about_spans() | generators).items()}
    if head.reads_words:
        unused = {"bottleneck": recipe.bottleneck, "fragment_linker": recipe.fragment_linker} | losses
        for place in (place for place, settings in unused.items() if settings is not None):
            raise ConfigError(f"the {kind} head reads words, not spans: set {place}=none")
    if recipe.interpolation is not None and head.uses_datastore:
        raise ConfigError(f"the {kind} head predicts from the datastore already: set interpolation=none")
    for place in losses if not suggester.has_null else ():
        raise ConfigError(
            f"the suggester gives spans to be classified, and {place} is about all spans: set {place}=none"
        )
