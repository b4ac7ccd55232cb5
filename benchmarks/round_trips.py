"""Write every public corpus in every format that can be written, read it again, and compare.

    python benchmarks/round_trips.py FOLDER [--formats parquet,spacy] [--last] [--resume]
        [--out benchmarks/results/round-trips.json]

FOLDER holds the corpora of `corpora.py` unpacked. What comes of each file in each format is one of

- `equal`: nothing was said to be changed, and the documents are those that were read: texts, ids, entities, and the
  words and sentences where the corpus has them;
- `changed`: written, with a word on each thing that the format could not keep, which the record lists; `same` names
  what is as it was, and `mentions` are the words and labels of entities, wherever they stand;
- `refused`: not written, as the format has no place for an entity, which the record quotes without its text;
- `DIFFERS`: none of these, a fault of ours.

What was recorded for other formats stays in the file. No text of a corpus is recorded.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from corpora import PUBLISHED
from many import current_commit

from nearspan.errors import CorpusError
from nearspan.formats import Corpus, known_formats, read, write


def mentions(corpus: Corpus) -> list[Counter[tuple[str, str]]]:
    """The characters and labels of each document's entities, blanks left out."""
    return [Counter(("".join(each.text.split()), each.label) for each in document.entities) for document in corpus]


def same_parts(before: Corpus, after: Corpus) -> list[str]:
    """What of the documents is as it was; words and sentences where the corpus has some."""
    pairs = list(zip(before, after, strict=True)) if len(before) == len(after) else []
    parts = [
        name
        for name in ("text", "id", "entities", "words", "sentences")
        if pairs and all(getattr(old, name) in (None, getattr(new, name)) for old, new in pairs)
    ]
    return [*parts, "mentions"] if pairs and mentions(before) == mentions(after) else parts


def reason(error: CorpusError) -> str:
    """An error without the quotations of a corpus in it."""
    return re.sub(r"""'[^']*'(?:\.\.\.)?|"[^"]*"(?:\.\.\.)?""", "...", str(error))


def round_trip(corpus: Corpus, name: str, folder: Path) -> dict[str, Any]:
    """What comes of a corpus in a format."""
    part = known_formats()[name]
    path = folder / f"again{next(iter(part.endings), '')}"
    began = time.perf_counter()
    try:
        changes = write(corpus, path, name)
    except CorpusError as error:
        return {"outcome": "refused", "reason": reason(error)}
    written = time.perf_counter()
    again = read(path)
    seconds = {"write": round(written - began, 2), "read": round(time.perf_counter() - written, 2)}
    if again.format != name:
        return {"outcome": "DIFFERS", "reason": f"read as {again.format}"}
    if changes:
        said = [change.message for change in changes]
        return {"outcome": "changed", "changes": said, "same": same_parts(corpus, again), **seconds}
    same = same_parts(corpus, again)
    return {"outcome": "equal", **seconds} if len(same) == 6 else {"outcome": "DIFFERS", "same": same, **seconds}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--formats", help="some formats alone, with commas between them")
    arguments.add_argument("--out", type=Path, help="what was recorded there of other formats stays")
    arguments.add_argument("--last", action="store_true", help="the last file of each corpus alone, its test set")
    arguments.add_argument("--resume", action="store_true", help="leave out what is recorded already")
    options = arguments.parse_args()
    names = options.formats.split(",") if options.formats else [n for n, part in known_formats().items() if part.write]
    results: dict[str, Any] = json.loads(options.out.read_text()) if options.out and options.out.exists() else {}
    results |= {"python": platform.python_version(), "commit": current_commit()}
    outcomes: dict[str, dict[str, Any]] = results.setdefault("files", {})
    files = [file for _, parts, _ in PUBLISHED for file in (parts[-1:] if options.last else parts)]
    for file in sorted(files, key=lambda file: _size(options.folder / file)):  # what is long comes last
        known = outcomes.setdefault(file, {})
        missing = [name for name in names if not (options.resume and name in known)]
        corpus = read(options.folder / file) if missing else Corpus(())
        for name in missing:
            folder = Path(tempfile.mkdtemp())
            known[name] = round_trip(corpus, name, folder)
            shutil.rmtree(folder)
            print(f"{file:52} {name:18} {known[name]}", flush=True)
            results["totals"] = _totals(outcomes)
            if options.out:
                options.out.write_text(json.dumps(results, indent=1) + "\n")
    print(results["totals"])


def _size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def _totals(outcomes: dict[str, dict[str, Any]]) -> dict[str, dict[str, int]]:
    """By format how many files came out how."""
    totals: dict[str, Counter[str]] = {}
    for file in outcomes.values():
        for name, outcome in file.items():
            totals.setdefault(name, Counter())[outcome["outcome"]] += 1
    return {name: dict(total) for name, total in totals.items()}


if __name__ == "__main__":
    main()
