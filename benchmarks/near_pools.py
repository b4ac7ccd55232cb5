"""Train the instance head against neighbours of the batch: a share of each pool lies near the batch's own sentences.

    python benchmarks/near_pools.py SHARE train instance --train F --dev F --out DIR [--set part.key=value]...

What follows SHARE are the arguments of `nearspan`. In the paper a pool is K training sentences at random; here SHARE
of them are drawn from the 50 nearest of the batch's sentences, by the vectors that the encoder begins with.
"""

from __future__ import annotations

import random
import sys
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.cli import main
from nearspan.training.trainer import Trainer

NEAR = 50
at_random = Trainer._sampled


@torch.no_grad()
def neighbours(trainer: Any) -> list[list[int]]:
    """The nearest sentences of every training sentence, itself among them."""
    network, prepared = trainer.accelerator.unwrap_model(trainer.network), trainer.prepared
    device, training = prepared.first.device, network.training
    network.eval()
    found: dict[int, Tensor] = {}
    for ids in prepared.reading_batches(device):
        means = network.encoder.sentence_vectors(network.encoder(prepared.batch(ids)))
        vectors = functional.normalize(means.float(), dim=1)
        found |= dict(zip(ids.tolist(), vectors, strict=True))
    network.train(training)
    table = torch.stack([found[number] for number in range(len(prepared))])
    return [
        row
        for part in table.split(1000)
        for row in (part @ table.T).topk(min(NEAR + 1, len(table)), dim=1).indices.tolist()
    ]


def sampled(trainer: Any, ids: Tensor, chance: int) -> Tensor:
    """K training sentences, none of the batch's own: SHARE of them near these, the others at random."""
    if not hasattr(trainer, "near"):
        trainer.near = neighbours(trainer)
    own, drawing = set(ids.tolist()), random.Random(chance)
    batch, chosen = ids.tolist(), dict[int, None]()
    for _ in range(4 * trainer.neighbours):
        if len(chosen) >= SHARE * trainer.neighbours:
            break
        one = drawing.choice(trainer.near[drawing.choice(batch)])
        if one not in own:
            chosen[one] = None
    for one in at_random(trainer, ids, chance).tolist():
        if len(chosen) < trainer.neighbours:
            chosen[one] = None
    return torch.tensor(list(chosen))


if __name__ == "__main__":
    SHARE = float(sys.argv.pop(1))
    Trainer._sampled = sampled  # type: ignore[method-assign]
    main()
