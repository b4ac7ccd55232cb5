"""Whether other word vectors find better neighbours: the instance head's scores, its K sentences chosen by them.

    python benchmarks/search_vectors.py MODEL TRAIN F [--vectors GLOVE] [--known] [--distinct] [--out results.json]

A sentence is the mean of its words' vectors. By default these are the model's own, those it has learned among them;
with `--known` a word without a pretrained vector is 0 instead, and with `--vectors` all come from a text file, as in
the paper and with `encoder.vectors.read=false` (0 for numbers and for words that it lacks). `--distinct` keeps each
training sentence once. The model itself stays as it is.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from torch import Tensor

import nearspan
from nearspan.encoders import Encoded, Encoder
from nearspan.encoders.static_vectors import StaticVectors, StaticVectorSettings
from nearspan.evaluation import evaluate
from nearspan.model import Model
from nearspan.training.data import TrainingData


def by_known(words: StaticVectors) -> None:
    """Sentences as means over the words that have a pretrained vector."""
    first_pretrained = words.vocabulary["own"]

    def means(self: Encoder, encoded: Encoded) -> Tensor:  # noqa: ARG001
        batch = encoded.batch
        known = (batch.corpus.features["vectors"]["rows"][batch.rows] >= first_pretrained) & batch.mask
        return (encoded.features["vectors"] * known[..., None]).sum(1) / batch.mask.sum(1, keepdim=True)

    Encoder.sentence_vectors = means  # type: ignore[method-assign]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model", type=Path)
    arguments.add_argument("train", type=Path)
    arguments.add_argument("files", type=Path, nargs="+")
    arguments.add_argument("--vectors", type=Path)
    arguments.add_argument("--known", action="store_true")
    arguments.add_argument("--distinct", action="store_true")
    arguments.add_argument("--out", type=Path)
    options = arguments.parse_args()
    model = Model.load(options.model)
    data = TrainingData.of(nearspan.read(options.train).documents, model.recipe, model.split)
    encoder = model.network.encoder
    if options.vectors:
        finder = StaticVectors.from_corpus(
            StaticVectorSettings(file=str(options.vectors), read=False), data.sentences, []
        )
        encoder.finder = finder.to(model.device)
    elif options.known:
        assert encoder.vectors is not None
        by_known(encoder.vectors)
    kept = list(range(len(data.sentences)))
    if options.distinct:
        kept = sorted({tuple(sentence.tokens): number for number, sentence in enumerate(data.sentences)}.values())
    model.build_datastore(data.labelled_sentences.select(kept))
    record = {"sentences": len(kept)}
    for file in options.files:
        scores = evaluate(model, nearspan.read(file).documents).scores
        record[file.name] = round(100 * scores.f1, 2)
    print(json.dumps(record))
    if options.out:
        options.out.write_text(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
