"""How a model of the bundled sample does on plain sentences that are in no part of it.

    python benchmarks/plain_sentences.py runs/demo [--out results.json]

`plain_sentences.txt` has a sentence a line in nearspan's markup, written by hand after the rules of the sample, before
any model had read them. `shown_sentences.txt` has those that the README, the docs, the page's buttons and the demo's
advice propose. Printed are every sentence with an error, and for each list how many entities are right (characters and
label), precision, recall and F1.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import nearspan
from nearspan.evaluation import evaluate

FOLDER = Path(__file__).parent
LISTS = ("plain", "shown")


def read_sentences(name: str = "plain") -> list[nearspan.Document]:
    """The sentences of a list, each a document."""
    lines = (FOLDER / f"{name}_sentences.txt").read_text(encoding="utf-8").splitlines()
    return [nearspan.markup(line, id=str(number)) for number, line in enumerate(lines, start=1)]


def score_list(model: nearspan.Model, name: str) -> dict[str, float]:
    """Print the errors of a model on a list, and count."""
    documents = read_sentences(name)
    evaluation = evaluate(model, documents)
    for gold, predicted in zip(documents, evaluation.predicted, strict=True):
        wrong = [f"{entity.text}={entity.label}" for entity in predicted.entities if entity not in gold.entities]
        missed = [f"{entity.text}={entity.label}" for entity in gold.entities if entity not in predicted.entities]
        if wrong or missed:
            print(f"{name} {gold.id}: {gold.text}\n    wrong: {', '.join(wrong)}; missed: {', '.join(missed)}")
    total = evaluation.scores.total
    counts = {"sentences": len(documents), "entities": total.gold, "right": total.correct}
    return counts | {key: round(value, 4) for key, value in evaluation.scores.metrics().items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    model = nearspan.load(options.model, device="cpu")
    record = {name: score_list(model, name) for name in LISTS}
    print(json.dumps(record))
    if options.out:
        options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
