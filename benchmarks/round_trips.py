"""Write every public corpus in every format that can be written, read it again, and compare.

    python benchmarks/round_trips.py FOLDER [--formats parquet,spacy] [--workers 2] [--resume]
        [--out benchmarks/results/round-trips.json]

FOLDER holds the corpora of `corpora.py` unpacked; each of their files is read, and some that are there in another
format (`FURTHER`). What comes of each file in each format is one of

- `equal`: nothing was said to be changed, and the documents are those that were read: texts, ids, entities with their
  attributes and scores, and the words and sentences where the corpus has them;
- `changed`: written, with a word on each thing that the format could not keep, which the record lists; all else is as
  it was. `same` names it, and `mentions` are the words and labels of entities, wherever they stand;
- `refused`: not written, as the format has no place for an entity, which the record quotes without its text;
- `DIFFERS`: none of these, a fault of ours.

Times are seconds of processor time. What was recorded for other formats stays in the file, each with the commit of its
run. No text of a corpus is recorded.
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
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from corpora import PUBLISHED
from many import current_commit

from nearspan.document import Document
from nearspan.errors import CorpusError
from nearspan.formats import Corpus, known_formats, read, write

FURTHER = (
    "cadec/cadec/original",
    "litbank/entities/brat",
    *(f"ncbi-disease/standoff/{split}" for split in ("train", "devel", "test")),
    *(
        f"ncbi-disease/original-data/{split}/NCBI{name}set_corpus.txt"
        for split, name in (("train", "train"), ("devel", "develop"), ("test", "test"))
    ),
    *(f"weibo/weiboNER.conll.{split}" for split in ("train", "dev", "test")),
)

PLACES = {"text", "entities", "words", "sentences"}
EXPLAINS = {
    "keeps no word and sentence boundaries": {"words", "sentences"},
    "keeps no sentence boundaries": {"sentences"},
    "whose sentences are not kept": {"sentences"},
    "words cut where": {"words"},
    "whose words were cut": {"words"},
    "sentences joined": {"sentences", "text"},
    "document ids not kept": {"id"},
    "attributes are not kept": {"attributes"},
    "scores not kept": {"attributes"},
    "whose blanks": PLACES,
    "text that is in none": PLACES,
    "of blanks alone": PLACES,
    "entities left out": {"entities", "attributes", "mentions"},
    "entities cut": {"entities", "mentions"},
}
"""What may be otherwise where a writer has said so, by some of its words."""


def mentions(corpus: Sequence[Document]) -> list[Counter[tuple[str, str]]]:
    """The characters and labels of each document's entities, blanks left out."""
    return [Counter(("".join(each.text.split()), each.label) for each in document.entities) for document in corpus]


def says_more(before: Document, after: Document) -> bool:
    """Whether each entity has the attributes and the score that it had; it may have others."""
    pairs = zip(before.entities, after.entities, strict=False)
    return len(before.entities) == len(after.entities) and all(
        old.score == new.score and all(new.attributes.get(name) == value for name, value in old.attributes.items())
        for old, new in pairs
    )


def is_kept(name: str) -> Callable[[Document, Document], bool]:
    return lambda old, new: getattr(old, name) in (None, getattr(new, name))


PARTS = {name: is_kept(name) for name in ("text", "id", "entities", "words", "sentences")} | {"attributes": says_more}


def same_parts(before: Corpus, after: Sequence[Document]) -> list[str]:
    """What of the documents is as it was; words and sentences where the corpus has some."""
    if len(before) != len(after):
        return []
    pairs = list(zip(before, after, strict=True))
    parts = [name for name, same in PARTS.items() if all(same(old, new) for old, new in pairs)]
    return [*parts, "mentions"] if mentions(before) == mentions(after) else parts


def in_order(before: Corpus, after: Corpus) -> Sequence[Document]:
    """The documents in the order of those that were written, by their texts; those of one text keep their order."""
    by_text: dict[str, list[Document]] = {}
    for document in after:
        by_text.setdefault(document.text, []).append(document)
    found = [by_text[each.text].pop(0) for each in before if by_text.get(each.text)]
    return found if len(found) == len(after) else after


def reason(error: CorpusError) -> str:
    """An error without the quotations of a corpus in it."""
    return re.sub(r"""'[^']*'(?:\.\.\.)?|"[^"]*"(?:\.\.\.)?""", "...", str(error))


def round_trip(corpus: Corpus, name: str, folder: Path) -> dict[str, Any]:
    """What comes of a corpus in a format."""
    part = known_formats()[name]
    path = folder / f"again{next(iter(part.endings), '')}"
    began = time.process_time()
    try:
        changes = write(corpus, path, name)
    except CorpusError as error:
        return {"outcome": "refused", "reason": reason(error)}
    written = time.process_time()
    again = read(path)
    seconds = {"write": round(written - began, 2), "read": round(time.process_time() - written, 2)}
    if again.format != name:
        return {"outcome": "DIFFERS", "reason": f"read as {again.format}"}
    said = [change.message for change in changes]
    same = same_parts(corpus, in_order(corpus, again) if any("the order" in each for each in said) else again)
    different = {*PARTS, "mentions"} - set(same)
    explained = set().union(*(parts for words, parts in EXPLAINS.items() if any(words in each for each in said)))
    if different - explained:
        return {"outcome": "DIFFERS", "changes": said, "same": same, **seconds}
    return {"outcome": "changed", "changes": said, "same": same, **seconds} if said else {"outcome": "equal", **seconds}


def round_trips(path: Path, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """What comes of a file in each of some formats."""
    corpus = read(path)
    outcomes = {}
    for name in names:
        folder = Path(tempfile.mkdtemp())
        outcomes[name] = round_trip(corpus, name, folder)
        shutil.rmtree(folder)
    return outcomes


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--formats", help="some formats alone, with commas between them")
    arguments.add_argument("--out", type=Path, help="what was recorded there of other formats stays")
    arguments.add_argument("--resume", action="store_true", help="leave out what is recorded already")
    arguments.add_argument("--workers", type=int, default=1)
    options = arguments.parse_args()
    names = options.formats.split(",") if options.formats else [n for n, part in known_formats().items() if part.write]
    results: dict[str, Any] = json.loads(options.out.read_text()) if options.out and options.out.exists() else {}
    results["python"] = platform.python_version()
    results.setdefault("commits", {}).update(dict.fromkeys(names, current_commit()))
    known: dict[str, dict[str, Any]] = results.setdefault("files", {})
    files = [*(file for _, parts, _ in PUBLISHED for file in parts), *FURTHER]
    files.sort(key=lambda file: _size(options.folder / file))  # what is long comes last
    with ProcessPoolExecutor(options.workers) as pool:
        running = {}
        for file in files:
            missing = [name for name in names if not (options.resume and name in known.get(file, {}))]
            if missing:
                running[file] = pool.submit(round_trips, options.folder / file, missing)
        for file, future in running.items():
            known.setdefault(file, {}).update(future.result())
            print(file, Counter(outcome["outcome"] for outcome in known[file].values()), flush=True)
            results["totals"] = _totals(known)
            if options.out:
                options.out.write_text(json.dumps(results, indent=1) + "\n")
    print(results.get("totals"))


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
