"""UIMA CAS, as XMI and as JSON: one text a file, with annotations of typed layers.

`layers.py` says which layers hold entities and what their labels are. Tokens and sentences are the document's words and
sentences. An XMI file needs a type system, the file `TypeSystem.xml` beside it; without one that of DKPro Core is
taken, and annotations of types that it does not have are listed. Each view with a text is a document. Relations and
links between annotations are left out.

Written is a folder: a file a document, for XMI with a `TypeSystem.xml`.
"""

import json
import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from nearspan.document import Document, Fragment
from nearspan.errors import CorpusError
from nearspan.formats.corpus import Corpus, Problem, excerpt
from nearspan.formats.draft import Draft, to_corpus
from nearspan.formats.extras import import_extra
from nearspan.formats.folder import file_names, files_that_end, order_changes, write_folder
from nearspan.formats.format import (
    ATTRIBUTES,
    Format,
    count_attributes,
    list_changes,
    refuse_entities,
    refuse_loss,
    unwritable,
)
from nearspan.formats.layers import (
    METADATA,
    NAMED_ENTITY,
    SENTENCE,
    TOKEN,
    VALUE,
    holds_entities,
    keeps,
    label_and_attributes,
    layer_of,
    short_name,
)
from nearspan.formats.source import Source
from nearspan.formats.xml_outline import look_through, read_declared, root_name
from nearspan.io.paths import display_path

_ENDINGS = {"cas": (".xmi", ".xmi.gz"), "cas-json": (".json", ".json.gz")}
_TYPE_SYSTEMS = ("TypeSystem.xml", "typesystem.xml", "TypeSystem.xml.gz", "full-typesystem.xml")
_JSON = re.compile(r'\s*\{\s*"%(?:TYPES|FEATURE_STRUCTURES|VIEWS|FLAGS)"\s*:')
_NAMESPACE = re.compile(r"https?:///?(.*)\.ecore")
_RELATION = {"Dependent", "Governor"}
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SCORE = "score"
_HEAD = 4096  # bytes in which a file says what it is


class _Mention(NamedTuple):
    """An annotation as it stands in a file: its type, and its line where that is known."""

    layer: str
    line: int


def read_xmi(source: Source) -> Corpus:
    """Read an XMI file, or a folder of such."""
    return _read(source, "cas", _read_xmi)


def read_json(source: Source) -> Corpus:
    """Read a file of CAS JSON, or a folder of such."""
    return _read(source, "cas-json", _read_json)


def detect_xmi(source: Source) -> bool:
    """Whether a path is an XMI file, or a folder that holds one."""
    return any(_begins(file, _is_xmi) for file in _files(source.path, "cas")[:1])


def detect_json(source: Source) -> bool:
    """Whether a path is a file of CAS JSON, or a folder that holds one."""
    return any(_begins(file, _is_json) for file in _files(source.path, "cas-json")[:1])


def write_xmi(corpus: Corpus, path: Path) -> tuple[Problem, ...]:
    """Write a folder with an XMI file for each document and a TypeSystem.xml."""
    for document in corpus:
        strings = (document.id, document.text, *(entity.label for entity in document.entities))
        for match in filter(None, map(_NO_XML.search, strings)):
            raise unwritable(document, f"it holds the character U+{ord(match[0]):04X}", "XML")

    def may_keep(name: str, value: Any) -> bool:
        return keeps(name, value) and not _NO_XML.search(value)

    cassis = import_extra("cassis", "cas", "UIMA CAS")
    types = _type_system(cassis, corpus, may_keep)
    texts = (_to_cas(cassis, types, document, may_keep).to_xmi() for document in corpus)
    return _write(corpus, path, ".xmi", texts, may_keep, [("TypeSystem.xml", [types.to_xml()])])


def write_json(corpus: Corpus, path: Path) -> tuple[Problem, ...]:
    """Write a folder with a file of CAS JSON for each document."""
    cassis = import_extra("cassis", "cas", "UIMA CAS")
    types = _type_system(cassis, corpus, keeps)
    texts = (_to_cas(cassis, types, document, keeps).to_json(pretty_print=True) for document in corpus)
    return _write(corpus, path, ".json", texts, keeps, [])


def _is_xmi(head: str) -> bool:
    return root_name(head).endswith((":XMI", "XMI")) or (root_name(head) != "" and "http://www.omg.org/XMI" in head)


def _is_json(head: str) -> bool:
    return _JSON.match(head) is not None


def _begins(path: Path, is_kind: Callable[[str], bool]) -> bool:
    """Whether a file begins as one of a kind does; without an error where it cannot be opened."""
    try:
        return path.is_file() and is_kind(Source(path).head(_HEAD))  # what a pipe holds can be read only once
    except CorpusError:
        return False


def _files(path: Path, format: str) -> list[Path]:
    return files_that_end(path, _ENDINGS[format]) if path.is_dir() else [path]


def _read(source: Source, format: str, read_file: Callable[[Source, str, Any], list[Draft]]) -> Corpus:
    cassis = import_extra("cassis", "cas", "UIMA CAS")
    if not source.path.is_dir():
        return to_corpus(read_file(source, display_path(Path(source.file).stem), cassis), source, format)
    parts: list[Corpus] = []
    for path in _files(source.path, format):
        file = Source(path, folder=source)
        name = path.relative_to(source.path).as_posix().removesuffix(".gz")
        drafts = read_file(file, display_path(name.rpartition(".")[0]), cassis)
        parts.append(refuse_loss(to_corpus(drafts, file, format), file))
    if not parts:
        raise CorpusError(f"{source.name} is a folder without {_ENDINGS[format][0]} files; name a folder that has some")
    return Corpus.merge(parts)


def _read_xmi(source: Source, id: str, cassis: Any) -> list[Draft]:
    mentions: dict[int, _Mention] = {}
    prefixes: dict[str, str] = {}

    def start(tag: str, attributes: dict[str, str], line: int, _byte: int) -> None:
        prefixes.update((name[6:], value) for name, value in attributes.items() if name.startswith("xmlns:"))
        prefix, _, name = tag.rpartition(":")
        match = _NAMESPACE.fullmatch(prefixes.get(prefix, ""))
        layer = f"{match[1].replace('/', '.')}.{name}" if match else name
        number = attributes.get("xmi:id", "")
        if _is_mention(layer, attributes, source) and number.isdecimal():
            mentions[int(number)] = _Mention(layer, line)

    data = look_through(read_declared(source)[0], source.name, "UIMA CAS XMI", start)
    types, lenient = _types_beside(source, cassis)
    cas = _load(lambda: cassis.load_cas_from_xmi(BytesIO(data), types, lenient=lenient), source, "UIMA CAS XMI")
    return _drafts(cas, mentions, source, id)


def _read_json(source: Source, id: str, cassis: Any) -> list[Draft]:
    what = "UIMA CAS JSON"
    try:
        record = json.loads(source.text)
    except (ValueError, RecursionError) as error:
        message = f"{source.name} looks like {what}, but is no JSON: {error}"
        raise CorpusError(f"{message}; correct it there, or export it again") from None
    structures = record.get("%FEATURE_STRUCTURES") if isinstance(record, dict) else None
    mentions: dict[int, _Mention] = {}
    for structure in structures if isinstance(structures, list) else ():
        if isinstance(structure, dict) and isinstance(structure.get("%ID"), int):
            layer = str(structure.get("%TYPE"))
            names = {name.lstrip("@"): "" for name in structure}
            if _is_mention(layer, names, source):
                mentions[structure["%ID"]] = _Mention(layer, 0)
    has_types = isinstance(record, dict) and isinstance(record.get("%TYPES"), dict)
    types = None if has_types else _types_beside(source, cassis)[0]
    cas = _load(lambda: cassis.load_cas_from_json(source.text, types, merge_typesystem=has_types), source, what)
    return _drafts(cas, mentions, source, id)


def _is_mention(layer: str, features: Mapping[str, str], source: Source) -> bool:
    """Whether a feature structure is an annotation that is read as an entity; relations are counted."""
    if not holds_entities(layer) or not ("begin" in features or "end" in features):
        return False
    if features.keys() >= _RELATION:
        source.leave_out("relations")
        return False
    return True


def _types_beside(source: Source, cassis: Any) -> tuple[Any, bool]:
    """The type system of a file, and whether others than its types are passed over, as it may be none of its own."""
    folder, root = source.path.parent, source.folder.path if source.folder else source.path.parent
    folders = [folder, *(above for above in folder.parents if above == root or root in above.parents)]
    names = (f"{Path(source.file).stem}.typesystem.xml", *_TYPE_SYSTEMS)
    paths = (above / name for above in folders for name in names)
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        return cassis.load_dkpro_core_typesystem(), True
    beside = Source(path)
    data = look_through(beside.read_bytes(), beside.name, "a UIMA type system")
    return _load(lambda: cassis.load_typesystem(BytesIO(data)), beside, "a UIMA type system"), True


def _load(load: Callable[[], Any], source: Source, what: str) -> Any:
    """What `cassis` makes of a file; whatever it cannot is an error that names the file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of offsets and types that are listed as problems
            return load()
    except Exception as error:  # it raises what its own code raises
        reason = excerpt(f"{type(error).__name__}: {error}", 200)
        message = f"{source.name} looks like {what}, but dkpro-cassis cannot read it ({reason})"
        raise CorpusError(
            f"{message}; export it again, with the TypeSystem.xml of the same project beside it"
        ) from None


def _drafts(cas: Any, mentions: dict[int, _Mention], source: Source, id: str) -> list[Draft]:
    """The views that have a text as drafts; annotations that are in none of them are listed."""
    source.count(len(mentions))
    rest = dict(mentions)
    texts = [view.sofa for view in cas.views if view.sofa.sofaString is not None]
    drafts: list[Draft] = []
    for sofa in texts:
        view = cas.get_view(sofa.sofaID)
        title = _title(view) or id
        draft = Draft(sofa.sofaString, source, 1, id=title if len(texts) == 1 else f"{title}#{sofa.sofaID}")
        drafts.append(draft)
        draft.words, draft.sentences = (_spans(view, name, draft) for name in ("Token", "Sentence"))
        for annotation in sorted(view.select_all_fs(), key=lambda structure: structure.xmiID or 0):
            if (mention := rest.pop(annotation.xmiID, None)) is not None:
                _add(draft, annotation, mention)
    for mention in rest.values():
        message = f"an annotation of the type {excerpt(mention.layer)} is in no text, or its type in no type system"
        lost = f"{message}; not read: put the TypeSystem.xml of its project beside the file"
        source.add_problem("malformed", lost, mention.line, lost=1)
    return drafts


def _add(draft: Draft, annotation: Any, mention: _Mention) -> None:
    begin, end = annotation.begin, annotation.end
    if not isinstance(begin, int) or not isinstance(end, int):
        message = f"an annotation of the type {excerpt(mention.layer)} has no begin or no end"
        return draft.add_problem("malformed", message, mention.line, lost=1)
    features: dict[str, Any] = {}
    links = 0
    for feature in annotation.type.all_features:
        value = getattr(annotation, feature.name, None)
        elements = getattr(value, "elements", None)
        name = feature.name.removesuffix("_")  # `cassis` puts it to names that Python needs
        if name in ("begin", "end", "sofa") or value is None:
            continue
        if isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
            features[name] = value
        elif isinstance(elements, list) and all(isinstance(element, str | int) for element in elements):
            features[name] = elements
        else:
            links += 1
    draft.source.leave_out("links of annotations", links)
    score = features.pop(_SCORE) if type(features.get(_SCORE)) is float else None
    label, attributes = label_and_attributes(mention.layer, features)
    return draft.add([(begin, end)], label, mention.line, score=score, attributes=attributes)


def _spans(view: Any, name: str, draft: Draft) -> list[Fragment] | None:
    """The words or sentences of a view, or None if it has none; listed if they are not in order."""
    types = [type.name for type in view.typesystem.get_types() if short_name(type.name) == name]
    places = sorted({(item.begin, item.end) for type in types for item in view.select(type) if item.end is not None})
    before = 0
    for begin, end in places:
        if begin is None or not before <= begin <= end <= len(draft.text):
            message = f"annotations of the type {name} overlap or are not within the text; they are left out"
            draft.add_problem("malformed", message)
            return None
        before = end
    return places or None


def _title(view: Any) -> str:
    """What the metadata of a text call it."""
    for type in view.typesystem.get_types():
        if short_name(type.name) == "DocumentMetaData":
            for data in view.select(type.name):
                titles = (getattr(data, name, None) for name in ("documentTitle", "documentId"))
                return next((title for title in titles if isinstance(title, str) and title), "")
    return ""


def _type_system(cassis: Any, corpus: Iterable[Document], may_keep: Callable[[str, Any], bool]) -> Any:
    """The types of what is written: words, sentences, metadata, and a layer with features for each kind of entity."""
    features: dict[str, dict[str, str]] = {NAMED_ENTITY: {"identifier": ""}}
    for document in corpus:
        for entity in document.entities:
            names = features.setdefault(layer_of(entity.attributes), {})
            names |= {name: "" for name, value in entity.attributes.items() if may_keep(name, value)}
            names |= {} if entity.score is None else {_SCORE: ""}
    types = cassis.TypeSystem()
    for name in (TOKEN, SENTENCE):
        types.create_type(name=name, supertypeName="uima.tcas.Annotation")
    metadata = types.create_type(name=METADATA, supertypeName="uima.tcas.DocumentAnnotation")
    for name in ("documentTitle", "documentId"):
        types.create_feature(metadata, name=name, rangeType="uima.cas.String")
    for layer, names in features.items():
        created = types.create_type(name=layer, supertypeName="uima.tcas.Annotation")
        types.create_feature(created, name=VALUE, rangeType="uima.cas.String")
        for name in names:
            if name != "layer":
                kind = "uima.cas.Double" if name == _SCORE else "uima.cas.String"
                types.create_feature(created, name=name, rangeType=kind)
    return types


def _to_cas(cassis: Any, types: Any, document: Document, may_keep: Callable[[str, Any], bool]) -> Any:
    refuse_entities(document, "UIMA CAS")
    cas = cassis.Cas(typesystem=types, sofa_string=document.text, sofa_mime="text/plain")
    cas.add(
        types.get_type(METADATA)(begin=0, end=len(document.text), documentTitle=document.id, documentId=document.id)
    )
    for name, places in ((TOKEN, document.words), (SENTENCE, document.sentences)):
        for begin, end in places or ():
            cas.add(types.get_type(name)(begin=begin, end=end))
    for entity in document.entities:
        features = {
            name: value for name, value in entity.attributes.items() if may_keep(name, value) and name != "layer"
        }
        if entity.score is not None:
            features[_SCORE] = entity.score
        layer = types.get_type(layer_of(entity.attributes))
        cas.add(layer(begin=entity.start, end=entity.end, **{VALUE: entity.label}, **features))
    return cas


def _write(
    corpus: Corpus,
    path: Path,
    suffix: str,
    texts: Iterator[str],
    may_keep: Callable[[str, Any], bool],
    others: list[tuple[str, list[str]]],
) -> tuple[Problem, ...]:
    names = list(file_names(corpus, (suffix,)))
    files = ((name + suffix, [text]) for name, text in zip(names, texts, strict=True))
    write_folder(path, [*others, *files])
    changes = order_changes([name + suffix for name in names])
    return list_changes(path, changes | {ATTRIBUTES: count_attributes(corpus, may_keep)})


XMI = Format("cas", read_xmi, detect_xmi, write_xmi, folder=True, discontinuous=False)
JSON = Format("cas-json", read_json, detect_json, write_json, folder=True, discontinuous=False)
