"""Layers of annotation tools (INCEpTION, UIMA): which of them hold entities, and what their labels are.

A layer is a type, and its annotations have features. Layers of words, sentences, syntax and the like hold no entities;
all others do. The label is the feature `value`, `label`, `category` or the like that is set first, otherwise the
layer's own name. Other features are attributes, and so is the name of a layer other than `NamedEntity`.
"""

import re
from collections.abc import Mapping
from typing import Any

from nearspan.formats.corpus import clean_label

_DKPRO = "de.tudarmstadt.ukp.dkpro.core.api."
NAMED_ENTITY = f"{_DKPRO}ner.type.NamedEntity"
TOKEN = f"{_DKPRO}segmentation.type.Token"
SENTENCE = f"{_DKPRO}segmentation.type.Sentence"
METADATA = f"{_DKPRO}metadata.type.DocumentMetaData"
VALUE, LAYER = "value", "layer"
_LABELS = (VALUE, "label", "category", "entityType", "type", "tag", "class")
_STRUCTURE = re.compile(r"(?:^uima|\.(?:syntax|segmentation|textspan|structured|lexmorph|metadata|structure))\.")
_WORDS = ("Token", "Sentence", "Paragraph", "DocumentMetaData", "DocumentAnnotation", "TagsetDescription")
_TYPE = re.compile(r"[A-Za-z]\w*(?:\.[A-Za-z]\w*)+")
_FEATURE = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_TAKEN = frozenset(("begin", "end", "sofa", "score", "self", "xmiID", "elements", "id", LAYER, *_LABELS))


def short_name(layer: str) -> str:
    """The last part of a type's name."""
    return layer.rpartition(".")[2]


def holds_entities(layer: str) -> bool:
    """Whether the annotations of a layer are read as entities.

    >>> holds_entities(NAMED_ENTITY), holds_entities(TOKEN), holds_entities("webanno.custom.Drug")
    (True, False, True)
    """
    if layer.startswith(_DKPRO):
        return layer.startswith(f"{_DKPRO}ner.")
    return not _STRUCTURE.search(layer) and short_name(layer) not in _WORDS


def label_and_attributes(layer: str, features: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """What an annotation is called, and what else is said of it.

    >>> label_and_attributes(NAMED_ENTITY, {"identifier": "Q64", "value": "LOC"})
    ('LOC', {'identifier': 'Q64'})
    >>> label_and_attributes("webanno.custom.Drug", {"dose": "3 mg"})
    ('Drug', {'dose': '3 mg', 'layer': 'webanno.custom.Drug'})
    """
    attributes = {name: value for name, value in features.items() if value is not None}
    names = (name for name in _LABELS if isinstance(attributes.get(name), str) and clean_label(attributes[name]))
    name = next(names, None)
    label = short_name(layer) if name is None else attributes.pop(name)
    return label, attributes | ({} if layer == NAMED_ENTITY else {LAYER: layer})


def layer_of(attributes: Mapping[str, Any]) -> str:
    """The layer that an entity is written to: the one that it was read from, if its attributes say so."""
    layer = attributes.get(LAYER)
    return str(layer) if keeps(LAYER, layer) else NAMED_ENTITY


def keeps(name: str, value: Any) -> bool:
    """Whether an attribute can be written as a feature, or is the name of a layer."""
    if not isinstance(value, str) or not value:
        return False
    if name == LAYER:
        return _TYPE.fullmatch(value) is not None and holds_entities(value) and value != NAMED_ENTITY
    return _FEATURE.fullmatch(name) is not None and name not in _TAKEN
