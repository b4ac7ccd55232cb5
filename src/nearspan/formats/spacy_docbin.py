"""spaCy's binary files of documents (`.spacy`, DocBin): `ents` and every group of `spans`.

Entities of span groups have these in their attribute `groups`; "ents" is among them where an entity is there too. The
scores of a group, as the span categoriser leaves them in its attributes, are scores. Identifiers are the attributes
`kb_id` and `id`. Needs spaCy: `pip install 'nearspan[spacy]'`.
"""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from nearspan.document import Document, Entity
from nearspan.errors import CorpusError
from nearspan.formats.corpus import Corpus, Problem
from nearspan.formats.draft import Draft, to_corpus
from nearspan.formats.extras import import_extra
from nearspan.formats.format import Format, list_changes, refuse_entities, unwritable
from nearspan.formats.source import Source, most_unpacked
from nearspan.formats.spacy_tokens import SpacyTokens, count_unkept, place, sentences_of
from nearspan.io.atomic import write_file

_ID = "id"  # of a document, in its user data
_READ = ("ORTH", "HEAD", "ENT_IOB", "ENT_TYPE", "ENT_KB_ID", "ENT_ID", "SENT_START")

Place = tuple[int, int, str]  # first token, the one after the last, label


def read(source: Source) -> Corpus:
    """Read the documents of a DocBin."""
    tokens = import_extra("spacy.tokens", "spacy", f"{source.name}, a .spacy file of documents,")
    vocab = import_extra("spacy.vocab", "spacy", source.name).Vocab()
    data = source.read_bytes()
    most = most_unpacked(len(data))
    if len(_unpack(data, most + 1)) > most:
        raise CorpusError(f"{source.name} unpacks to more than {most:,} bytes from {len(data):,}, as no documents do")
    drafts: list[Draft] = []
    try:
        file = tokens.DocBin().from_bytes(data)
        _keep_columns(file)
        drafts += [_read(doc, number, source) for number, doc in enumerate(file.get_docs(vocab), 1)]
    except CorpusError:
        raise
    except Exception as error:  # whatever spaCy raises for a damaged file
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        message = f"{source.name} looks like a .spacy file of documents, but spaCy cannot read it"
        raise CorpusError(f"{message}: {reason}; write it again with DocBin.to_disk") from None
    return to_corpus(drafts, source, "spacy")


def detect(source: Source) -> bool:
    """Whether a file is a compressed map that has the first key of a DocBin."""
    return source.first_bytes[:1] == b"\x78" and b"\xa7version" in _unpack(source.first_bytes, 64)


def write(corpus: Corpus, path: Path) -> tuple[Problem, ...]:
    """Write a DocBin; discontinuous entities do not fit."""
    spacy = import_extra("spacy.tokens", "spacy", "writing a .spacy file")
    vocab = import_extra("spacy.vocab", "spacy", "writing a .spacy file").Vocab()
    file = spacy.DocBin(store_user_data=True)
    changes = count_unkept(corpus, ["kb_id", "id"])
    for document in corpus:
        refuse_entities(document, "spacy")
        tokens = SpacyTokens.of(document)
        changes.update(tokens.changes)
        file.add(_doc(document, tokens, spacy, vocab))
        changes["scores not kept"] += sum(entity.score is not None for entity in place(document)[""])
    write_file(path, [file.to_bytes()])
    return list_changes(path, changes)


def _unpack(data: bytes, size: int) -> bytes:
    """The first bytes that compressed data holds; none if it is damaged."""
    with suppress(zlib.error):
        return zlib.decompressobj().decompress(data, size)
    return b""


def _keep_columns(file: Any) -> None:
    """Leave out the columns that are not read, as spaCy does not check what is in them, and check those that are."""
    numbers = import_extra("spacy.attrs", "spacy", "a .spacy file of documents").IDS
    wanted = [numbers[name] for name in _READ if not (name == "HEAD" and numbers["SENT_START"] in file.attrs)]
    kept = [index for index, attribute in enumerate(file.attrs) if attribute in wanted]
    if not kept or file.attrs[kept[0]] != numbers["ORTH"]:
        raise CorpusError("the words are missing from a .spacy file of documents; write it again with DocBin.to_disk")
    names = [file.attrs[index] for index in kept]
    file.attrs = names
    file.tokens = [tokens[:, kept] for tokens in file.tokens]
    lengths = {len(file.tokens), len(file.spaces), len(file.cats), len(file.span_groups), len(file.flags)}
    for tokens, spaces in zip(file.tokens, file.spaces, strict=False):
        columns = {name: tokens[:, index].astype("int64") for index, name in enumerate(names)}
        size = len(tokens)
        heads = columns.get(numbers["HEAD"])
        iob = columns.get(numbers["ENT_IOB"])
        wrong = heads is not None and any(not 0 <= at + head < size for at, head in enumerate(heads.tolist()))
        wrong = wrong or (iob is not None and any(not 0 <= value <= 3 for value in iob.tolist()))
        if wrong or len(spaces) != size or len(lengths) > 1:
            raise ValueError("its columns do not belong together")


def _read(doc: Any, number: int, source: Source) -> Draft:
    data: Any = doc.user_data.get(_ID)
    id = data if isinstance(data, str) else f"{source.file}#{number}"
    text: str = doc.text  # spaCy makes it anew each time
    draft = Draft(text, source, number, id=id)
    offsets = [(token.idx, token.idx + len(token)) for token in doc]
    draft.words = [(start, end) for start, end in offsets if text[start:end].strip()]
    if len(doc) < 2 or doc.has_annotation("SENT_START"):
        starts = [0, *(token.i for token in doc if token.i and token.is_sent_start)]
        draft.sentences = sentences_of(text, offsets, starts)
    spans, scores = _spans(doc)
    source.count(len(spans))
    for (start, end, label), (groups, attributes) in spans.items():
        known = attributes if groups == ["ents"] else attributes | {"groups": groups}
        score = scores.get((start, end, label))
        draft.add_words([(start, end)], offsets, label, score=score, attributes=known)
    if doc.cats:
        source.leave_out("documents with categories")
    return draft


def _spans(doc: Any) -> tuple[dict[Place, tuple[list[str], dict[str, Any]]], dict[Place, float]]:
    """Entities with the groups that they are in and their attributes, and their scores."""
    spans: dict[Place, tuple[list[str], dict[str, Any]]] = {}
    scores: dict[Place, float] = {}
    groups: list[tuple[str, Iterable[Any], Sequence[Any]]] = [("ents", doc.ents, ())]
    groups += [(name, group, group.attrs.get("scores", ())) for name, group in doc.spans.items()]
    for name, items, given in groups:
        items = list(items)
        for index, span in enumerate(items):
            place_of_span = (span.start, span.end, span.label_)
            names, attributes = spans.setdefault(place_of_span, ([], {}))
            names += [] if name in names else [name]
            attributes |= {key: value for key, value in (("kb_id", span.kb_id_), ("id", span.id_)) if value}
            with suppress(TypeError, ValueError):
                if len(given) == len(items):
                    scores[place_of_span] = float(given[index])
    return spans, scores


def _doc(document: Document, tokens: SpacyTokens, spacy: Any, vocab: Any) -> Any:
    words = [document.text[start:end] for start, end in tokens.offsets]
    starts = None if tokens.sentence_starts is None else set(tokens.sentence_starts)
    flags = None if starts is None else [index in starts for index in range(len(words))]
    doc = spacy.Doc(vocab, words=words, spaces=tokens.spaces, sent_starts=flags)
    for name, entities in place(document).items():
        spans = list(_to_spans(doc, entities, tokens, spacy))
        if name:
            doc.spans[name] = spans
            if all(entity.score is not None for entity in entities):
                doc.spans[name].attrs["scores"] = [entity.score for entity in entities]
        elif any(before.end > after.start for before, after in pairwise(sorted(spans, key=lambda span: span.start))):
            raise unwritable(document, "two entities of the group 'ents' share words", "spacy")
        else:
            doc.set_ents(spans)
    if document.id:
        doc.user_data[_ID] = document.id
    return doc


def _to_spans(doc: Any, entities: Iterable[Entity], tokens: SpacyTokens, spacy: Any) -> Iterator[Any]:
    for entity in entities:
        kb_id, id = (value if isinstance(value := entity.attributes.get(key), str) else "" for key in ("kb_id", "id"))
        first, stop = tokens.span(entity)
        yield spacy.Span(doc, first, stop, label=entity.label, kb_id=kb_id, span_id=id)


FORMAT = Format("spacy", read, detect, write, endings=(".spacy",), discontinuous=False, binary=True)
