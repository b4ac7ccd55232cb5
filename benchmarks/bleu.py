"""What a trained model's generators make of the gold entities of a corpus, as one line of JSON.

python benchmarks/bleu.py MODEL CORPUS
"""

from __future__ import annotations

import json
import sys

import nearspan
from nearspan.report.papers import generation


def main() -> None:
    model, corpus = sys.argv[1:]
    record = generation(nearspan.load(model), nearspan.read(corpus).documents).to_dict()
    record.pop("examples")  # the corpus's own words
    print(json.dumps(record))


if __name__ == "__main__":
    main()
