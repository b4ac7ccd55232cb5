"""How a model of the bundled sample does on plain sentences that are in no part of it.

    python benchmarks/plain_sentences.py runs/demo [--out results.json]

`plain_sentences.txt` has a sentence a line in nearspan's markup, written by hand after the rules of the sample, before
any model had read them. Printed are the share of the entities that are right (characters and label), precision, F1, and
every sentence with an error.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import nearspan
from nearspan.evaluation import evaluate

SENTENCES = Path(__file__).with_suffix(".txt")


def read_sentences() -> list[nearspan.Document]:
    """The sentences, each a document."""
    lines = SENTENCES.read_text(encoding="utf-8").splitlines()
    return [nearspan.markup(line, id=str(number)) for number, line in enumerate(lines, start=1)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    documents = read_sentences()
    evaluation = evaluate(nearspan.load(options.model, device="cpu"), documents)
    for gold, predicted in zip(documents, evaluation.predicted, strict=True):
        if set(gold.entities) != set(predicted.entities):
            wrong = [f"{entity.text}={entity.label}" for entity in predicted.entities if entity not in gold.entities]
            missed = [f"{entity.text}={entity.label}" for entity in gold.entities if entity not in predicted.entities]
            print(f"{gold.id}: {gold.text}\n    wrong: {', '.join(wrong)}; missed: {', '.join(missed)}")
    total = evaluation.scores.total
    record = {
        "sentences": len(documents),
        "entities": total.gold,
        "right": total.correct,
        **{name: round(value, 4) for name, value in evaluation.scores.metrics().items()},
    }
    print(json.dumps(record))
    if options.out:
        options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
