"""Every n-th document of a CoNLL-2003 file, for learning curves.

    python benchmarks/cut_documents.py eng.train 8 eighth.train

Documents begin with `-DOCSTART-`. The first, the n+1st and so on are kept, so that an eighth is within a quarter.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("file", type=Path)
    arguments.add_argument("every", type=int)
    arguments.add_argument("out", type=Path)
    options = arguments.parse_args()
    text = options.file.read_text(encoding="utf-8")
    documents = re.split(r"(?m)^(?=-DOCSTART-)", text)[1:]
    kept = documents[:: options.every]
    options.out.write_text("".join(kept), encoding="utf-8")
    print(f"{len(kept)} of {len(documents)} documents")


if __name__ == "__main__":
    main()
