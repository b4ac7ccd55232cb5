"""The texts to review: each sentence once, however often it occurs."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

from nearspan.document import Document
from nearspan.model import Model


@dataclass(frozen=True)
class PoolText:
    """A sentence to review. What is equal in its characters is one text, with one answer."""

    id: str  # made of its characters, so that every process knows it by the same
    document: Document  # the sentence alone, without entities; it is named after the document that it is from
    names: tuple[str, ...]  # of its occurrences, for export


def collect_texts(model: Model, documents: Iterable[Document | str]) -> dict[str, PoolText]:
    """The sentences of documents by their ids, in order; entities that the documents have are not looked at."""
    texts: dict[str, tuple[Document, list[str]]] = {}
    for number, given in enumerate(documents, start=1):
        document = given if isinstance(given, Document) else Document(given)
        name = document.id or f"text-{number}"
        sentences = model.split(document)
        for sentence in sentences:
            id = text_id(sentence.text)
            if id not in texts:
                texts[id] = sentence.to_document(name), []
            texts[id][1].append(name if len(sentences) == 1 else f"{name}:{sentence.index}")
    return {id: PoolText(id, document, tuple(names)) for id, (document, names) in texts.items()}


def text_id(text: str) -> str:
    """What a text is known by.

    >>> text_id("Oslo is cold.")
    '5492b1c3b82614ed'
    """
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
