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
from nearspan.heads import Query
from nearspan.model.network import LabelledBatch, Network
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
    synonyms = nearspan.synonyms(options.synonyms) if options.synonyms else None
    data = TrainingData.of(nearspan.read(options.train).documents, recipe, recipe.splitter(), synonyms)
    texts = data.texts
    if texts is None or texts.vocabulary != network.generators.vocabulary:
        raise SystemExit("these are not the training data and synonyms of this model")
    corpus = model.encode(data.sentences, data.entities, training=True)
    labels = network.suggester.span_labels(torch.tensor(data.lengths), data.numbered_entities()).to(network.device)
    torch.manual_seed(0)
    batches = corpus.training_batches(recipe.training.batch, torch.Generator().manual_seed(0))
    pairs = [norms(network, LabelledBatch(corpus.batch(ids), labels, texts)) for ids in batches[: options.batches]]
    pairs = [(classifier, generators) for classifier, generators in pairs if generators > 0]  # some hold no entity
    ratios = sorted(generators / classifier for classifier, generators in pairs)
    classifier, generators = (statistics.fmean(column) for column in zip(*pairs, strict=True))
    mean = {"classifier": classifier, "generators": generators}
    spread = {"ratio": statistics.median(ratios), "least": ratios[0], "greatest": ratios[-1]}
    print(json.dumps({"gamma": network.generators.settings.gamma, "batches": len(pairs), **mean, **spread}))


def norms(network: Network, labelled: LabelledBatch) -> tuple[float, float]:
    """The norm of what the classifier asks of the encoder, and of what the generators ask, times gamma."""
    assert network.generators is not None
    assert labelled.texts is not None
    weights = [weight for weight in network.encoder.parameters() if weight.requires_grad]
    query = Query(network, labelled.batch)
    texts = labelled.texts.batch(labelled.batch.ids, query.candidates)
    epochs = 9  # of beta's growth: as after ten epochs
    losses = (
        network._span_loss(query, labelled, None, epochs),
        network.generators.loss(query.representations.float(), texts, 1.0, network.generators.settings.gamma),
    )
    return norm(losses[0], weights), norm(losses[1], weights)


def norm(loss: Tensor, weights: list[torch.nn.Parameter]) -> float:
    gradients = torch.autograd.grad(loss, weights, retain_graph=True, allow_unused=True)
    return float(torch.stack([gradient.norm() for gradient in gradients if gradient is not None]).norm())


if __name__ == "__main__":
    main()
