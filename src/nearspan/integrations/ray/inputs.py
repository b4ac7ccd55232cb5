"""What is to be annotated: files and folders of texts, by their addresses or by patterns of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from nearspan.errors import CorpusError
from nearspan.integrations.ray.storage import Place

WILD = "*?["
ENDING = ".jsonl"


@dataclass(frozen=True)
class Input:
    """A file or a folder that one output is made for.

    Folders are of texts, or in a format that has folders.
    """

    place: Place
    output: str  # the path of the output in the folder of all outputs

    @property
    def address(self) -> str:
        """Where it is."""
        return self.place.address


def find_inputs(addresses: Iterable[str]) -> list[Input]:
    """The inputs of addresses and patterns, each once; an error where there is nothing.

    The files of a pattern keep the folders that it has matched: `in/*/*.jsonl` gives `2024/may.jsonl`.
    """
    inputs: dict[str, Input] = {}
    outputs: dict[str, str] = {}
    for address in addresses:
        for found in _find(address):
            if found.address in inputs:
                continue
            if other := outputs.get(found.output):
                raise CorpusError(
                    f"{other} and {found.address} would both be written to {found.output}: annotate them into two "
                    "folders, or name them by a pattern that has their folders, as `in/*/*.jsonl` does"
                )
            inputs[found.address], outputs[found.output] = found, found.address
    return list(inputs.values())


def _find(address: str) -> Iterator[Input]:
    place = Place.of(address)
    if place.exists():
        yield Input(place, _output(PurePosixPath(place.path).name))
        return
    if not set(address) & set(WILD):
        raise CorpusError(f"{address} does not exist")
    paths = [path for path in sorted(place.system.glob(place.path)) if place.system.isfile(path)]
    if not paths:
        raise CorpusError(f"no file is at {address}")
    base = _fixed_part(place.path)
    for path in paths:
        yield Input(Place(place.system, path), _output(str(PurePosixPath(path).relative_to(base))))


def _fixed_part(pattern: str) -> str:
    """The folder above all that a pattern leaves open.

    >>> _fixed_part("/data/in/*/a?.jsonl")
    '/data/in'
    """
    parts = pattern.split("/")
    first = next(number for number, part in enumerate(parts) if set(part) & set(WILD))
    return "/".join(parts[:first]) or "/"


def _output(name: str) -> str:
    """The name of the output of a file, or of a folder.

    >>> _output("may/a.conll.gz"), _output("letters")
    ('may/a.jsonl', 'letters.jsonl')
    """
    path = PurePosixPath(name.removesuffix(".gz"))
    return str(path.with_suffix(ENDING))
