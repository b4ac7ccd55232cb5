"""Read public corpora, compare their statistics with the published counts, and write and re-read each.

    python benchmarks/corpora.py FOLDER [--out results.json]

FOLDER holds the corpora unpacked. Each file is read, counted by `nearspan check`'s statistics, written as JSON lines
and read again; the documents must be equal.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from nearspan.formats import read, statistics, write

SPLITS = ("train", "dev", "test")

# name, files, then what is published of each split: sentences or documents, entities, types, discontinuous entities
PUBLISHED: list[tuple[str, list[str], dict[str, Any]]] = [
    (
        "conll2003",
        [f"conll2003/eng.{split}" for split in ("train", "testa", "testb")],
        {"sentences": (14987, 3466, 3684), "entities": (23499, 5942, 5648), "types": 4},
    ),
    (
        "genia zheng2019",
        [f"genia/zheng2019/genia.{split}.iob2" for split in SPLITS],
        {"sentences": (15023, 1669, 1854), "entities": (45906, 4337, 5474), "types": 5},
    ),
    (
        "genia w2ner",
        [f"genia/w2ner/{split}.json" for split in SPLITS],
        {"sentences": (15023, 1669, 1854), "entities": (44918, 5365, 5506), "types": 5},
    ),
    (
        "conll2000",
        [f"conll2000/conll2000/{split}.txt" for split in ("train", "test")],
        {"sentences": (8936, 2012), "entities": (106978, 23852)},
    ),
    (
        "conll2002",
        [f"conll2002/conll2002/esp.{split}" for split in ("train", "testa", "testb")],
        {"sentences": (8323, 1915, 1517), "entities": (18798, 4352, 3559), "types": 4},
    ),
    (
        "ncbi-disease",
        [f"ncbi-disease/conll/{split}.tsv" for split in ("train", "devel", "test")],
        {"sentences": (5432, 923, 940), "entities": (5145, 787, 960), "types": 1},
    ),
    (
        "bc5cdr pubtator",
        [f"bc5cdr/pubtator/CDR_{split}Set.PubTator.txt" for split in ("Training", "Development", "Test")],
        {"documents": (500, 500, 500), "entities": (9385, 9593, 9809), "types": 2},
    ),
    (
        "bc5cdr iob",
        [f"mtl-bio/BC5CDR-IOB/{split}.tsv" for split in ("train", "devel", "test")],
        {"entities": (9385, 9593, 9809), "types": 2},
    ),
    (
        "litbank",
        [f"litbank/{split}.data" for split in SPLITS],
        {"sentences": (6892, 852, 818), "entities": (11164, 1422, 1326), "types": 6},
    ),
    (
        "nerel",
        [f"nerel/NEREL-v1.1/{split}" for split in SPLITS],
        {"documents": (746, 94, 93), "entities": (44867, 5590, 5827), "types": 29},
    ),
    (
        "germeval2014",
        [f"germeval2014/GermEval2014/germ.{split}.iob2" for split in SPLITS],
        {"sentences": (24000, 2200, 5100), "entities": (31545, 2886, 6693), "types": 12},
    ),
    (
        "anercorp",
        [f"anercorp/ANERCorp_CamelLab_{split}.txt" for split in ("train", "test")],
        {"sentences": (3973, 925), "entities": (9000, 2285), "types": 4},
    ),
    (
        "harem total",
        ["harem/FirstHAREM-total-train.json", "harem/FirstHAREM-total-dev.json", "harem/MiniHAREM-total.json"],
        {"documents": (121, 8, 128), "entities": (4783, 233, 3642), "types": 10},
    ),
    (
        "harem selective",
        [
            f"harem/{name}.json"
            for name in ("FirstHAREM-selective-train", "FirstHAREM-selective-dev", "MiniHAREM-selective")
        ],
        {"documents": (121, 8, 128), "entities": (3984, 167, 3018), "types": 5},
    ),
    (
        "weibo",
        [f"weibo/weiboNER_2nd_conll.{split}" for split in SPLITS],
        {"sentences": (1350, 270, 270), "entities": (1895, 389, 418), "types": 8},
    ),
    (
        "resume-zh",
        [f"resume-zh/{split}.char.bmes" for split in SPLITS],
        {"sentences": (3821, 463, 477), "entities": (13440, 1497, 1630), "types": 8},
    ),
    (
        "cadec w2ner",
        [f"cadec/w2ner_json/{split}.json" for split in SPLITS],
        {"sentences": (5340, 1097, 1160), "entities": (4430, 898, 990), "discontinuous": (491, 94, 94), "types": 1},
    ),
    (
        "cadec dai2020",
        [f"cadec/dai2020_txt/{split}.txt" for split in SPLITS],
        {"sentences": (5340, 1097, 1160), "entities": (4430, 898, 990), "discontinuous": (491, 94, 94), "types": 1},
    ),
    (
        "crossner ai",
        [f"crossner/ai/{split}.txt" for split in SPLITS],
        {"sentences": (100, 350, 431), "entities": (532, 1549, 1809), "types": 14},
    ),
    (
        "crossner literature",
        [f"crossner/literature/{split}.txt" for split in SPLITS],
        {"sentences": (100, 400, 416), "entities": (541, 2130, 2266), "types": 12},
    ),
    (
        "crossner music",
        [f"crossner/music/{split}.txt" for split in SPLITS],
        {"sentences": (100, 380, 465), "entities": (648, 2679, 3336), "types": 13},
    ),
]


def check_file(path: Path, published: dict[str, int]) -> dict[str, Any]:
    """One file's counts, where they differ from the published ones, and whether it comes back as it was."""
    began = time.perf_counter()
    corpus = read(path)
    seconds = time.perf_counter() - began
    statistics_of_file = statistics(corpus)
    counts = {
        key: statistics_of_file[key]
        for key in ("documents", "sentences", "tokens", "entities", "nested", "discontinuous")
    }
    counts["types"] = len(statistics_of_file["types"])
    differ = {key: {"published": want, "found": counts[key]} for key, want in published.items() if counts[key] != want}
    with tempfile.TemporaryDirectory() as folder:
        write(corpus, Path(folder) / "again.jsonl")
        again = read(Path(folder) / "again.jsonl").documents == corpus.documents
    return {
        **counts,
        "problems": len(statistics_of_file["problems"]),
        "seconds": round(seconds, 2),
        "differ": differ,
        "equal when re-read": again,
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--out", type=Path)
    options = arguments.parse_args()
    results = {}
    for name, files, published in PUBLISHED:
        for number, file in enumerate(files):
            expected = {key: value[number] if isinstance(value, tuple) else value for key, value in published.items()}
            if number:
                expected.pop("types", None)  # a smaller split need not have every type
            results[file] = check_file(options.folder / file, expected)
            state = "as published" if not results[file]["differ"] else f"DIFFERS {results[file]['differ']}"
            print(f"{name:16} {file:52} {state}; re-read equal: {results[file]['equal when re-read']}", flush=True)
    if options.out:
        options.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
