"""INCEpTION: the CAS of a document, to and from documents.

cassis counts in code points what UIMA counts in UTF-16 units.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from itertools import chain

from nearspan.document import Document, Entity, Fragment, count_of
from nearspan.errors import CorpusError, ResourceError, first_line
from nearspan.formats.layers import SENTENCE, TOKEN
from nearspan.formats.xml_outline import look_through

try:
    from cassis import Cas, load_cas_from_xmi, load_typesystem
except ImportError as error:
    raise ResourceError(
        f"reading a CAS needs {error.name}, which is not installed: pip install 'nearspan[cas]'"
    ) from error

PREDICTED = "inception_internal_predicted"  # marks what a recommender adds
SCORE, EXPLANATION = "_score", "_score_explanation"  # follow the feature's name


@dataclass
class Layer:
    """A layer of spans, the feature that holds their labels, and a CAS that has both."""

    cas: Cas
    name: str
    feature: str
    problems: list[str] = field(default_factory=list)  # what cannot be remembered

    @classmethod
    def read(cls, type_system: str, xmi: str, name: str, feature: str) -> "Layer":
        """A CAS as a recommender gets it; an error says what is wrong with it."""
        try:
            types, data = (BytesIO(look_through(part.encode(), "the CAS", "XML")) for part in (type_system, xmi))
            cas = load_cas_from_xmi(data, load_typesystem(types))
            cas.sofa_string.encode()
            layer = cas.typesystem.get_type(name)
        except CorpusError:
            raise
        except Exception as error:  # cassis and lxml raise what they like
            raise CorpusError(f"the CAS cannot be read: {first_line(error)}") from error
        kind = layer.get_feature(feature)
        if layer.get_feature("begin") is None or kind is None or kind.rangeType.name != "uima.cas.String":
            raise CorpusError(f"{feature!r} of the layer {name} is no text: recommend a string feature of a span layer")
        size = len(cas.sofa_string)
        kinds = [kind for kind in (name, TOKEN, SENTENCE) if cas.typesystem.contains_type(kind)]
        for each in chain.from_iterable(map(cas.select, kinds)):
            if each.begin is None or each.end is None or not 0 <= each.begin <= each.end <= size:
                where = f"at {each.begin}-{each.end} of a text of {size} characters"
                raise CorpusError(f"the CAS cannot be read: an annotation of the type {each.type.name} is {where}")
        return cls(cas, name, feature)

    @property
    def text(self) -> str:
        """The document's text."""
        return str(self.cas.sofa_string)

    def to_document(self) -> Document:
        """The text in the CAS's words and sentences, without its annotations."""
        try:
            return Document(self.text, (), "", self._edges(TOKEN), self._edges(SENTENCE))
        except ValueError as error:
            raise CorpusError(f"the CAS cannot be read: {error}") from error

    def annotated_sentences(self, prefix: str) -> Iterator[Document]:
        """The sentences that hold an annotation of the layer, as documents; those without may not have been looked at.

        A sentence's id is the prefix with the sentence's first character.
        """
        entities = [
            Entity.of(each.begin, each.end, str(each.get(self.feature)))
            for each in self.cas.select(self.name)
            if each.get(self.feature) and each.begin < each.end and not each.get(PREDICTED)
        ]
        words, text = self._edges(TOKEN), self.text
        for start, end in self._edges(SENTENCE) or ((0, len(text)),):
            inside = {Entity(e.span.shift(-start), e.label) for e in entities if start <= e.start and e.end <= end}
            entities = [entity for entity in entities if not (start <= entity.start and entity.end <= end)]
            if inside:
                tokens = None
                if words is not None:
                    tokens = tuple((a - start, b - start) for a, b in words if start <= a and b <= end)
                edges = ((0, end - start),)
                yield Document(text[start:end], tuple(sorted(inside)), f"{prefix}{start}", tokens, edges)
        if entities:
            count = count_of(len(entities), "annotation reaches", "annotations reach")
            self.problems.append(f"{count} beyond a sentence and cannot be remembered")

    def add_predictions(self, document: Document, notes: Sequence[str]) -> str:
        """The CAS with a document's contiguous entities as predictions, as XMI."""
        kind = self.cas.typesystem.get_type(self.name)
        for entity, note in zip(document.entities, notes, strict=True):
            if entity.span.discontinuous:
                continue
            marks = {PREDICTED: True, f"{self.feature}{SCORE}": entity.score, f"{self.feature}{EXPLANATION}": note}
            values = {name: value for name, value in marks.items() if kind.get_feature(name) is not None}
            self.cas.add(kind(begin=entity.start, end=entity.end, **{self.feature: entity.label}, **values))
        return str(self.cas.to_xmi())

    def _edges(self, kind: str) -> tuple[Fragment, ...] | None:
        """The spans of a type that are not empty; None where the CAS has none."""
        if not self.cas.typesystem.contains_type(kind):
            return None
        return tuple((each.begin, each.end) for each in self.cas.select(kind) if each.begin < each.end) or None
