"""Reading synonyms from files, the right format found."""

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from os import PathLike, fspath
from pathlib import Path

from nearspan.errors import CorpusError, did_you_mean
from nearspan.formats import sample
from nearspan.formats.corpus import Problem
from nearspan.formats.files import AnyPath
from nearspan.formats.source import Lines, refuse_unreadable
from nearspan.formats.synonyms import line_formats, obo
from nearspan.formats.synonyms.line_formats import Concept
from nearspan.formats.synonyms.table import Synonyms, key_of
from nearspan.io.paths import display_path

FORMATS = {
    "umls": line_formats.is_umls,
    "wordnet": line_formats.is_wordnet,
    "obo": obo.detect,
    "tsv": line_formats.is_tsv,
}
"""The known formats, in the order in which a file's content is compared with them."""

SAMPLE = "sample"
"""The name of the table that goes with the sample corpus."""

IDENTIFIED = "tsv with identifiers"
Readers = dict[str, Callable[[Lines], Iterator[Concept]]]
_ENDINGS = {".obo": "obo", ".rrf": "umls", ".tsv": "tsv"}


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
    scopes = _upper(scopes)
    if not set(scopes) <= set(obo.SCOPES):
        raise CorpusError(f"scopes are {', '.join(obo.SCOPES)}; found {', '.join(scopes)}")
    codes = None if languages is None else _upper(languages)
    if codes is not None and (not codes or not all(len(code) == 3 for code in codes)):
        raise CorpusError(f"UMLS names languages by three letters, such as ENG; found {', '.join(codes) or 'none'}")
    readers: Readers = {
        "obo": partial(obo.read, scopes=scopes),
        "umls": partial(line_formats.read_umls, languages=codes),
        "wordnet": line_formats.read_wordnet,
        "tsv": line_formats.read_tsv,
        IDENTIFIED: partial(line_formats.read_tsv_with_identifiers, strict=identifiers is None),
    }
    paths = [paths] if isinstance(paths, str | PathLike) else paths
    files = [file for path in paths for file in _files(Path(fspath(path)))]
    if not files:
        raise CorpusError("no file to read; name at least one")
    parts = [_read_file(file, format, identifiers, readers) for file in files]
    for file, part in zip(files, parts, strict=True):
        if not part.concepts:
            within = f" in {', '.join(codes)}" if part.format == "umls" and codes else ""
            message = f"no name{within} in the file, read as {part.format}"
            part.problems += (Problem("empty", message, display_path(file)),)
    return parts[0] if len(parts) == 1 else Synonyms.merge(parts)


def _files(path: Path) -> list[Path]:
    """A file itself, the files of a WordNet folder, or the sample's table."""
    with refuse_unreadable(path):
        if path == Path(SAMPLE) and not path.exists():
            return [sample.path("synonyms")]
        if not path.is_dir():
            return [path]
    if files := line_formats.wordnet_files(path):
        return files
    raise CorpusError(
        f"{display_path(path)} is a folder without WordNet's files (data.noun, ...); name the files instead"
    )


def _read_file(path: Path, format: str | None, identifiers: bool | None, readers: Readers) -> Synonyms:
    lines = Lines(path)
    format = format or _find_format(lines)
    if format == "tsv" and (line_formats.has_identifiers(lines) if identifiers is None else identifiers):
        format = IDENTIFIED
    namespace = lines.name if format == IDENTIFIED else format  # a table's identifiers are its own
    concepts = readers[format](lines)
    keyed = ((key_of(namespace, concept) if concept else 0, names) for concept, names in concepts)
    return Synonyms.from_concepts(keyed, lines.problems, format)


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


def _upper(values: str | Collection[str]) -> tuple[str, ...]:
    return tuple(value.upper() for value in ([values] if isinstance(values, str) else values))
