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
from nearspan.heads import NearestHead, Query
from nearspan.knn import probabilities_over_all


def sum_by_label(scores: Tensor, labels: Tensor, count: int) -> Tensor:
    """Equation 2 [n, count] from scores [n, N] with spans of these labels [N]."""
    return scores.new_zeros(len(scores), count).index_add_(1, labels, scores.softmax(1))


@torch.inference_mode()
def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model", type=Path)
    arguments.add_argument("file", type=Path)
    arguments.add_argument("--sentences", type=int, default=100)
    options = arguments.parse_args()
    model = nearspan.load(options.model, "cpu").set_search("whole")
    network, memory, head = model.network.eval(), model.datastore, model.network.head
    assert memory is not None
    assert isinstance(head, NearestHead)
    sentences = [sentence for document in nearspan.read(options.file) for sentence in model.split(document)]
    corpus = model.encode(sentences[: options.sentences])
    rows = memory.rows(slice(None)).double()
    offsets, labels = memory.offsets(slice(None)).double(), memory.labels.clamp(min=0)
    spans, largest, apart = 0, 0.0, dict.fromkeys(("by words", "streamed", "plain in float32"), 0.0)
    for sentence in range(len(corpus)):
        query = Query(network, corpus.batch(torch.tensor([sentence])), memory)
        vectors = query.vectors.float()
        scores = vectors.double() @ rows.T + offsets
        plain = sum_by_label(scores, labels, head.labels)
        forms = {
            "plain in float32": sum_by_label(vectors @ rows.float().T + offsets.float(), labels, head.labels),
            "by words": head.predict_proba(query),
            "streamed": probabilities_over_all(vectors, memory, head.labels, head.budget),
        }
        for name, probabilities in forms.items():
            apart[name] = max(apart[name], float((probabilities.double() - plain).abs().max()))
        spans, largest = spans + len(vectors), max(largest, float(scores.abs().max()))
    sizes = {"file": str(options.file), "spans": spans, "memory_spans": len(memory), "largest_score": round(largest, 1)}
    print(json.dumps({"recipe": model.recipe.name, **sizes, "largest_difference": apart}, indent=1))


if __name__ == "__main__":
    main()
