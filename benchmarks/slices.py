"""What `nearspan report --papers` says of one model on one corpus: scores by width, structure and vocabulary, vectors.

python benchmarks/slices.py MODEL F [--device D] > slices.json
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
from pathlib import Path

import nearspan
from nearspan.evaluation import Scores, by_structure, by_vocabulary, by_width, evaluate
from nearspan.model import Model
from nearspan.report.papers.geometry import coupling, geometry
from nearspan.report.papers.results import MOST_SPANS
from nearspan.report.papers.spans import gold_spans, negative_spans, span_vectors
from nearspan.report.scored_model import vector_vocabulary


def numbers(scores: Scores) -> dict[str, float]:
    return {"gold": scores.total.gold, "precision": scores.precision, "recall": scores.recall, "f1": scores.f1}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model", type=Path)
    arguments.add_argument("file", type=Path)
    arguments.add_argument("--device", default="")
    options = arguments.parse_args()
    model = Model.load(options.model, options.device)
    documents = nearspan.read(options.file).documents
    predicted = evaluate(model, documents).predicted
    golds = list(gold_spans(model, documents).values())
    spans = random.Random(0).sample(golds, min(MOST_SPANS, len(golds)))
    widest = model.network.max_width
    negatives = span_vectors(model, negative_spans(model, documents, widest, MOST_SPANS))
    labels = [span.entity.label for span in spans]
    known = vector_vocabulary(model)
    vocabulary = by_vocabulary(documents, predicted, *known) if known is not None else {}
    slices = {
        "width": {name: numbers(scores) for name, scores in by_width(documents, predicted, widest=10).items()},
        "structure": {name: numbers(scores) for name, scores in by_structure(documents, predicted).items()},
        "vocabulary": {name: numbers(scores) for name, scores in vocabulary.items()},
        "coupling": {name: dataclasses.asdict(cosine) for name, cosine in coupling(model, spans, widest).items()},
        "geometry": dataclasses.asdict(geometry(model, span_vectors(model, spans), labels, negatives)),
    }
    print(json.dumps(slices))


if __name__ == "__main__":
    main()
