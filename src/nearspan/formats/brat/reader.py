"""Reading brat standoff: pairs of files, and the annotations of each."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nearspan.document import Fragment
from nearspan.errors import CorpusError
from nearspan.formats.brat.writer import natural_order
from nearspan.formats.corpus import Corpus, Problem, excerpt
from nearspan.formats.draft import Draft, have_same_words, to_corpus
from nearspan.formats.source import Source
from nearspan.io.paths import display_path

_TEXT_BOUND = re.compile(r"(.*\S)\s+(-?\d+ -?\d+(?:;-?\d+ -?\d+)*)", re.DOTALL)
_OTHER = {
    "R": ("relation (R1<tab>TYPE Arg1:T1 Arg2:T2)", re.compile(r"R\d\S*\t\S+(?: [^\s:]+:\S+){2,}\s*")),
    "E": ("event (E1<tab>TYPE:T1 ROLE:T2)", re.compile(r"E\d\S*\t[^\s:]+:\S+(?: [^\s:]+:\S+)*\s*")),
    "A": ("attribute (A1<tab>NAME T1)", re.compile(r"A\d\S*\t\S+ [A-Z]\S*(?:\s.*)?")),
    "M": ("modification (M1<tab>NAME E1)", re.compile(r"M\d\S*\t\S+ [A-Z]\S*(?:\s.*)?")),
    "N": ("normalisation (N1<tab>TYPE T1 SOURCE:ID<tab>text)", re.compile(r"N\d\S*\t\S+ [A-Z]\S* [^\s:]+:.*")),
    "#": ("note (#1<tab>TYPE T1<tab>text)", re.compile(r"#\S*\t\S+ [A-Z*#]\S*(?:\s.*)?")),
    "*": ("equivalence (*<tab>TYPE T1 T2)", re.compile(r"\*\t\S+(?: [A-Z]\S*)+\s*")),
}
"""Annotations that are left out, by the first letter of the line: what they are, and their shape."""
_MOST_DIGITS = 4000  # Python refuses to read longer numbers


@dataclass(frozen=True)
class _Annotation:
    line: int
    label: str
    fragments: list[Fragment]
    text: str | None


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
        marks = path if _ends(path, ".ann") else folders.beside(path, ".ann") or path.with_suffix(".ann")
        is_text = _ends(path, ".txt") and path.is_file()
        text = path if is_text else _text_file(marks, folders) or path.with_suffix(".txt")
        return _read_pair(marks, text, display_path(path.stem))
    files, problems = _files(path)
    annotation_files = sorted(
        (file for file in files if _ends(file, ".ann")), key=lambda file: natural_order(file.as_posix())
    )
    if not annotation_files:
        raise CorpusError(
            f"{display_path(path)} is a folder without .ann files; name the files to read, or a brat folder"
        )
    parts: list[Corpus] = []
    used: set[Path] = set()
    for file in annotation_files:
        text_file = _text_file(file, folders)
        if text_file is None:
            count = sum(line.startswith("T") for line in Source(file).lines)
            message = f"there is no {display_path(file.stem)}.txt for it; its {count} annotations are not read"
            parts.append(Corpus((), (Problem("missing text", message, display_path(file)),)))
            continue
        used.add(text_file)
        parts.append(_read_pair(file, text_file, display_path(file.relative_to(path).with_suffix("").as_posix())))
    read_folders = {display_path(file.parent) for file in used}
    problems = [problem for problem in problems if problem.path not in read_folders]  # a linked folder of texts is read
    unused = sorted(file for file in files if _ends(file, ".txt") and file not in used)
    problems += [Problem("no annotations", "there is no .ann for it; not read", display_path(file)) for file in unused]
    merged = Corpus.merge(parts)
    return Corpus(merged.documents, (*merged.problems, *problems), "brat", 0, merged.places)


def _files(path: Path) -> tuple[list[Path], list[Problem]]:
    """The `.ann` and `.txt` files of a folder and all folders in it, and what could not be entered or opened."""
    files: list[Path] = []
    problems: list[Problem] = []

    def list_closed(error: OSError) -> None:
        if Path(error.filename) == path:
            raise CorpusError(f"cannot read {display_path(path)}: {error.strerror}") from error
        problems.append(Problem("missing text", f"cannot be read: {error.strerror}", display_path(error.filename)))

    for folder, below, names in os.walk(path, onerror=list_closed):
        links = [Path(folder, name) for name in below if Path(folder, name).is_symlink()]
        paths = [Path(folder, name) for name in names if name.lower().endswith((".ann", ".txt"))]
        files += [file for file in paths if file.is_file()]
        problems += [
            Problem("missing text", "it is a link to a folder; not read", display_path(link)) for link in links
        ]
        broken = (file for file in paths if file.is_symlink() and not file.exists())
        problems += [
            Problem("missing text", "it is a link to nothing; not read", display_path(file)) for file in broken
        ]
    return files, problems


def _text_file(annotations: Path, folders: _Folders) -> Path | None:
    """The text file of an `.ann` file, if there is one."""
    sibling = annotations.parent.parent / "text" / annotations.name
    return folders.beside(annotations, ".txt") or folders.beside(sibling, ".txt")


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
        if path.parent not in self._names:
            self._names[path.parent] = _names_by_ending(path.parent)
        name = self._names[path.parent].get(path.stem + ending)
        return path.with_name(name) if name else None


def _names_by_ending(folder: Path) -> dict[str, str]:
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.is_file())
    except OSError:  # there is no such folder
        return {}
    return {Path(name).stem + Path(name).suffix.lower(): name for name in names}


def _read_pair(annotation_file: Path, text_file: Path, id: str) -> Corpus:
    source, marks = Source(text_file), Source(annotation_file)
    problems = source.problems + marks.problems
    annotations = list(_annotations(marks, problems))
    draft = Draft(_best_reading(source, annotations), id=id, path=marks.name, line=1, problems=problems)
    for annotation in annotations:
        draft.add(annotation.fragments, annotation.label, annotation.line, text=annotation.text)
    return to_corpus([draft], problems, "brat")


def _annotations(marks: Source, problems: list[Problem]) -> Iterator[_Annotation]:
    for number, line in enumerate(marks.lines, 1):
        if not line.strip():
            continue
        if line[0] in _OTHER:
            name, shape = _OTHER[line[0]]
            if not shape.fullmatch(line):
                message = f"found {excerpt(line)}, which is no {name}; not read"
                problems.append(Problem("malformed", message, marks.name, number))
            continue
        columns = line.split("\t", 2)
        match = _TEXT_BOUND.fullmatch(columns[1]) if line.startswith("T") and len(columns) > 1 else None
        if match is None or max(map(len, re.split("[ ;]", match[2]))) > _MOST_DIGITS:
            message = f"found {excerpt(line)}, expected T1<tab>LABEL 0 4<tab>text"
            problems.append(Problem("malformed", message, marks.name, number))
            continue
        pairs = [pair.split(" ") for pair in match[2].split(";")]
        text = columns[2] if len(columns) > 2 else None
        yield _Annotation(number, match[1].strip(), [(int(start), int(end)) for start, end in pairs], text)


def _best_reading(source: Source, annotations: list[_Annotation]) -> str:
    """The reading of the text file that most annotations agree with; the plain one if several do."""
    readings = [source.text]
    if source.has_mark:
        readings.append("\ufeff" + source.text)
    if "\r\n" in source.text:
        readings += [reading.replace("\r\n", "\n") for reading in readings]
    return max(readings, key=lambda reading: sum(_fits(annotation, reading) for annotation in annotations))


def _fits(annotation: _Annotation, text: str) -> bool:
    """Whether a text holds what an annotation says, where it says so."""
    if annotation.text is None:
        return False
    characters = " ".join(text[max(start, 0) : max(end, 0)] for start, end in sorted(annotation.fragments))
    return have_same_words(annotation.text, characters, any_order=len(annotation.fragments) > 1)
