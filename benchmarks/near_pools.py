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
from nearspan.model.network import LabelledBatch
from nearspan.training.trainer import Trainer

NEAR = 50
at_random = Trainer._sample_neighbours


@torch.no_grad()
def neighbours(trainer: Any) -> list[list[int]]:
    """The nearest sentences of every training sentence, itself among them."""
    network, corpus = trainer.accelerator.unwrap_model(trainer.network), trainer.corpus
    training = network.training
    network.eval()
    by_number: dict[int, Tensor] = {}
    for batch in corpus.reading_batches():
        means = network.encoder.sentence_vectors(network.encoder(batch))
        vectors = functional.normalize(means.float(), dim=1)
        by_number |= dict(zip(batch.ids.tolist(), vectors, strict=True))
    network.train(training)
    table = torch.stack([by_number[number] for number in range(len(corpus))])
    return [
        row
        for part in table.split(1000)
        for row in (part @ table.T).topk(min(NEAR + 1, len(table)), dim=1).indices.tolist()
    ]


def sample_neighbours(trainer: Any, ids: Tensor, chance: int) -> LabelledBatch:
    """K training sentences, none of the batch's own: SHARE of them near these, the others at random."""
    if not hasattr(trainer, "near"):
        trainer.near = neighbours(trainer)
    batch, drawing, chosen = ids.tolist(), random.Random(chance), dict[int, None]()
    for _ in range(4 * trainer.neighbours):
        if len(chosen) >= SHARE * trainer.neighbours:
            break
        number = drawing.choice(trainer.near[drawing.choice(batch)])
        if number not in batch:
            chosen[number] = None
    for number in at_random(trainer, ids, chance).batch.ids.tolist():
        if len(chosen) < trainer.neighbours:
            chosen[number] = None
    return trainer._label(trainer.corpus.batch(torch.tensor(list(chosen))))


if __name__ == "__main__":
    SHARE = float(sys.argv.pop(1))
    Trainer._sample_neighbours = sample_neighbours  # type: ignore[method-assign]
    main()
