"""How much of the encoder's gradient comes from joint-ib's generators, as one line of JSON.

    python benchmarks/gradient_ratio.py MODEL TRAIN [--synonyms F] [--batches 40]

For batches of the training data of a model, the norms over the weights of its encoder of the gradient of
the classifier's loss (with the bottleneck's) and of gamma times that of the generators' (equation 7 of Nguyen et al.,
2023), with dropout and in full precision; `ratio` is the second over the first.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path

import torch
from torch import Tensor

import nearspan
from nearspan.network import Labelled, Network
from nearspan.objectives import SpanTexts
from nearspan.training.data import TrainingData


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model", type=Path)
    arguments.add_argument("train", type=Path)
    arguments.add_argument("--synonyms", type=Path)
    arguments.add_argument("--batches", type=int, default=40)
    options = arguments.parse_args()
    model = nearspan.load(options.model)
    recipe, network = model.recipe, model.network.train()
    if network.generators is None:
        raise SystemExit(f"{options.model} was trained without generators")
    width, generation = recipe.candidates.max_width, network.generators.settings
    documents = nearspan.read(options.train).documents
    data = TrainingData.of(documents, recipe.splitter(), width, recipe.head.multilabel)
    synonyms = nearspan.synonyms(options.synonyms) if options.synonyms else None
    texts = SpanTexts.learn(data.sentences, data.entities, width, synonyms, generation.most, generation.longest)
    if texts.vocabulary != network.generators.vocabulary:
        raise SystemExit("these are not the training data and synonyms of this model")
    prepared = model.prepare(data.sentences, data.entities, training=True)
    labels = data.span_labels(width).to(network.device)
    torch.manual_seed(0)
    batches = prepared.buckets(recipe.training.batch, torch.Generator().manual_seed(0))
    pairs = [norms(network, Labelled(prepared.batch(ids), labels, texts)) for ids in batches[: options.batches]]
    found = [(own, told) for own, told in pairs if told > 0]  # a batch may hold no entity
    ratios = sorted(told / own for own, told in found)
    own, told = (statistics.fmean(norms) for norms in zip(*found, strict=True))
    mean = {"classifier": own, "generators": told}
    spread = {"ratio": statistics.median(ratios), "least": ratios[0], "greatest": ratios[-1]}
    print(json.dumps({"gamma": generation.gamma, "batches": len(found), **mean, **spread}))


def norms(network: Network, labelled: Labelled) -> tuple[float, float]:
    """The norm of what the classifier asks of the encoder, and of what the generators ask, times gamma."""
    assert network.generators is not None
    assert labelled.texts is not None
    weights = [weight for weight in network.encoder.parameters() if weight.requires_grad]
    vectors, candidates = network.represented(labelled.batch)
    told = labelled.texts.of(labelled.batch.ids, candidates)
    epochs = 9  # of beta's growth: as after ten epochs
    losses = (
        network._classified(vectors, candidates, labelled, None, epochs),
        network.generators.loss(vectors.float(), told, 1.0, network.generators.settings.gamma),
    )
    return norm(losses[0], weights), norm(losses[1], weights)


def norm(loss: Tensor, weights: list[torch.nn.Parameter]) -> float:
    found = torch.autograd.grad(loss, weights, retain_graph=True, allow_unused=True)
    return float(torch.stack([gradient.norm() for gradient in found if gradient is not None]).norm())


if __name__ == "__main__":
    main()
