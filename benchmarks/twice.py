"""How many sentences of a file have the words of an earlier one: python benchmarks/twice.py FILE... > twice.json"""

from __future__ import annotations

import json
import sys

import nearspan
from nearspan.segment import split

if __name__ == "__main__":
    rows = []
    for file in sys.argv[1:]:
        tokens = [tuple(sentence.tokens) for document in nearspan.read(file).documents for sentence in split(document)]
        rows.append({"file": file, "sentences": len(tokens), "again": len(tokens) - len(set(tokens))})
    print(json.dumps(rows, indent=1))
