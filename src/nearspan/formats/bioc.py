"""BioC, as XML and as JSON: documents of passages, and annotations with a type and other `infons`.

The text of a document is its passages at their offsets, with newlines between them. An annotation's label is its infon
`type`; its other infons, such as the concept's `identifier`, are its attributes, and an infon `score` its score.
Several locations make it discontinuous. A document has no place for the infons of collections, documents and passages,
nor for relations: these are listed as left out.

Written are documents of one passage.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from nearspan.document import NO_ATTRIBUTES, Attributes, Document, Entity, Fragment
from nearspan.errors import CorpusError
from nearspan.formats.corpus import Corpus, Problem, excerpt
from nearspan.formats.draft import Draft, to_corpus
from nearspan.formats.extras import import_extra
from nearspan.formats.format import Format, list_changes, plain_text_changes, refuse_entities, unwritable
from nearspan.formats.layout import Layout
from nearspan.formats.source import Source
from nearspan.formats.xml_outline import look_through, read_declared, root_name
from nearspan.io.atomic import write_file

_TYPE, _SCORE = "type", "score"
_HOLDERS = ("document", "passage", "sentence")
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PASSAGES = re.compile(r'"passages"\s*:\s*\[')
_COLLECTION = re.compile(r'"(?:documents|infons|bioctype|PubTator3)"\s*:')
_HEAD = 1 << 16  # characters in which a JSON file says that it is BioC
_ERRORS = (AttributeError, KeyError, LookupError, RuntimeError, TypeError, ValueError)  # of `bioc`, about wrong files


class _Slice(NamedTuple):
    """A document of an XML file: its line, its bytes, and how many annotations it holds."""

    line: int
    data: bytes
    annotations: int


def read_xml(source: Source) -> Corpus:
    """Read a BioC XML file; each document is parsed for itself, so that a wrong one costs no other."""
    biocxml = import_extra("bioc.biocxml", "bioc", "BioC XML")
    drafts: list[Draft] = []
    encoding, slices = _slices(source)
    for number, (line, data, annotations) in enumerate(slices, 1):
        source.count(annotations)
        if encoding != "UTF-8":  # one that expat knows and the parser of `bioc` may not
            data = data.decode(encoding, "replace").encode()
        wrapped = b"<collection>" + data + b"</collection>"

        def load(wrapped: bytes = wrapped) -> Any:
            return biocxml.load(BytesIO(wrapped)).documents[0]

        drafts += _read_document(load, source, line, number, annotations)
    return to_corpus(drafts, source, "bioc")


def read_json(source: Source) -> Corpus:
    """Read BioC JSON: a collection, one document, a list of documents, or a document a line."""
    biocjson = import_extra("bioc.biocjson", "bioc", "BioC JSON")
    drafts: list[Draft] = []
    for number, (line, record) in enumerate(_records(source), 1):
        annotations = _count_annotations(record)
        source.count(annotations)
        _leave_out(record, source)

        def load(record: Any = record) -> Any:
            return biocjson.fromJSON(_complete(record), "BioCDocument")

        drafts += _read_document(load, source, line, number, annotations)
    return to_corpus(drafts, source, "bioc-json")


def detect_xml(source: Source) -> bool:
    """Whether the outermost element is a collection, with documents in it if there is anything."""
    return root_name(source.sample) == "collection"


def detect_json(source: Source) -> bool:
    """Whether the beginning of a JSON text names passages and what BioC has beside them."""
    head = source.sample[:_HEAD]
    return head.lstrip()[:1] in ("{", "[") and bool(_PASSAGES.search(head)) and bool(_COLLECTION.search(head))


def write_xml(corpus: Corpus, path: Path) -> tuple[Problem, ...]:
    """Write a collection as XML, a passage for each document."""
    for document in corpus:
        if (match := _NO_XML.search(document.id + document.text)) is not None:
            raise unwritable(document, f"it holds the character U+{ord(match[0]):04X}", "XML")
        for entity in document.entities:
            if (match := _NO_XML.search(entity.label)) is not None:
                raise unwritable(document, f"a label holds the character U+{ord(match[0]):04X}", "XML")
    biocxml = import_extra("bioc.biocxml", "bioc", "BioC XML")
    text = biocxml.dumps(_collection(corpus, keeps=_keeps_in_xml))
    write_file(path, [text if text.endswith("\n") else text + "\n"])
    return list_changes(path, plain_text_changes(corpus, _ids(corpus), "bioc", _keeps_in_xml) | {"scores not kept": 0})


def write_json(corpus: Corpus, path: Path) -> tuple[Problem, ...]:
    """Write a collection as JSON, a passage for each document."""
    biocjson = import_extra("bioc.biocjson", "bioc", "BioC JSON")
    collection = _collection(corpus, keeps=_keeps_in_json)
    write_file(path, [biocjson.dumps(collection, ensure_ascii=False, indent=1), "\n"])
    changes = plain_text_changes(corpus, _ids(corpus), "bioc-json", _keeps_in_json)
    return list_changes(path, changes | {"scores not kept": 0})


def _slices(source: Source) -> tuple[str, list[_Slice]]:
    """The encoding of an XML file, and its documents; annotations that are in none are listed."""
    data, encoding = read_declared(source)
    stack: list[str] = []
    slices: list[_Slice] = []
    begin = line_of_document = annotations = 0

    def start(tag: str, _attributes: dict[str, str], line: int, byte: int) -> None:
        nonlocal begin, line_of_document, annotations
        if tag == "document" and stack == ["collection"]:
            begin, line_of_document, annotations = byte, line, 0
        elif tag == "annotation" and stack[-1:] and stack[-1] in _HOLDERS and stack[1:2] == ["document"]:
            annotations += 1
        elif tag == "annotation":
            source.count(1)
            source.add_problem("malformed", "an annotation outside of documents and passages; not read", line, lost=1)
        elif tag == "relation":
            source.leave_out("relations")
        elif tag == "infon" and stack[-1:] and stack[-1] in ("collection", *_HOLDERS):
            source.leave_out(f"infons of {stack[-1]}s")
        stack.append(tag)

    def end(tag: str, byte: int) -> None:
        stack.pop()
        if tag == "document" and stack == ["collection"]:
            slices.append(_Slice(line_of_document, data[begin:byte], annotations))

    look_through(data, source.name, "BioC XML", start, end)
    return encoding, slices


def _records(source: Source) -> Iterator[tuple[int, Any]]:
    """The documents of a JSON file, each with its line where that is known."""
    try:
        values = [(1, json.loads(source.text))]
    except (ValueError, RecursionError) as error:
        lines = [(number, line) for number, line in enumerate(source.lines, 1) if line.strip()]
        values = []
        for number, line in lines:
            try:
                values.append((number, json.loads(line)))
            except (ValueError, RecursionError):
                if len(lines) == 1 or number == lines[0][0]:
                    message = f"{source.name} looks like BioC JSON, but is no JSON: {error}"
                    raise CorpusError(f"{message}; correct it there, or export it again") from None
                source.count(1)  # it may hold any number
                source.add_problem("malformed", "not JSON; the line is not read", number, lost=1)
    for number, value in values:
        for key in ("PubTator3", "documents"):
            if isinstance(value, dict) and isinstance(value.get(key), list):
                if isinstance(value.get("infons"), dict) and value["infons"]:
                    source.leave_out("infons of collections", len(value["infons"]))
                value = value[key]
        for record in value if isinstance(value, list) else [value]:
            yield number, record


def _read_document(
    load: Callable[[], Any], source: Source, line: int, number: int, annotations: int
) -> Iterator[Draft]:
    """The document that `bioc` loads; one that it cannot load is listed with its annotations."""
    before = len(source.problems)
    try:
        yield _draft(load(), source, line, f"{source.file}#{number}")
    except _ERRORS as error:
        del source.problems[before:]
        reason = f"{type(error).__name__}: {error}"
        message = f"the document is no BioC ({excerpt(reason, 120)}); it is not read"
        source.add_problem("malformed", message, line, lost=annotations)


def _draft(document: Any, source: Source, line: int, name: str) -> Draft:
    """A document as a draft: first its text, then its annotations."""
    layout = Layout()
    annotations: list[tuple[Any, int | None]] = []  # with how far their piece was moved
    sentences: list[Fragment] = []
    for passage in document.passages:
        begin = _whole(passage.offset)
        if not passage.text and passage.sentences:
            for sentence in passage.sentences:
                offset = _whole(sentence.offset)
                start = layout.place(offset, sentence.text or "")
                sentences.append((start, layout.size))
                annotations += [(annotation, start - offset) for annotation in sentence.annotations]
            annotations += [(annotation, None) for annotation in passage.annotations]
            continue
        moved = layout.place(begin, passage.text or "") - begin
        annotations += [(annotation, moved) for annotation in passage.annotations]
        for sentence in passage.sentences:
            start = _whole(sentence.offset) + moved
            sentences.append((start, start + len(sentence.text or "")))
            annotations += [(annotation, moved) for annotation in sentence.annotations]
    annotations += [(annotation, None) for annotation in document.annotations]
    id = document.id if isinstance(document.id, str | int) else ""
    draft = Draft(layout.text, source, line, id=str(id) or name)
    if not layout.fits:
        draft.add_problem(
            "malformed", "passages overlap or are far apart; their offsets are taken from where they begin"
        )
    draft.sentences = _in_order(sentences, draft)
    for annotation, shift in annotations:
        places = [(_whole(place.offset), _whole(place.length)) for place in annotation.locations]
        starts = [layout.resolve(offset) if shift is None else offset + shift for offset, _ in places]
        lengths = [length for _, length in places]
        _add(draft, annotation, [(start, start + length) for start, length in zip(starts, lengths, strict=True)])
    return draft


def _add(draft: Draft, annotation: Any, fragments: list[Fragment]) -> None:
    infons = {str(key): "" if value is None else value for key, value in annotation.infons.items()}
    label, score = infons.pop(_TYPE, ""), None
    with suppress(ValueError, TypeError):
        score = float(infons.get(_SCORE, "nan"))
    if score is None or not math.isfinite(score):
        score = None
    else:
        del infons[_SCORE]
    attributes = NO_ATTRIBUTES
    try:
        attributes = Attributes(infons)
    except ValueError:
        draft.add_problem("malformed", f"infons are no values of JSON; read without them: {excerpt(repr(infons))}")
    text = annotation.text if isinstance(annotation.text, str) else None
    draft.add(fragments, label if isinstance(label, str) else str(label), text=text, score=score, attributes=attributes)


def _in_order(sentences: list[Fragment], draft: Draft) -> Sequence[Fragment] | None:
    """Sentences if they are in order and within the text; otherwise that is listed."""
    before = 0
    for start, end in sentences:
        if not before <= start <= end <= len(draft.text):
            draft.add_problem("malformed", "the sentences are not in order within the text; they are left out")
            return None
        before = end
    return sentences or None


def _whole(value: Any) -> int:
    """A whole number; JSON files have it as a string as well."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(f"found {value!r}, expected a whole number")
    return int(value)


def _holders(record: Any) -> Iterator[dict[str, Any]]:
    """A document of JSON, its passages and their sentences."""
    if not isinstance(record, dict):
        return
    yield record
    for key in ("passages", "sentences"):
        inner = record.get(key)
        for item in inner if isinstance(inner, list) else []:
            yield from _holders(item)


def _count_annotations(record: Any) -> int:
    lists = (holder.get("annotations") for holder in _holders(record))
    return sum(len(items) for items in lists if isinstance(items, list))


def _leave_out(record: Any, source: Source) -> None:
    """Count what a document of JSON says and ours has no place for."""
    for holder in _holders(record):
        kind = "documents" if holder is record else "sentences" if "sentences" not in holder else "passages"
        relations, infons = holder.get("relations"), holder.get("infons")
        source.leave_out("relations", len(relations) if isinstance(relations, list) else 0)
        source.leave_out(f"infons of {kind}", len(infons) if isinstance(infons, dict) else 0)


def _complete(record: Any) -> Any:
    """A document of JSON with the keys that `bioc` asks for and PubTator leaves out; what it cannot hold is counted."""
    for holder in _holders(record):
        for key in ("annotations", "relations", "sentences", "passages"):
            holder[key] = holder.get(key) or []
        holder["infons"] = holder.get("infons") or {}
        holder.setdefault("id", "")
        holder.setdefault("offset", 0)
        for annotation in holder["annotations"]:
            annotation.setdefault("id", "")
            annotation.setdefault("text", None)
            annotation["infons"] = annotation.get("infons") or {}
        holder["relations"] = []
    return record


def _ids(corpus: Corpus) -> list[str]:
    """The ids that documents are written with, which are theirs."""
    return [document.id for document in corpus]


def _keeps_in_xml(name: str, value: Any) -> bool:
    return (
        name not in (_TYPE, _SCORE)
        and isinstance(value, str)
        and not _NO_XML.search(name + value)
        and not set(name) & set("\t\r\n")  # which a parser makes blanks of
    )


def _keeps_in_json(name: str, value: Any) -> bool:
    return name not in (_TYPE, _SCORE) and value is not None


def _collection(corpus: Iterable[Document], keeps: Callable[[str, Any], bool]) -> Any:
    bioc = import_extra("bioc", "bioc", "BioC")
    collection = bioc.BioCCollection()
    collection.source, collection.date, collection.key = "nearspan", "", ""
    for document in corpus:
        refuse_entities(document, "BioC", discontinuous=True)
        passage = bioc.BioCPassage()
        passage.offset, passage.text = 0, document.text
        numbers = count(1)
        for entity in document.entities:
            passage.add_annotation(_annotation(bioc, entity, next(numbers), keeps))
        written = bioc.BioCDocument()
        written.id = document.id
        written.add_passage(passage)
        collection.add_document(written)
    return collection


def _annotation(bioc: Any, entity: Entity, number: int, keeps: Callable[[str, Any], bool]) -> Any:
    annotation = bioc.BioCAnnotation()
    annotation.id, annotation.text = f"T{number}", entity.text
    attributes = Attributes({name: value for name, value in entity.attributes.items() if keeps(name, value)})
    score = {} if entity.score is None else {_SCORE: repr(entity.score)}
    annotation.infons = {_TYPE: entity.label} | score | attributes.to_dict()
    for start, end in entity.fragments:
        annotation.add_location(bioc.BioCLocation(start, end - start))
    return annotation


XML = Format("bioc", read_xml, detect_xml, write_xml, endings=(".xml", ".bioc"))
JSON = Format("bioc-json", read_json, detect_json, write_json, endings=(".biocjson",))
