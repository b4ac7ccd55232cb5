"""Label Studio: its labelling configurations, tasks and regions, to and from documents.

Label Studio counts characters in code points, as we do. A region carries its own text, so one that was counted in
UTF-16 units, as scripts in a browser do, is recognised and converted.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

from nearspan.document import Document, Entity, Fragment, Span
from nearspan.errors import ConfigError, CorpusError
from nearspan.formats.utf16 import utf16_offsets
from nearspan.formats.xml_outline import look_through

FRAGMENT = "fragment"  # the relation that joins the parts of a discontinuous entity
_KEY = re.compile(r"\$([\w-]+(?:\.[\w-]+)*)")
_EXAMPLE = (
    '<View><Labels name="label" toName="text"><Label value="PERSON"/></Labels><Text name="text" value="$text"/></View>'
)


@dataclass(frozen=True)
class TextTag:
    """A text of each task, and the labels that its regions may have."""

    name: str
    key: tuple[str, ...]  # where it stands in a task's data
    controls: Mapping[str, str]  # by label, the name of the tag that offers it
    any_label: str = ""  # a tag that takes its labels from the task's data, so that there may be any

    def read(self, task: Mapping[str, Any]) -> str | None:
        """The text of a task; None where it has none.

        >>> TextTag("text", ("body", "en"), {}).read({"data": {"body": {"en": "Ada wrote."}}})
        'Ada wrote.'
        """
        value: Any = task.get("data")
        for key in self.key:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value if isinstance(value, str) else None


@dataclass(frozen=True)
class LabellingConfig:
    """What of a project's labelling configuration concerns entities: its texts, and their labels."""

    texts: tuple[TextTag, ...]
    joins_fragments: bool = False  # whether its relations can say that regions are parts of an entity

    @classmethod
    def parse(cls, xml: str) -> "LabellingConfig":
        """Read a configuration; an error says what it lacks.

        >>> config = LabellingConfig.parse(_EXAMPLE)
        >>> config.texts[0].key, config.labels
        (('text',), frozenset({'PERSON'}))
        """
        try:
            root = ElementTree.fromstring(look_through(xml.encode(errors="replace"), "the configuration", "XML"))
        except CorpusError as error:
            raise ConfigError(str(error)) from error
        texts: list[TextTag] = []
        for tag in root.iter("Text"):
            name, key = tag.get("name", ""), _KEY.fullmatch(tag.get("value", ""))
            controls, any_label = _read_controls(root, name)
            if key and tag.get("valueType", "text") == "text" and (controls or any_label):
                texts.append(TextTag(name, tuple(key[1].split(".")), controls, any_label))
        if not texts:
            raise ConfigError(
                "the labelling configuration has no <Labels> whose toName is a <Text> with a value such as $text; "
                f"entities need both: {_EXAMPLE}"
            )
        relations = {relation.get("value") for relation in root.iter("Relation")}
        return cls(tuple(texts), FRAGMENT in relations)

    @property
    def labels(self) -> frozenset[str]:
        """All labels that its tags list."""
        return frozenset(label for text in self.texts for label in text.controls)

    def compare_labels(self, labels: Collection[str], may_have: Callable[[str], bool]) -> list[str]:
        """What a person should know about this configuration and a model's labels; nothing where they agree.

        `may_have` says whether a label that the model lacks can become one of its labels.

        >>> LabellingConfig.parse(_EXAMPLE).compare_labels(["PERSON", "PLACE"], lambda label: False)
        ['the project has no label PLACE: entities that the model finds with it are not shown']
        """
        if any(text.any_label for text in self.texts):
            return []
        messages = []
        if missing := sorted(set(labels) - self.labels):
            messages.append(
                f"the project has no label {', '.join(missing)}: entities that the model finds with it are not shown"
            )
        unknown = sorted(self.labels - set(labels))
        if new := [label for label in unknown if may_have(label)]:
            messages.append(
                f"the model has no label {', '.join(new)} yet: it has it from the first saved region with it on"
            )
        if impossible := [label for label in unknown if not may_have(label)]:
            messages.append(
                f"the model has no label {', '.join(impossible)} and can have no new ones: it is never predicted, and "
                "regions with it are not remembered as entities"
            )
        return messages

    def offers(self, label: str) -> bool:
        """Whether a region may have the label."""
        return label in self.labels or any(text.any_label for text in self.texts)


def _read_controls(root: ElementTree.Element, name: str) -> tuple[dict[str, str], str]:
    """The tags that label a text: their names by label, and that of one whose labels come from the task's data."""
    controls: dict[str, str] = {}
    any_label = ""
    for tag in root.iter("Labels"):
        if name not in re.split(r"\s*,\s*", tag.get("toName", "").strip()):
            continue
        if tag.get("value", "").startswith("$"):
            any_label = tag.get("name", "")
        for label in tag.iter("Label"):
            controls.setdefault(label.get("alias") or label.get("value") or "", tag.get("name", ""))
    controls.pop("", None)
    return controls, any_label


def write_regions(
    text: TextTag, document: Document, notes: Sequence[str], joins_fragments: bool
) -> list[dict[str, Any]]:
    """The entities of a document as regions, those with labels that the project lacks left out.

    `notes` say what each rests on. A discontinuous entity is a region for each fragment and relations between them; it
    is left out where the project has no such relation.

    >>> tag = TextTag("text", ("text",), {"PERSON": "label"})
    >>> document = Document("Ada wrote.", (Entity.of(0, 3, "PERSON", score=0.9),))
    >>> [region] = write_regions(tag, document, ["as in training"], joins_fragments=False)
    >>> region["value"]
    {'start': 0, 'end': 3, 'text': 'Ada', 'labels': ['PERSON']}
    """
    regions: list[dict[str, Any]] = []
    for entity, note in zip(document.entities, notes, strict=True):
        control = text.controls.get(entity.label, text.any_label)
        if not control or (entity.span.discontinuous and not joins_fragments):
            continue
        ids = [_region_id(text.name, entity, fragment) for fragment in entity.fragments]
        for id, (start, end) in zip(ids, entity.fragments, strict=True):
            value = {"start": start, "end": end, "text": document.text[start:end], "labels": [entity.label]}
            region = {"id": id, "from_name": control, "to_name": text.name, "type": "labels", "value": value}
            regions.append(region | {"score": entity.score} | ({"meta": {"text": [note]}} if note else {}))
        for first, second in pairwise(ids):
            relation = {"type": "relation", "from_id": first, "to_id": second, "direction": "bi"}
            regions.append(relation | {"labels": [FRAGMENT]})
    return regions


def _region_id(name: str, entity: Entity, fragment: Fragment) -> str:
    """An id that no other region of the task has, and that the same region always has."""
    return sha256(repr((name, entity.label, entity.fragments, fragment)).encode()).hexdigest()[:10]


@dataclass
class RegionReader:
    """Reads the regions of an annotation, and notes what of them cannot be remembered."""

    is_known: Callable[[str], bool]  # whether a label is one of the model's, or may become one
    problems: list[str] = field(default_factory=list)

    def read(self, tag: TextTag, text: str, result: Sequence[Mapping[str, Any]]) -> Document:
        """A text of a task with the entities that its regions say.

        >>> value = {"start": 3, "end": 6, "text": "Ada", "labels": ["PER"]}
        >>> tag = TextTag("text", ("text",), {})
        >>> RegionReader("PER".__eq__).read(tag, "😀 Ada", [{"to_name": "text", "value": value}]).entities
        (Entity(PER 2-5 'Ada'),)
        """
        by_id: dict[str, tuple[Span, list[str]]] = {}
        for number, region in enumerate(result):
            value = region.get("value")
            if region.get("to_name") != tag.name or not isinstance(value, Mapping) or "labels" not in value:
                continue  # a choice, a relation, a region of another text
            span = _locate(text, value)
            if span is None:
                self.problems.append(f"a region is not at its offsets in the text: {_excerpt(value)}")
            elif not isinstance(value["labels"], list):
                self.problems.append(f"the labels of a region are no list: {_excerpt(value)}")
            else:
                known = [label for label in value["labels"] if isinstance(label, str) and self.is_known(label)]
                unknown = [str(label) for label in value["labels"] if label not in known]
                if unknown:
                    where = f"{span.text(text)!r}"
                    names = ", ".join(unknown)
                    self.problems.append(f"{where} has a label that the project or the model cannot have: {names}")
                id = str(region.get("id", number))
                at, labels = by_id.setdefault(id, (span, []))
                if at == span:  # several tags label one region
                    labels += known
                else:
                    by_id[f"{id} {number}"] = span, known
        return Document(text).with_entities(
            {Entity(span, label) for span, labels in self._join(by_id, result) for label in labels}
        )

    def _join(
        self, regions: dict[str, tuple[Span, list[str]]], result: Sequence[Mapping[str, Any]]
    ) -> Iterator[tuple[Span, list[str]]]:
        """Regions, those that relations call fragments of one entity joined."""
        group = {id: id for id in regions}  # by region, the first of its group
        for relation in result:
            ends = [str(relation.get(key)) for key in ("from_id", "to_id")]
            labels = relation.get("labels")
            if isinstance(labels, list) and FRAGMENT in labels and all(end in regions for end in ends):
                first, second = (group[end] for end in ends)
                group = {id: first if of == second else of for id, of in group.items()}
        for first in dict.fromkeys(group.values()):
            parts = [regions[id] for id, of in group.items() if of == first]
            yield Span.union(fragment for span, _ in parts for fragment in span.fragments), parts[0][1]


def _locate(text: str, value: Mapping[str, Any]) -> Span | None:
    """Where a region is; None where its own text is not there, counted in code points or in UTF-16 units."""
    start, end, covered = value.get("start"), value.get("end"), value.get("text")
    if type(start) is not int or type(end) is not int:
        return None
    spans = [(start, end)]
    if units := utf16_offsets(text):
        spans.append((units.get(start, -1), units.get(end, -1)))
    for first, stop in spans:
        part = text[first:stop] if 0 <= first < stop <= len(text) else ""
        if part.strip() and (not isinstance(covered, str) or part.split() == covered.split()):
            return Span.of(first + len(part) - len(part.lstrip()), stop - len(part) + len(part.rstrip()))
    return None


def _excerpt(value: Mapping[str, Any]) -> str:
    return repr({key: value.get(key) for key in ("start", "end", "text")})[:200]
