"""Static word vectors: GloVe, word2vec and fastText text files."""

import gzip
import hashlib
import os
import warnings
import zlib
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from nearspan.errors import ResourceError
from nearspan.io.paths import is_file

Vectors = NDArray[np.float16]


def read_vectors(path: Path | str, limit: int, also: Collection[str] = ()) -> tuple[list[str], Vectors]:
    """The first `limit` words of a vector file and their vectors, and those of `also` wherever they stand.

    Text files hold a word and its numbers a line, the numbers separated by blanks; a first line with
    two numbers (word2vec, fastText) is skipped. Files may be gzipped. The first reading is cached
    under `NEARSPAN_CACHE` (by default `~/.cache/nearspan`), later ones take a second.
    """
    path = Path(path)
    if not is_file(path):
        raise ResourceError(
            f"no vector file at {path}: set encoder.vectors.file to a GloVe, word2vec or fastText text file"
        )
    words, vectors = _read_cached(path)
    if limit >= len(words):
        return words, vectors
    rare = set(also)
    keep = [row for row, word in enumerate(words) if row < limit or word in rare]
    return [words[row] for row in keep], vectors[keep]


def _read_cached(path: Path) -> tuple[list[str], Vectors]:
    stat = path.stat()
    key = hashlib.sha256(f"{path.resolve()}\0{stat.st_size}\0{stat.st_mtime_ns}\0finite".encode()).hexdigest()[:24]
    folder = Path(os.environ.get("NEARSPAN_CACHE", Path.home() / ".cache" / "nearspan"))
    cache = folder / f"vectors-{key}.safetensors"
    try:
        tensors = load_file(cache)
        return bytes(tensors["words"]).decode("utf-8").split("\n"), tensors["vectors"]
    except (OSError, SafetensorError, KeyError, UnicodeDecodeError):
        pass  # no cache, or a damaged one: read the file itself
    words, vectors = _parse(path)
    scratch = cache.with_suffix(f".{os.getpid()}.tmp")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        save_file({"words": np.frombuffer("\n".join(words).encode(), dtype=np.uint8), "vectors": vectors}, scratch)
        scratch.replace(cache)
    except (OSError, SafetensorError):  # a cache that cannot be written costs time, not correctness
        with suppress(OSError):
            scratch.unlink(missing_ok=True)
    return words, vectors


def _parse(path: Path) -> tuple[list[str], Vectors]:
    words: list[str] = []
    rows: list[Vectors] = []
    seen: set[str] = set()
    size = 0
    for number, line in _lines(path):
        word, _, rest = line.partition(" ")
        if number == 1 and word.isdigit() and rest.strip().isdigit():
            continue  # word2vec's header: how many words, how many numbers
        row = _numbers(rest)
        if len(row) < size:  # the word itself may hold blanks, as some of GloVe's do
            word, *numbers = line.rsplit(" ", size)
            row = _numbers(" ".join(numbers))
        size = size or len(row)
        if len(row) != size or size == 0:
            raise ResourceError(
                f"{path}:{number}: expected a word and {size or 'some'} numbers, "
                f"found {len(row)} numbers after {word[:40]!r}; is this a text file of word vectors?"
            )
        if word and word not in seen:
            with np.errstate(over="ignore"):
                half = row.astype(np.float16)
            if not np.isfinite(half).all():
                raise ResourceError(
                    f"{path}:{number}: the vector holds a number that is not finite or beyond 65504; mend the file"
                )
            seen.add(word)
            words.append(word)
            rows.append(half)
    if not words:
        raise ResourceError(f"{path} holds no word vectors")
    return words, np.stack(rows)


def _numbers(text: str) -> NDArray[np.float32]:
    """The numbers of a text; none where there is anything else in it."""
    if not text:
        return np.empty(0, np.float32)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # numpy before 2.4 warns of what it cannot read
            return np.fromstring(text, dtype=np.float32, sep=" ")
    except (ValueError, DeprecationWarning):
        return np.empty(0, np.float32)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not empty, with their numbers from 1."""
    try:
        with path.open("rb") as file:
            zipped = file.read(2) == b"\x1f\x8b"
        with gzip.open(path) if zipped else path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                line = raw.decode("utf-8", errors="replace").rstrip()
                if line:
                    yield number, line
    except (OSError, EOFError, zlib.error) as error:
        raise ResourceError(f"cannot read the vectors in {path}: {error}") from error
