"""Whether other word vectors find better neighbours: the instance head's scores, its K sentences chosen by them.

    python benchmarks/search_vectors.py MODEL TRAIN F [--vectors GLOVE] [--known] [--distinct] [--out results.json]

A sentence is the mean of its words' vectors. By default these are the model's own, those it has learned among them;
with `--known` a word without a pretrained vector is 0 instead, and with `--vectors` all come from a text file (in lower
case, 0 for words that it lacks), as in the paper. `--distinct` keeps each training sentence once. The model itself
stays as it is.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch
from torch import Tensor

import nearspan
from nearspan.encoders import Encoded, Encoder
from nearspan.encoders.vectors import read_vectors
from nearspan.encoders.words import Words
from nearspan.evaluation import evaluate
from nearspan.model import Model
from nearspan.training.data import TrainingData


def by_known(words: Words) -> None:
    """Sentences as means over the words that have a pretrained vector."""
    own = words.vocabulary["own"]

    def means(self: Encoded) -> Tensor:
        batch = self.batch
        known = (batch.prepared.features["words"]["rows"][batch.rows] >= own) & batch.mask
        return (self.features["words"] * known[..., None]).sum(1) / batch.mask.sum(1, keepdim=True)

    Encoded.sentence_vectors = means  # type: ignore[method-assign]


def by_file(path: Path) -> None:
    """Sentences as means over the vectors of a file."""
    words, found = read_vectors(path, 400_000, set())
    table = torch.from_numpy(found).float()
    index = {word: row for row, word in enumerate(words)}
    table = torch.cat([table, table.new_zeros(1, table.shape[1])])  # the last row is that of words it lacks
    prepare = Encoder.prepare

    def prepared(self, sentences, training=False):  # type: ignore[no-untyped-def]
        result = prepare(self, sentences, training)
        rows = [[index.get(token.lower(), len(words)) for token in sentence.tokens] for sentence in sentences]
        means = torch.stack([table[torch.tensor(own)].mean(0) for own in rows])
        result.features["means"] = {"vectors": means}
        return result

    Encoder.prepare = prepared  # type: ignore[method-assign]

    def of(self: Encoded) -> Tensor:
        means = self.batch.prepared.features["means"]["vectors"]
        return means[self.batch.ids.to(means.device)].to(self.states.device)

    Encoded.sentence_vectors = of  # type: ignore[method-assign]


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
    if options.vectors:
        by_file(options.vectors)
    elif options.known:
        assert model.network.encoder.words is not None
        by_known(model.network.encoder.words)
    data = TrainingData.of(nearspan.read(options.train).documents, model.split, model.network.max_width)
    kept = list(range(len(data.sentences)))
    if options.distinct:
        kept = sorted({tuple(sentence.tokens): number for number, sentence in enumerate(data.sentences)}.values())
    model.remember([data.sentences[number] for number in kept], [data.entities[number] for number in kept])
    found = {"sentences": len(kept)}
    for file in options.files:
        scores = evaluate(model, nearspan.read(file).documents).scores
        found[file.name] = round(100 * scores.f1, 2)
    print(json.dumps(found))
    if options.out:
        options.out.write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
