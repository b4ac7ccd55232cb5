"""Growth: a trained model that learns more words, characters and labels. What it knows stays as it is."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from nearspan.config import Recipe
from nearspan.encoders import Encoder
from nearspan.model.build import build_network
from nearspan.model.decode import Overlap
from nearspan.model.model import Model
from nearspan.model.network import Network
from nearspan.segment import LabelledSpan, Sentence

OVERLAPS: Sequence[Overlap] = ("flat", "nested", "any")  # each allows what those before it do


def grow(
    model: Model,
    labels: Sequence[str],
    sentences: Sequence[Sentence],
    entities: Sequence[Sequence[LabelledSpan[str]]],
    others: Sequence[Sentence] = (),
    linked: Sequence[str] = (),
    overlaps: tuple[Overlap, Overlap] = ("flat", "flat"),
) -> Model:
    """A model with the weights of another one, for the labels and words of some sentences beside its own.

    `labels` begin with its own, or are others altogether; `linked` are those that have discontinuous entities;
    `overlaps` are the least that the sentences need, of contiguous and of discontinuous entities. A label that is new
    begins as the mean of the others, a word or a character as what stood for unknown ones. Words of the `others` keep
    their pretrained vectors.
    """
    encoder, old = model.network.encoder, model.network
    encoder.grow(sentences, others, entities)
    if list(labels[: len(model.trained_labels)]) != model.trained_labels:  # only its weights are to begin with
        network = grow_network(model.recipe, encoder, old, len(labels), _numbers(labels, linked), same_labels=False)
        return Model(model.recipe, labels, network, overlaps[0], linked_overlap=overlaps[1])
    known = [model.trained_labels[number - 1] for number in old.fragment_linker.labels] if old.fragment_linker else []
    names = [*known, *(label for label in labels if label in linked and label not in known)]
    network = grow_network(model.recipe, encoder, old, len(labels), _numbers(labels, names))
    overlap = max(model.overlap, overlaps[0], key=OVERLAPS.index)
    linked_overlap = max(model.linked_overlap, overlaps[1], key=OVERLAPS.index) if known else overlaps[1]
    return Model(model.recipe, labels, network, overlap, linked_overlap=linked_overlap)


def grow_network(
    recipe: Recipe, encoder: Encoder, old: Network, labels: int, linked: Sequence[int], same_labels: bool = True
) -> Network:
    """The network of a recipe around an encoder that has grown, with the weights of the old one.

    What scores labels keeps its weights where these are the `same_labels`, and more of them. Generators are left out:
    they shape the encoder while it is first trained.
    """
    network = build_network(recipe, encoder, labels, None, linked)
    for name in ("representation", "bottleneck", *(["fragment_linker"] if same_labels else [])):
        new_part, old_part = getattr(network, name), getattr(old, name)
        if new_part is not None and old_part is not None:
            extend_weights(new_part, old_part)
    if same_labels:
        extend_weights(network.head, old.head, network.head.rows_before_labels, network.head.rows_of_label)
        for new_loss, old_loss in zip(network.losses, old.losses, strict=False):
            if type(new_loss) is type(old_loss):
                extend_weights(new_loss, old_loss)
    return network


def _numbers(labels: Sequence[str], names: Sequence[str]) -> list[int]:
    return [labels.index(name) + 1 for name in names]


@torch.no_grad()
def extend_weights(new: nn.Module, old: nn.Module, before: int = 0, each: int = 1) -> None:
    """Give a part the weights of the same part for fewer labels, which come first.

    Each label has `each` rows, after those that are `before` all labels.
    """
    weights = old.state_dict()
    for name, tensor in new.state_dict().items():
        if name in weights:
            tensor.copy_(_extend(weights[name], tensor.shape, before, each))


def _extend(tensor: Tensor, shape: Sequence[int], before: int, each: int) -> Tensor:
    """A tensor with more rows, or columns, of labels: each the mean of those that there are.

    >>> _extend(torch.tensor([9.0, 1.0, 3.0]), [5], before=1, each=1).tolist()
    [9.0, 1.0, 3.0, 2.0, 2.0]
    """
    for dimension, size in enumerate(shape):
        rows = tensor.movedim(dimension, 0)
        if len(rows) == size:
            continue
        mean = rows[before:].unflatten(0, (-1, each)).float().mean(0).to(rows.dtype)  # [each, ...]
        more = mean.repeat((size - len(rows)) // each, *[1] * (mean.ndim - 1))
        tensor = torch.cat([rows, more]).movedim(0, dimension)
    return tensor
