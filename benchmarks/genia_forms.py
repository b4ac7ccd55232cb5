"""How far two forms of a corpus agree that split the same sentences into other words: GENIA's zheng2019 and w2ner.

    python benchmarks/genia_forms.py ONE... --other OTHER... [--out results.json]

Sentences are matched by their characters without spaces, entities by label and place among these characters. What has
no match (text that one form changed) is counted apart.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from itertools import accumulate
from pathlib import Path

import nearspan
from nearspan.segment import split
from nearspan.spans import CandidateRules, LabelledSentences

Entities = set[tuple[int, int, str]]  # first character, the one after the last, label


def sentences(path: Path) -> list[tuple[str, Entities]]:
    """Each sentence's characters without spaces, and its entities."""
    labelled = LabelledSentences.of(nearspan.read(path).documents, split, CandidateRules(10**6, multilabel=True))
    both = []
    for sentence, entities in zip(labelled.sentences, labelled.entities, strict=True):
        starts = [0, *accumulate(len(word) for word in sentence.tokens)]
        places = {(starts[gold.first], starts[gold.stop], gold.label) for gold in entities}
        both.append(("".join(sentence.tokens).lower(), places))
    return both


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("one", type=Path, nargs="+")
    arguments.add_argument("--other", type=Path, nargs="+", required=True)
    arguments.add_argument("--out", type=Path)
    options = arguments.parse_args()
    known: dict[str, list[Entities]] = defaultdict(list)
    for path in options.other:
        for text, entities in sentences(path):
            known[text].append(entities)
    result = {}
    for path in options.one:
        counts = {"sentences": 0, "unmatched": 0, "in both": 0, "only here": 0, "only there": 0}
        for text, here in sentences(path):
            counts["sentences"] += 1
            if text not in known:
                counts["unmatched"] += 1
                continue
            there = known[text].pop(0) if len(known[text]) > 1 else known[text][0]
            counts["in both"] += len(here & there)
            counts["only here"] += len(here - there)
            counts["only there"] += len(there - here)
        result[path.name] = counts
    print(json.dumps(result, indent=1))
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
