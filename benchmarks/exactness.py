"""How far the whole memory's probabilities are from the plain sum over all its spans, with a trained model's weights.

    python benchmarks/exactness.py MODEL F [--sentences 100] > exactness.json

The plain sum is equation 2 in double precision: the softmax of a span's inner products with every span of the memory,
added up by label. Both forms are measured: by words, as on a CPU, and streamed over spans, as on a GPU; and beside them
the plain sum in single precision, whose scores are rounded too.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch
from torch import Tensor

import nearspan
from nearspan.heads import NearestHead
from nearspan.heads.nearest import probabilities_by_stream


def summed(scores: Tensor, labels: Tensor, count: int) -> Tensor:
    """Equation 2 [n, count] from scores [n, N] with spans of these labels [N]."""
    return scores.new_zeros(len(scores), count).index_add_(1, labels, scores.softmax(1))


@torch.inference_mode()
def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model", type=Path)
    arguments.add_argument("file", type=Path)
    arguments.add_argument("--sentences", type=int, default=100)
    options = arguments.parse_args()
    model = nearspan.load(options.model, "cpu").search("whole")
    network, memory, head = model.network.eval(), model.datastore, model.network.head
    assert memory is not None
    assert isinstance(head, NearestHead)
    sentences = [one for document in nearspan.read(options.file).documents for one in model.split(document)]
    prepared = model.encode(sentences[: options.sentences])
    own = memory.rows(slice(None)).double()
    offsets, labels = memory.offsets(slice(None)).double(), memory.labels.clamp(min=0)
    spans, largest, apart = 0, 0.0, dict.fromkeys(("by words", "streamed", "plain in float32"), 0.0)
    for sentence in range(len(prepared)):
        batch = prepared.batch(torch.tensor([sentence]))
        encoded, candidates = network.encoder(batch), network.candidates(batch)
        vectors = network.vectors(encoded, candidates).float()
        scores = vectors.double() @ own.T + offsets
        plain = summed(scores, labels, head.labels)
        found = {
            "plain in float32": summed(vectors @ own.float().T + offsets.float(), labels, head.labels),
            "by words": network.judged(encoded, candidates, memory)[0],
            "streamed": probabilities_by_stream(vectors, memory, head.labels, head.budget),
        }
        for name, probabilities in found.items():
            apart[name] = max(apart[name], float((probabilities.double() - plain).abs().max()))
        spans, largest = spans + len(vectors), max(largest, float(scores.abs().max()))
    told = {"file": str(options.file), "spans": spans, "memory_spans": len(memory), "largest_score": round(largest, 1)}
    print(json.dumps({"recipe": model.recipe.name, **told, "largest_difference": apart}, indent=1))


if __name__ == "__main__":
    main()
