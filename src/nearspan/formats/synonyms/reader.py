"""Reading synonyms from files, the right format found."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path

from nearspan.errors import CorpusError, did_you_mean
from nearspan.formats import sample
from nearspan.formats.corpus import Problem
from nearspan.formats.files import AnyPath
from nearspan.formats.source import Lines
from nearspan.formats.synonyms import obo
from nearspan.formats.synonyms.lines import (
    Concept,
    has_identifiers,
    is_tsv,
    is_umls,
    is_wordnet,
    read_tsv,
    read_tsv_with_identifiers,
    read_umls,
    read_wordnet,
    wordnet_files,
)
from nearspan.formats.synonyms.table import Synonyms, key_of
from nearspan.io.paths import display_path

FORMATS = {"umls": is_umls, "wordnet": is_wordnet, "obo": obo.detect, "tsv": is_tsv}
"""The known formats, in the order in which a file's content is compared with them."""

SAMPLE = "sample"
"""The name of the table that goes with the sample corpus."""

_IDENTIFIED = "tsv with identifiers"
_ENDINGS = {".obo": "obo", ".rrf": "umls", ".tsv": "tsv"}


@dataclass(frozen=True)
class _Choice:
    """What to read of a file."""

    format: str | None
    scopes: tuple[str, ...]
    languages: tuple[str, ...] | None
    identifiers: bool | None


def read(
    paths: AnyPath | Iterable[AnyPath],
    format: str | None = None,
    *,
    scopes: str | Collection[str] = ("EXACT",),
    languages: str | Collection[str] | None = ("ENG",),
    identifiers: bool | None = None,
) -> Synonyms:
    """Read synonyms from one or several files, plain or gzip, or from folders with WordNet's dictionary files.

    Args:
        paths: the files and folders; "sample" is the table that goes with the sample corpus.
        format: tsv, obo, umls or wordnet; found from the content, then from the name, if it is not given.
        scopes: which synonyms of an OBO file count: EXACT, NARROW, BROAD, RELATED.
        languages: which languages of UMLS count, such as ENG or SPA; None: all.
        identifiers: whether the first column of a TSV file holds identifiers; found from the content if None.

    Raises:
        CorpusError: a file is missing, empty, unreadable or of no known format. What is wrong inside a file
            is in `Synonyms.problems` instead.

    >>> read("sample").of("Paracetamol")
    ('acetaminophen',)
    """
    if format is not None and format not in FORMATS:
        raise CorpusError(f"there is no format '{format}' of synonyms; {did_you_mean(format, FORMATS)}")
    choice = _Choice(format, _scopes(scopes), None if languages is None else _languages(languages), identifiers)
    paths = [paths] if isinstance(paths, str | PathLike) else paths
    files = [file for path in paths for file in _files(Path(fspath(path)))]
    if not files:
        raise CorpusError("no file to read; name at least one")
    parts = [_read_file(file, choice) for file in files]
    return parts[0] if len(parts) == 1 else Synonyms.merge(parts)


def _files(path: Path) -> list[Path]:
    """A file itself, the files of a WordNet folder, or the sample's table."""
    try:
        if path == Path(SAMPLE) and not path.exists():
            return [sample.path("synonyms")]
        if not path.is_dir():
            return [path]
    except (OSError, ValueError) as error:
        raise CorpusError(f"{display_path(path)} cannot be read: {error}") from None
    if files := wordnet_files(path):
        return files
    raise CorpusError(
        f"{display_path(path)} is a folder without WordNet's files (data.noun, ...); name the files instead"
    )


def _read_file(path: Path, choice: _Choice) -> Synonyms:
    lines = Lines(path)
    format = choice.format or _find_format(lines)
    if format == "tsv" and (has_identifiers(lines) if choice.identifiers is None else choice.identifiers):
        format = _IDENTIFIED
    namespace = lines.name if format == _IDENTIFIED else format  # a table's identifiers are its own
    concepts = _concepts(lines, format, choice)
    keyed = ((key_of(namespace, concept) if concept else 0, names) for concept, names in concepts)
    synonyms = Synonyms.from_concepts(keyed, lines.problems, format)
    if not synonyms.concepts:
        languages = f" in {', '.join(choice.languages)}" if format == "umls" and choice.languages else ""
        synonyms.problems += (Problem("empty", f"no name{languages} in the file, read as {format}", lines.name),)
    return synonyms


def _concepts(lines: Lines, format: str, choice: _Choice) -> Iterator[Concept]:
    if format == "obo":
        return obo.read(lines, choice.scopes)
    if format == "umls":
        return read_umls(lines, choice.languages)
    if format == "wordnet":
        return read_wordnet(lines)
    if format == _IDENTIFIED:
        return read_tsv_with_identifiers(lines, strict=choice.identifiers is None)
    return read_tsv(lines)


def _find_format(lines: Lines) -> str:
    """The format by the content, or else by the ending of the name."""
    for name, detect in FORMATS.items():
        if detect(lines):
            return name
    ending = Path(lines.path.name.lower().removesuffix(".gz")).suffix
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    message = f"the format of the synonyms in {lines.name} is not clear from its content; name it with `format`"
    raise CorpusError(f"{message}: {', '.join(sorted(FORMATS))}")


def _scopes(scopes: str | Collection[str]) -> tuple[str, ...]:
    names = _upper(scopes)
    if not set(names) <= set(obo.SCOPES):
        raise CorpusError(f"scopes are {', '.join(obo.SCOPES)}; found {', '.join(names)}")
    return names


def _languages(languages: str | Collection[str]) -> tuple[str, ...]:
    names = _upper(languages)
    if not names or not all(len(name) == 3 for name in names):
        raise CorpusError(f"UMLS names languages by three letters, such as ENG; found {', '.join(names) or 'none'}")
    return names


def _upper(values: str | Collection[str]) -> tuple[str, ...]:
    return tuple(value.upper() for value in ([values] if isinstance(values, str) else values))
