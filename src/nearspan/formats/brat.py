"""brat standoff: a `.txt` with the text and an `.ann` with the annotations, offsets in characters.

Text-bound annotations (`T1<tab>ADR 9 19;25 30<tab>the text`) are read, and what is said of them becomes their
attributes (`brat_attributes.py`). Relations, events, equivalences, and what is said of those are left out; a line that
has not the shape of what its first letter says is listed. The text is taken exactly as it is, line ends included. If
the `.txt` has a byte order mark or CRLF line ends, the reading (with or without the mark, CRLF as two characters or
one) that most annotations agree with is used.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple

from nearspan.document import Document, Fragment
from nearspan.errors import CorpusError
from nearspan.formats.brat_attributes import BratAttributes, attribute_lines, keeps
from nearspan.formats.corpus import Corpus, Problem, excerpt
from nearspan.formats.draft import Draft, have_same_words, to_corpus
from nearspan.formats.folder import file_names, natural_order, order_changes, write_folder
from nearspan.formats.format import Format, list_changes, plain_text_changes, refuse_entities, refuse_loss
from nearspan.formats.source import Source
from nearspan.io.paths import display_path

_TEXT_BOUND = re.compile(r"(.*[^ \t]) +(-?\d+ -?\d+(?:;-?\d+ -?\d+)*)", re.DOTALL)
_OTHER = {
    "R": ("relation (R1<tab>TYPE Arg1:T1 Arg2:T2)", re.compile(r"R\d\S*\t\S+(?: [^\s:]+:\S+){2,}\s*")),
    "E": ("event (E1<tab>TYPE:T1 ROLE:T2)", re.compile(r"E\d\S*\t[^\s:]+:\S+(?: [^\s:]+:\S+)*\s*")),
    "A": ("attribute (A1<tab>NAME T1)", re.compile(r"A\d\S*\t\S+ [A-Z]\S*(?:\s.*)?")),
    "M": ("modification (M1<tab>NAME E1)", re.compile(r"M\d\S*\t\S+ [A-Z]\S*(?:\s.*)?")),
    "N": ("normalisation (N1<tab>TYPE T1 SOURCE:ID<tab>text)", re.compile(r"N\d\S*\t\S+ [A-Z]\S* [^\s:]+:.*")),
    "#": ("note (#1<tab>TYPE T1<tab>text)", re.compile(r"#\S*\t\S+ [A-Z*#]\S*(?:\s.*)?")),
    "*": ("equivalence (*<tab>TYPE T1 T2)", re.compile(r"\*\t\S+(?: [A-Z]\S*)+\s*")),
}
"""Lines that are no annotations of text, by their first letter: what they are, and their shape."""
_LEFT_OUT = {
    "R": "relations",
    "E": "events",
    "M": "modifications",
    "*": "equivalences",
    "A": "attributes of what is not read",
    "N": "normalisations of what is not read",
    "#": "notes on what is not read",
}
_MOST_DIGITS = 4000  # Python refuses to read longer numbers


class _Annotation(NamedTuple):
    id: str
    fragments: list[Fragment]
    label: str
    line: int
    text: str | None

    def fits(self, text: str) -> bool:
        """Whether a text holds what the annotation says, where it says so."""
        characters = " ".join(text[max(start, 0) : max(end, 0)] for start, end in sorted(self.fragments))
        return self.text is not None and have_same_words(self.text, characters, any_order=len(self.fragments) > 1)


def detect(source: Source) -> bool:
    """Whether a path is a folder, an `.ann` or a `.txt` that has one."""
    path = source.path
    return path.is_dir() or _ends(path, ".ann") or (_ends(path, ".txt") and _Folders().beside(path, ".ann") is not None)


def read(source: Source) -> Corpus:
    """Read a folder (and all folders in it), or one pair named by its `.txt` or `.ann`.

    The `.txt` of an `.ann` is beside it or, as in CADEC, in the sibling folder `text`.
    """
    path, folders = source.path, _Folders()
    if not path.is_dir():
        annotations = path if _ends(path, ".ann") else folders.beside(path, ".ann") or path.with_suffix(".ann")
        is_text = _ends(path, ".txt") and path.is_file()
        text = path if is_text else folders.text_of(annotations) or path.with_suffix(".txt")
        return _read_pair(annotations, text, display_path(path.stem), source)
    files, problems = _files(path)
    files.sort(key=lambda file: natural_order(file.as_posix()))
    annotation_files = [file for file in files if _ends(file, ".ann")]
    if not annotation_files:
        message = "is a folder without .ann files; name the files to read, or a brat folder"
        raise CorpusError(f"{display_path(path)} {message}")
    parts: list[Corpus] = []
    used: set[Path] = set()
    for file in annotation_files:
        text_file = folders.text_of(file)
        if text_file is None:
            lines = sum(line.startswith("T") for line in Source(file).lines)
            source.count(lines)
            message = f"there is no {display_path(file.stem)}.txt for it; its {lines} annotations are not read"
            parts.append(Corpus((), (Problem("missing text", message, display_path(file), lost=lines),)))
            continue
        used.add(text_file)
        id = display_path(file.relative_to(path).with_suffix("").as_posix())
        parts.append(_read_pair(file, text_file, id, source))
    read_folders = {display_path(file.parent) for file in used}
    problems = [problem for problem in problems if problem.path not in read_folders]  # a linked folder of texts is read
    unused = sorted(file for file in files if _ends(file, ".txt") and file not in used)
    problems += [Problem("no annotations", "there is no .ann for it; not read", display_path(file)) for file in unused]
    return Corpus.merge([*parts, Corpus((), tuple(problems), "brat")])


def write(corpus: Corpus, path: Path) -> tuple[Problem, ...]:
    """Write a folder; documents are named after their ids, made safe and unique, and read again in order of names.

    The folder must be new or empty, so that no documents of another corpus are left between the new ones. It is
    complete or not there at all.
    """
    names = list(file_names(corpus, (".txt", ".ann")))
    files_of = (
        ((f"{name}.txt", [document.text]), (f"{name}.ann", _lines(document)))
        for name, document in zip(names, corpus, strict=True)
    )
    write_folder(path, chain.from_iterable(files_of))
    changes = plain_text_changes(corpus, names, "brat", keeps) | order_changes([f"{name}.ann" for name in names])
    return list_changes(path, changes)


def _files(path: Path) -> tuple[list[Path], list[Problem]]:
    """The `.ann` and `.txt` files of a folder and all folders in it, and what could not be entered or opened."""
    files: list[Path] = []
    missing: list[tuple[str | Path, str]] = []

    def list_closed(error: OSError) -> None:
        if Path(error.filename) == path:
            raise CorpusError(f"cannot read {display_path(path)}: {error.strerror}") from error
        missing.append((error.filename, f"cannot be read: {error.strerror}"))

    for folder, below, names in os.walk(path, onerror=list_closed):
        paths = [Path(folder, name) for name in names if name.lower().endswith((".ann", ".txt"))]
        files += [file for file in paths if file.is_file()]
        links = [link for name in below if (link := Path(folder, name)).is_symlink()]
        missing += [(link, "it is a link to a folder; not read") for link in links]
        broken = [file for file in paths if file.is_symlink() and not file.exists()]
        missing += [(file, "it is a link to nothing; not read") for file in broken]
    return files, [Problem("missing text", message, display_path(file)) for file, message in missing]


def _ends(path: Path, ending: str) -> bool:
    return path.suffix.lower() == ending


class _Folders:
    """Looks for files beside others; a folder is listed once, however many are looked for in it."""

    def __init__(self) -> None:
        self._names: dict[Path, dict[str, str]] = {}  # by folder, and by the name with its ending in small letters

    def beside(self, path: Path, ending: str) -> Path | None:
        """The file of the same name that has an ending; of several, that whose ending is in the same case."""
        same_case = path.with_suffix(ending.upper() if path.suffix.isupper() else ending)
        if same_case.is_file():
            return same_case
        folder = path.parent
        if folder not in self._names:
            names: list[str] = []
            with suppress(OSError):  # there is no such folder
                names = sorted(entry.name for entry in os.scandir(folder) if entry.is_file())
            self._names[folder] = {Path(name).stem + Path(name).suffix.lower(): name for name in names}
        name = self._names[folder].get(path.stem + ending)
        return path.with_name(name) if name else None

    def text_of(self, annotations: Path) -> Path | None:
        """The text file of an `.ann` file, if there is one."""
        sibling = annotations.parent.parent / "text" / annotations.name
        return self.beside(annotations, ".txt") or self.beside(sibling, ".txt")


def _read_pair(annotation_file: Path, text_file: Path, id: str, folder: Source) -> Corpus:
    text, source = Source(text_file), Source(annotation_file, folder=folder)
    readings = _readings(text)
    source.problems += text.problems
    attributes = BratAttributes()
    annotations = list(_annotations(source, attributes))
    best = max(readings, key=lambda reading: sum(annotation.fits(reading) for annotation in annotations))
    draft = Draft(best, source, 1, id=id)
    for id_in_file, fragments, label, line, said in annotations:
        draft.add(fragments, label, line, text=said, attributes=attributes.pop(id_in_file))
    source.leave_out("attributes, normalisations and notes of what is not read", attributes.count_rest())
    return refuse_loss(to_corpus([draft], source, "brat"), source)


def _annotations(source: Source, attributes: BratAttributes) -> Iterator[_Annotation]:
    for number, line in enumerate(source.lines, 1):
        if not line.strip():
            continue
        is_text_bound = line.startswith("T")
        source.count(is_text_bound)
        if line[0] in _OTHER:
            name, shape = _OTHER[line[0]]
            if not shape.fullmatch(line):
                source.add_problem("malformed", f"found {excerpt(line)}, which is no {name}; not read", number)
            elif not attributes.add(line):
                source.leave_out(_LEFT_OUT[line[0]])
            continue
        columns = line.split("\t", 2)
        match = _TEXT_BOUND.fullmatch(columns[1]) if is_text_bound and len(columns) > 1 else None
        if match is None or max(map(len, re.split("[ ;]", match[2]))) > _MOST_DIGITS:
            source.add_unexpected(line, "T1<tab>LABEL 0 4<tab>text", number, lost=is_text_bound)
            continue
        pairs = [pair.split(" ") for pair in match[2].split(";")]
        text = columns[2] if len(columns) > 2 else None
        yield _Annotation(columns[0], [(int(start), int(end)) for start, end in pairs], match[1], number, text)


def _readings(source: Source) -> list[str]:
    """What a text file may say, the plain reading first."""
    readings = [source.text]
    if source.has_mark:
        readings.append("\ufeff" + source.text)
    if "\r\n" in source.text:
        readings += [reading.replace("\r\n", "\n") for reading in readings]
    return readings


def _lines(document: Document) -> Iterator[str]:
    refuse_entities(document, "brat", discontinuous=True)
    numbers = count(1)
    for number, entity in enumerate(document.entities, 1):
        offsets = ";".join(f"{start} {end}" for start, end in entity.span.fragments)
        text = re.sub(r"[\t\r\n]", " ", entity.text)
        yield f"T{number}\t{entity.label} {offsets}\t{text}\n"
        yield from attribute_lines(f"T{number}", entity.attributes, numbers)


FORMAT = Format("brat", read, detect, write, endings=("",), folder=True)
