"""Damage files of every format, and the files of small models, and see that each is read, listed or refused by us.

    python benchmarks/fuzz.py --readers 150000 --folders 50000 --out benchmarks/results/fuzz.json
    python benchmarks/fuzz.py --readers 100000 --folders 0 --resume --out benchmarks/results/fuzz-readers.json
    python benchmarks/fuzz.py --show conll 4711

Each input is made anew: a few documents with known entities are written in one of a format's shapes, by this script and
not by our writers, or a small model that was trained at the start is copied. Then one to three things are done to it:
bits flipped, bytes cut, doubled and put in, lines and columns swapped, numbers made huge, values of JSON and TOML put
for others and nested deeply, encodings and line ends changed. Half of the model folders get new digests, so that what
lies behind these is reached. Counted by what was read are

- `read` and `listed`: an answer, without and with problems; `refused`: an error of ours;
- `tracebacks`: any other error; `crashes`: the process ended;
- `hangs`: longer than 5 seconds of processor time, or 60 by the clock;
- `miscounts`: refused, as annotations did not add up (`refuse_loss` in `formats/format.py`): a reader's fault;
- `silent`: no problem is listed, though an entity of a document that was not damaged is not there.

A third of the files is read as long ones are, in blocks of lines; of a fifth the format is found from the content. One
file of ten is compressed with gzip, and half of these are damaged once more; `gz` counts them in the record.

It needs the package `conllu` beside those of `.[dev]`: such files are made by it.

`--show` makes one input again, prints it, and raises what it raised. An input depends on the seed, the name and the
number alone. A process is forked for each name and goes on after the input that ended it.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import importlib
import json
import os
import platform
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import tomllib
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import fuzz_files
import fuzz_tools
import tomli_w

import nearspan
from nearspan.errors import NearspanError
from nearspan.formats import source, statistics
from nearspan.formats.synonyms import read as read_synonyms

LIMIT = 5  # seconds of processor time for an input: other work on the machine makes no hang
PATIENCE = 60  # seconds after which a process that does not answer is killed
OUTCOMES = ("read", "listed", "refused", "tracebacks", "hangs", "crashes", "miscounts", "silent")

WORDS = r"""
    Ada Oslo saw in the of pain légs 東京 Straße О'Хара naïve ( ) , . U.S. IL-2 3,5 #1 a|b x\y "so" {it} [is] <b> &
    """.split()
LABELS = ("PER", "LOC", "SYMPTOM", "Date time")

Mention = tuple[str, str]  # its text and its label
Made = tuple[dict[str, bytes], Counter[Mention]]  # files by name, and what must be read from them or listed


class Hang(BaseException):
    """An input took too long."""


class Document:
    """A sentence of words and of entities that do not overlap: each a label and runs of words, first and last."""

    def __init__(self, chance: Random, number: int, discontinuous: bool) -> None:
        self.id = str(100 + number)
        self.words = chance.choices(WORDS, k=chance.randint(2, 12))
        edges = sorted(chance.sample(range(len(self.words) + 1), min(2 * chance.randint(1, 3), len(self.words))))
        runs = [(first, stop - 1) for first, stop in zip(edges[::2], edges[1::2], strict=False)]
        self.entities = [([run], chance.choice(LABELS)) for run in runs]
        if discontinuous and len(runs) > 1 and runs[0][1] + 1 < runs[1][0]:
            self.entities[:2] = [(runs[:2], chance.choice(LABELS))]
        self.text = " ".join(self.words)

    def mentions(self) -> Counter[Mention]:
        """The texts and labels of all entities."""
        texts = (
            (" ".join(" ".join(self.words[first : last + 1]) for first, last in runs), label)
            for runs, label in self.entities
        )
        return Counter(texts)

    def offsets(self) -> Iterator[tuple[list[tuple[int, int]], str]]:
        """Where the fragments of each entity begin and end in the text, and its label."""
        for runs, label in self.entities:
            starts = [sum(len(word) + 1 for word in self.words[:first]) for first, _ in runs]
            sizes = [len(" ".join(self.words[first : last + 1])) for first, last in runs]
            yield [(start, start + size) for start, size in zip(starts, sizes, strict=True)], label

    def flat(self) -> Iterator[tuple[int, int, str]]:
        """The same of entities that have one fragment."""
        for [(start, end)], label in self.offsets():
            yield start, end, label


# Formats: documents, each as a string, with what stands before, between and after them.

Shape = tuple[list[str], str, str, str]


def to_conll(documents: list[Document], chance: Random) -> Shape:
    """Columns with tabs or blanks, with or without other columns, in one of two schemes, or in layers."""
    blank, others, ends = chance.choice("\t "), chance.choice(([], ["NN", "I-NP"], ["O"])), chance.random() < 0.5
    docstarts = chance.random() < 0.5

    def write(document: Document) -> str:
        tags = ["O"] * len(document.words)
        for [(first, last)], label in document.entities:
            label = label.replace(" ", "_")
            tags[first : last + 1] = [f"I-{label}"] * (last + 1 - first)
            tags[first] = f"B-{label}"
            if ends:
                tags[last] = f"{'S' if first == last else 'E'}-{label}"
        rows = (blank.join([word, *others, tag]) for word, tag in zip(document.words, tags, strict=True))
        docstart = f"-DOCSTART- {document.id}" + f"{blank}O" * (len(others) + 1) + "\n\n"
        return docstart * docstarts + "\n".join(rows)

    return [write(document) for document in documents], "", "\n\n", "\n\n"


def to_jsonl(documents: list[Document], chance: Random) -> Shape:
    """Records of one of the shapes that are read, a line each or in an array."""
    whole = all(len(runs) == 1 for document in documents for runs, _ in document.entities)
    shape, array = chance.randrange(5) if whole else chance.randrange(2), chance.random() < 0.4

    def write(document: Document) -> str:
        flat = [list(place) for place in document.flat()] if whole else []
        if shape == 0:
            places = [{"label": label, "fragments": fragments} for fragments, label in document.offsets()]
            record: dict[str, Any] = {"id": document.id, "text": document.text, "entities": places}
        elif shape == 1:
            indexes = (
                [word for first, last in runs for word in range(first, last + 1)] for runs, _ in document.entities
            )
            ner = [
                {"index": index, "type": label} for index, (_, label) in zip(indexes, document.entities, strict=True)
            ]
            record = {"sentence": document.words, "ner": ner}
        elif shape == 2:
            record = {"text": document.text, "label": flat}
        elif shape == 3:
            places = [{"text": document.text[a:b], "start_offset": a, "end_offset": b, "label": c} for a, b, c in flat]
            record = {"doc_id": document.id, "doc_text": document.text, "entities": places}
        else:
            triples = [[first, last + 1, label] for [(first, last)], label in document.entities]
            record = {"tokens": document.words, "entities": triples}
        return json.dumps(record, ensure_ascii=chance.random() < 0.5)

    lines = [write(document) for document in documents]
    return (lines, "[", ",\n", "]\n") if array else (lines, "", "\n", "\n")


def to_pubtator(documents: list[Document], chance: Random) -> Shape:
    """A title, an abstract from a word on, and mentions."""
    relations = chance.random() < 0.3

    def write(document: Document) -> str:
        title = len(document.words[0])
        lines = [f"{document.id}|t|{document.text[:title]}", f"{document.id}|a|{document.text[title + 1 :]}"]
        lines += [
            f"{document.id}\t{start}\t{end}\t{document.text[start:end]}\t{label.replace(' ', '_')}\tD{start}"
            for start, end, label in document.flat()
        ]
        return "\n".join([*lines, *[f"{document.id}\tCID\tD001\tD002"] * relations])

    return [write(document) for document in documents], "", "\n\n", "\n\n"


def to_indexed(documents: list[Document], _: Random) -> Shape:
    """Words, mentions, a blank line."""

    def write(document: Document) -> str:
        mentions = (
            ",".join(f"{first},{last}" for first, last in runs) + f" {label.replace(' ', '_')}"
            for runs, label in document.entities
        )
        return f"{document.text}\n{'|'.join(mentions)}"

    return [write(document) for document in documents], "", "\n\n", "\n\n"


SHAPES = {
    "conll": to_conll,
    "jsonl": to_jsonl,
    "pubtator": to_pubtator,
    "indexed": to_indexed,
    **fuzz_tools.SHAPES,
}
WITH_DISCONTINUOUS = ("jsonl", "indexed", "brat")

SYNONYMS = {
    "tsv": "heart attack\tmyocardial infarction\tMI\n#a comment\nNHL\tnon-Hodgkin lymphoma\nC0000123\tflu\tinfluenza\n",
    "obo": 'format-version: 1.2\n\n[Term]\nid: T:1\nname: heart attack ! a comment\nsynonym: "MI" EXACT []\n'
    'is_obsolete: false\n\n[Term]\nid: T:2\nname: flu {source="x"}\nexact_synonym: "influ\\"enza" []\n\n[Typedef]\n',
    "umls": "".join(
        f"C000012{n}|ENG|P|L0000123|PF|S0000123|Y|A0000123||||SRC|PT|123|{name}|0|N||\n"
        for n, name in enumerate(("heart attack", "MI", "flu"))
    ),
    "wordnet": "  1 This is a licence\n00000123 10 n 02 night_watch 0 vigil 0 001 @ 00000045 n 0000 | to stay awake\n"
    "00000124 00 a 01 galore(ip) 0 000 | much\n",
}

# Damage to bytes.

NASTY = (
    *rb"""\xff | # " \ [ ] { } , : - -1 1e400 NaN null \ud800 B- I-X O -DOCSTART- T1 0,0 1|t| |a|""".split(),
    *(
        b"\0",
        b"\t",
        b"\n",
        b"\r",
        b" ",
        b"\n\n",
        b"\xff",
        b"\xc3",
        b"\xed\xa0\x80",
        b"9" * 25,
        b"9" * 5000,
        b"[" * 3000,
    ),
    *(character.encode() for character in "\ufeff\u200b\u2028\u00a0\u0085\u00ad\u0301"),
    b'{"a":' * 3000,
)


def flip(data: bytes, chance: Random) -> bytes:
    """One to eight bits are others."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 8)):
        if changed:
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def cut(data: bytes, chance: Random) -> bytes:
    """Some bytes are not there, or all from a place on."""
    start, stop = _slice(data, chance)
    return data[:start] + (data[stop:] if chance.random() < 0.7 else b"")


def double(data: bytes, chance: Random) -> bytes:
    """Some bytes are there twice, or many times."""
    start, stop = _slice(data, chance)
    return data[:start] + data[start:stop] * chance.choice((2, 2, 3, 50)) + data[stop:]


def put_in(data: bytes, chance: Random) -> bytes:
    """Something nasty is put in, in the place of nothing or of a few bytes."""
    start, stop = _slice(data, chance)
    return data[:start] + chance.choice(NASTY) + data[start if chance.random() < 0.5 else stop :]


def swap_lines(data: bytes, chance: Random) -> bytes:
    """Two lines are in each other's place, or a line is there twice or is not there."""
    lines = data.split(b"\n")
    left, right = chance.randrange(len(lines)), chance.randrange(len(lines))
    if chance.random() < 0.5:
        lines[left], lines[right] = lines[right], lines[left]
    elif chance.random() < 0.5:
        lines.insert(left, lines[right])
    else:
        del lines[left]
    return b"\n".join(lines)


def swap_columns(data: bytes, chance: Random) -> bytes:
    """Two columns of a line are in each other's place."""
    lines = data.split(b"\n")
    at = chance.randrange(len(lines))
    between = b"\t" if b"\t" in lines[at] else b" "
    cells = lines[at].split(between)
    left, right = chance.randrange(len(cells)), chance.randrange(len(cells))
    cells[left], cells[right] = cells[right], cells[left]
    lines[at] = between.join(cells)
    return b"\n".join(lines)


def change_number(data: bytes, chance: Random) -> bytes:
    """A number is another."""
    numbers = list(re.finditer(rb"\d+", data))
    if not numbers:
        return data
    start, stop = chance.choice(numbers).span()
    return (
        data[:start] + chance.choice((b"9" * 20, b"9" * 5000, b"-1", b"1e400", b"0", b"1.5", b"", b"007")) + data[stop:]
    )


def change_value(data: bytes, chance: Random) -> bytes:
    """A value of a JSON text, or of one of its lines, is another, or a key is; other texts are left."""
    lines = data.split(b"\n") if b"\n{" in data else [data]
    at = chance.randrange(len(lines))
    with suppress(ValueError, RecursionError):
        lines[at] = json.dumps(replace_value(json.loads(lines[at]), chance)).encode()
    return b"\n".join(lines)


def replace_value(value: Any, chance: Random) -> Any:
    """A value somewhere inside another is of another type, huge, deep, gone, or there twice."""
    inner = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    if not inner or chance.random() < 0.15:
        deep: Any = 1
        for _ in range(chance.choice((50, 900))):
            deep = [deep] if chance.random() < 0.5 else {"a": deep}
        number = chance.choice((0, -1, 2**31, 2**63, 2**64, 10**30, 10**400, 0.5, float("inf"), float("nan"), 1e308))
        other = chance.choice(
            (None, True, "", "x", "\ud800", "\0", [], {}, [[]], [value], {"text": value}, [value] * 3)
        )
        return chance.choice((number, other, deep, str(value)[:2000]))
    key, old = chance.choice(inner)
    changed: Any = value.copy()
    if chance.random() < 0.15:
        del changed[key]
        if isinstance(value, dict) and chance.random() < 0.5:
            changed[chance.choice((str(key).upper(), f"{key}s", "", "text", "entities"))] = old
    else:
        changed[key] = replace_value(old, chance)
    return changed


def _slice(data: bytes, chance: Random) -> tuple[int, int]:
    start = chance.randint(0, len(data))
    return start, min(len(data), start + chance.choice((1, 2, 5, 20, 100, 1000)))


DAMAGES = (flip, cut, double, put_in, put_in, swap_lines, swap_columns, change_number, change_value, change_value)

# Other spellings of a whole file: nothing is damaged, so all must be read or something listed.

SPELLINGS: tuple[Callable[[bytes], bytes], ...] = (
    lambda data: data.replace(b"\n", b"\r\n"),
    lambda data: data.replace(b"\n", b"\r"),
    lambda data: data.replace(b"\n", b"\r\r\n"),
    lambda data: data.replace(b"\n", b"\n\n"),
    lambda data: data.replace(b"\n", b"\n\n\n"),
    lambda data: data.replace(b"\n\n", b"\n\n\n"),
    lambda data: data.replace(b"\n", b"  \n"),
    lambda data: data.replace(b"\n", b"\t\n"),
    lambda data: data.replace(b"\n", b"\n "),
    lambda data: data.replace(b" ", b"\t"),
    lambda data: data.replace(b"\t", b" "),
    lambda data: data.rstrip(b"\n"),
    lambda data: b"\n\n" + data,
    lambda data: b"\xef\xbb\xbf" + data,
    lambda data: b"\xef\xbb\xbf\xef\xbb\xbf" + data,
)
ENCODINGS = ("latin-1", "utf-16", "utf-16-le", "utf-32", "cp1251", "shift_jis", "utf-7", "utf-8-sig")


def make_corpus(name: str, chance: Random) -> Made:
    """The files of a few documents in a format, damaged, and the entities of those that are not."""
    discontinuous = name in WITH_DISCONTINUOUS and chance.random() < 0.3
    documents = [Document(chance, number, discontinuous) for number in range(chance.randint(1, 5))]
    mentions = sum((document.mentions() for document in documents), Counter[Mention]())
    way = chance.random()
    damaged = chance.randrange(len(documents))
    if name in fuzz_files.BINARY or name in fuzz_files.FOLDERS:
        whole = way < 0.1
        how = None if whole else damage
        if name in fuzz_files.FOLDERS:
            files = {f"data/{file}": data for file, data in fuzz_files.FOLDERS[name](documents, chance, how).items()}
        else:
            files = {"data": fuzz_files.BINARY[name](documents, chance, how)}
        return files, sum((document.mentions() for document in documents), Counter[Mention]()) if whole else Counter()
    if name == "brat":
        texts = {f"{document.id}.txt": document.text for document in documents}
        texts |= {f"{document.id}.ann": _annotations(document) for document in documents}
        files = {file: text.encode() for file, text in texts.items()}
        names = [f"{documents[damaged].id}{ending}" for ending in (".ann", ".ann", ".txt")]
    else:
        parts, before, between, after = SHAPES[name](documents, chance)
        if way >= 0.6:
            parts[damaged] = damage(parts[damaged].encode(), chance).decode("utf-8", "surrogateescape")
        files = {"data": (before + between.join(parts) + after).encode("utf-8", "surrogateescape")}
        names = ["data"]
    if way >= 0.6 and name == "brat":
        file = chance.choice(names)
        files[file] = damage(files[file], chance)
    if way >= 0.6:
        mentions -= documents[damaged].mentions()
    elif way >= 0.25:
        spelling = chance.choice(SPELLINGS)
        files = {file: spelling(data) for file, data in files.items()}
    else:
        mentions.clear()
        file = chance.choice(sorted(files))
        if way < 0.05:
            files[file] = files[file].decode().encode(chance.choice(ENCODINGS), "replace")
        else:
            files[file] = damage(files[file], chance)
    return files, mentions


def _annotations(document: Document) -> str:
    lines = (
        f"T{number}\t{label} {';'.join(f'{start} {end}' for start, end in fragments)}\t"
        + " ".join(document.text[start:end] for start, end in fragments)
        for number, (fragments, label) in enumerate(document.offsets(), 1)
    )
    return "\n".join(lines) + "\n"


def damage(data: bytes, chance: Random) -> bytes:
    """One to three things done to some bytes."""
    for _ in range(chance.choice((1, 1, 2, 3))):
        data = chance.choice(DAMAGES)(data, chance)
    return data[:1_000_000]


def pack(made: Made, chance: Random) -> Made:
    """A file compressed with gzip, half of the time damaged afterwards."""
    files, mentions = made
    packed = gzip.compress(files["data"], mtime=0)
    if chance.random() < 0.5:
        packed, mentions = damage(packed, chance), Counter()
    return {"data": packed}, mentions


def is_packed(name: str, number: int) -> bool:
    """Whether an input is one of those that are compressed."""
    return number % 10 == 7 and name not in ("folder", "brat", *fuzz_files.FOLDERS)


def check_corpus(name: str, mentions: Counter[Mention], folder: Path, named: bool = True) -> str:
    """Read the files of a corpus, and see that nothing is lost silently."""
    format = "tsv" if name == "tsv-table" else name
    corpus = nearspan.read(folder if name == "brat" else folder / "data", format if named else None)
    statistics(corpus)
    if corpus.problems:
        return "listed"
    plain = Counter(
        (" ".join(entity.text.split()), entity.label.replace("_", " "))
        for document in corpus
        for entity in document.entities
    )
    missing = Counter({(" ".join(text.split()), label): count for (text, label), count in mentions.items()}) - plain
    return f"silent {dict(missing)}" if missing else "read"


# Model folders.

SETTINGS = (
    *("encoder.vectors.size=8", "encoder.characters.size=4", "encoder.bilstm.size=8", "encoder.bilstm.layers=1"),
    "training.epochs=1",
)
MODELS = {
    "instance": ("encoder.characters.filters=4", "representation.size=8", "head.neighbours=2", "training.batch=2"),
    "classifier": ("encoder.characters.filters=4", "representation.size=8"),
    "hire": (),
}
SENTENCES = (
    "[Ada](PERSON) lives in [Oslo](PLACE)",
    "[Bob Stone](PERSON) lives in [Rome](PLACE)",
    "[Eve](PERSON) left [New York](PLACE)",
    "The rain fell on [Lima](PLACE)",
)
UNREAD = ("README.md", "checkpoint.safetensors", "metrics.jsonl", "result.json", "journal.lock")


def train_models(folder: Path) -> dict[str, dict[str, bytes]]:
    """The files of each small model, after an edit of its memory."""
    documents = [nearspan.markup(text, id=str(number)) for number, text in enumerate(SENTENCES)]
    models = {}
    for name, settings in MODELS.items():
        recipe = nearspan.recipe(name).override([*SETTINGS, *settings])
        nearspan.train(recipe, documents, documents, out=folder / name, device="cpu")
        model = nearspan.load(folder / name, device="cpu")
        if name != "classifier":
            model.memory.add("[Vienna](PLACE) is cold")
            model.memory.forget("1")
        paths = [path for path in sorted((folder / name).rglob("*")) if path.is_file() and path.name not in UNREAD]
        models[name] = {path.relative_to(folder / name).as_posix(): path.read_bytes() for path in paths}
    return models


def make_folder(models: dict[str, dict[str, bytes]], chance: Random) -> Made:
    """The files of a model, one or two of them damaged."""
    files = dict(models[chance.choice(sorted(models))])
    for _ in range(chance.choice((1, 1, 1, 2))):
        name = chance.choice(sorted(files))
        way = chance.random()
        if way < 0.5:
            files[name] = change_inside(name, files[name], chance)
        elif way < 0.9:
            files[name] = damage(files[name], chance)
        elif way < 0.95:
            del files[name]
        else:
            other = chance.choice(sorted(files))
            files[name], files[other] = files[other], files[name]
    if chance.random() < 0.5:
        write_digests(files)
    return files, Counter()


def change_inside(name: str, data: bytes, chance: Random) -> bytes:
    """Another value in a file that is whole otherwise: of JSON, TOML or the head of tensors."""
    with suppress(ValueError, RecursionError, TypeError, AttributeError, struct.error):
        if name.endswith(".toml"):
            return tomli_w.dumps(replace_value(tomllib.loads(data.decode()), chance)).encode()
        if name.endswith(".safetensors"):
            [size] = struct.unpack("<Q", data[:8])
            head = json.loads(data[8 : 8 + size])
            about = head.get("__metadata__", {})
            if about and chance.random() < 0.4:
                key = chance.choice(sorted(about))
                about[key] = change_value(about[key].encode(), chance).decode("utf-8", "replace")
            else:
                head = replace_value(head, chance)
            changed = json.dumps(head).encode()
            return struct.pack("<Q", len(changed)) + changed + data[8 + size :]
    return change_value(data, chance)


def write_digests(files: dict[str, bytes]) -> None:
    """Make the digests in `config.toml` those of the files, where they are the beginnings of SHA-256."""
    with suppress(ValueError, KeyError, AttributeError, TypeError, RecursionError):
        config = tomllib.loads(files["config.toml"].decode())
        listed = config["model"]["files"]
        for name in listed.keys() & files.keys():
            listed[name] = hashlib.sha256(files[name]).hexdigest()[: len(listed[name])]
        files["config.toml"] = tomli_w.dumps(config).encode()


def check_folder(folder: Path, explain: bool) -> str:
    """Open a model and use it."""
    model = nearspan.load(folder, device="cpu")
    model("Ada Stone lives in Vienna")
    if explain:
        model.explain("Ada Stone lives in Vienna")
    if model.datastore is not None:
        model.memory.log()
    return "read"


def make_synonyms(name: str, chance: Random) -> Made:
    """A file of synonyms, damaged."""
    return {"data": damage(SYNONYMS[name].encode(), chance)}, Counter()


class Fuzz:
    """Makes and checks inputs by name and number."""

    def __init__(self, seed: int, folder: Path, models: dict[str, dict[str, bytes]] | None = None) -> None:
        self.seed, self.folder, self.models = seed, folder, models or {}

    def make(self, name: str, number: int) -> Made:
        """The files of an input, and what must be read from them."""
        chance = Random(f"{self.seed} {name} {number}")
        if name == "folder":
            return make_folder(self.models, chance)
        made = make_synonyms(name, chance) if name in SYNONYMS else make_corpus(name, chance)
        return pack(made, chance) if is_packed(name, number) else made

    def check(self, name: str, number: int) -> str:
        """What comes of an input: one of the outcomes, and more where there is more to say; raises what is not ours."""
        files, mentions = self.make(name, number)
        place = self.folder / "input"
        shutil.rmtree(place, ignore_errors=True)
        for file, data in files.items():
            (place / file).parent.mkdir(parents=True, exist_ok=True)
            (place / file).write_bytes(data)
        try:
            if name == "folder":
                return check_folder(place, explain=number % 4 == 0)  # which takes long
            if name in SYNONYMS:
                return "listed" if read_synonyms(place / "data", name).problems else "read"
            with long_files(number % 3 == 1):
                return check_corpus(name, mentions, place, named=number % 5 != 3)
        except NearspanError as error:
            return f"miscounts {error}" if "do not add up" in str(error) else "refused"

    def outcome(self, name: str, number: int) -> str:
        """What comes of an input, within the limit."""
        try:
            with time_limit(LIMIT):
                return self.check(name, number)
        except KeyboardInterrupt:
            raise
        except Hang as error:
            return f"hangs {place_of(error)}"
        except BaseException as error:  # a panic of Rust is no Exception
            return f"tracebacks {type(error).__name__} {place_of(error)}"


@contextmanager
def long_files(small_blocks: bool) -> Iterator[None]:
    """Let a file of 600 bytes be a long one, which is read in blocks of lines."""
    before = source.SAMPLE, source._BLOCK
    if small_blocks:
        source.SAMPLE, source._BLOCK = 600, 100
    try:
        yield
    finally:
        source.SAMPLE, source._BLOCK = before


def place_of(error: BaseException) -> str:
    """The last line of ours that an error came from."""
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if f"{os.sep}nearspan{os.sep}" in frame.filename
    ]
    return f"{frames[-1].filename.rpartition('nearspan' + os.sep)[2]}:{frames[-1].name}" if frames else "elsewhere"


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """A Hang after some seconds of processor time."""

    def stop(*_: object) -> None:
        raise Hang

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def run(fuzz: Fuzz, name: str, count: int) -> Iterator[tuple[int, str]]:
    """The outcome of each input of a name, from processes that may end at any of them."""
    number = 0
    while number < count:
        read_end, write_end = os.pipe()
        child = os.fork()
        if not child:
            os.close(read_end)
            for index in range(number, count):
                os.write(write_end, (json.dumps(fuzz.outcome(name, index)) + "\n").encode())
            os._exit(0)
        os.close(write_end)
        with os.fdopen(read_end, "rb", buffering=0) as stream:
            rest, hangs = b"", False
            while not hangs:
                hangs = not select.select([stream], [], [], PATIENCE)[0]
                data = b"" if hangs else stream.read(1 << 16)
                if not data:
                    break
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    yield number, json.loads(line)
                    number += 1
        if hangs:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if number < count:
            yield number, f"hangs killed after {PATIENCE} s" if hangs else f"crashes status {status}"
            number += 1


def limit_memory() -> None:
    """Make a huge allocation an error instead of the end of the machine."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))


def fuzz_name(fuzz: Fuzz, name: str, count: int) -> dict[str, Any]:
    """What came of all inputs of a name: the counts, the seconds, and each kind of fault with the first inputs."""
    began, outcomes = time.perf_counter(), Counter[str]()
    findings: dict[str, dict[str, Any]] = {}
    for number, outcome in run(fuzz, name, count):
        kind, _, more = outcome.partition(" ")
        outcomes[kind] += 1
        if kind not in ("read", "listed", "refused"):
            key = kind if kind == "silent" else f"{kind} {re.sub('[0-9]+', '0', more)[-120:]}"
            finding = findings.setdefault(key, {"count": 0, "numbers": [], "example": more[:300]})
            finding["count"] += 1
            finding["numbers"] = [*finding["numbers"], number][:5]
    counts = {kind: outcomes[kind] for kind in OUTCOMES}
    packed = sum(is_packed(name, number) for number in range(count))
    return {
        "inputs": count,
        "gz": packed,
        **counts,
        "seconds": round(time.perf_counter() - began, 1),
        "findings": findings,
    }


def add_up(results: dict[str, Any]) -> dict[str, int]:
    """The counts of all names and seeds together."""
    rows = [row for name, row in results.items() if name not in ("totals", "note")]
    return {key: sum(row.get(key, 0) for row in rows) for key in ("inputs", "gz", *OUTCOMES)}


def show(fuzz: Fuzz, name: str, number: int) -> None:
    """Print an input and what comes of it."""
    files, mentions = fuzz.make(name, number)
    for file, data in files.items():
        print(f"--- {file}", data[:3000], sep="\n")
    print("expected", dict(mentions))
    print(fuzz.check(name, number))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--readers", type=int, default=150_000, help="inputs over all readers")
    arguments.add_argument("--folders", type=int, default=50_000, help="inputs over model folders")
    arguments.add_argument("--only", help="some names alone, with commas between them")
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--show", nargs=2, metavar=("NAME", "NUMBER"))
    arguments.add_argument("--resume", action="store_true", help="leave out what --out has of this commit")
    arguments.add_argument("--out", type=Path, help="what was recorded there stays, but for the same names and seed")
    options = arguments.parse_args()
    limit_memory()
    names = (*SHAPES, "brat", *fuzz_files.BINARY, *fuzz_files.FOLDERS, *SYNONYMS)
    # three times as many corpora as synonyms, as these have more to lose, and as those that libraries read slowly
    shares = {name: 1 if name in SYNONYMS or name in fuzz_files.SLOW else 3 for name in names}
    counts = {name: share * (options.readers // sum(shares.values())) for name, share in shares.items()}
    counts["conll"] += options.readers - sum(counts.values())
    counts["folder"] = options.folders
    if options.only:
        chosen = options.only.split(",")
        counts = {name: options.readers // len(chosen) for name in chosen}
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    command = " ".join(["python", *sys.argv])
    about = {"command": command, "commit": commit, "seed": options.seed, "python": platform.python_version()}
    results = json.loads(options.out.read_text()) if options.out and options.out.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        wanted = options.show[0] == "folder" if options.show else counts.get("folder", 0) > 0
        fuzz = Fuzz(options.seed, Path(folder), train_models(Path(folder) / "models") if wanted else {})
        if options.show:
            show(fuzz, options.show[0], int(options.show[1]))
            return
        if "conllu" in counts:  # missing, it is no fault of a reader
            importlib.import_module("conllu")
        if counts.keys() & set(fuzz_files.SLOW):  # once, and not in each process
            for library in ("bioc", "cassis", "datasets", "pyarrow.parquet", "spacy"):
                importlib.import_module(library)
        for name, count in counts.items():
            was_done = results.get(f"{name}, seed {options.seed}", {})
            if count and not (options.resume and was_done.get("inputs") == count and was_done["commit"] == commit):
                result = fuzz_name(fuzz, name, count)
                print(name, result, flush=True)
                results[f"{name}, seed {options.seed}"] = about | result
                results["totals"] = add_up(results)
                if options.out:
                    options.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
