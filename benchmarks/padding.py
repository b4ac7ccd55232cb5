"""How much of a training batch is padding: words and an encoder's pieces, with the batches that training makes.

    python benchmarks/padding.py ENCODER FILE... [--batch 48] > padding.json

"sorted by words" are batches of like words alone, whatever pieces they have.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

import torch

import nearspan
from nearspan.encoders import EncodedCorpus
from nearspan.encoders.encoder import Encoder, EncoderSettings
from nearspan.encoders.transformer import TransformerSettings
from nearspan.segment import split


def shares(prepared: EncodedCorpus, batches: list[torch.Tensor]) -> dict[str, float]:
    """Padded places over real ones, of words and of pieces."""
    pieces = torch.tensor([longest for _, longest, _ in prepared.sizes])
    record = {}
    for name, counts in (("words", prepared.lengths), ("pieces", pieces)):
        places = sum(len(batch) * int(counts[batch].max()) for batch in batches)
        record[name] = round(places / int(counts.sum()) - 1, 4)
    return record


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("encoder")
    arguments.add_argument("files", nargs="+", type=Path)
    arguments.add_argument("--batch", nargs="+", type=int, default=[48, 96])
    options = arguments.parse_args()
    settings = EncoderSettings(transformer=TransformerSettings(name=options.encoder, frozen=False))
    encoder = Encoder.from_corpus(settings, [], [])
    rows = []
    for file in options.files:
        sentences = [sentence for document in nearspan.read(file) for sentence in split(document)]
        prepared = encoder.prepare(sentences)
        by_words = replace(prepared)
        by_words.__dict__["sizes"] = [(words, 0, 0) for words, *_ in prepared.sizes]
        for batch in options.batch:
            padding_of = {}
            for name, made in (("as trained", prepared), ("sorted by words", by_words)):
                padding_of[name] = shares(prepared, made.training_batches(batch, torch.Generator().manual_seed(1)))
            rows.append({"file": str(file), "sentences": len(sentences), "batch": batch, **padding_of})
    print(json.dumps({"encoder": options.encoder, "padding": rows}, indent=1))


if __name__ == "__main__":
    main()
