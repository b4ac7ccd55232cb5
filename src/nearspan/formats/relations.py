"""Relations between entities, where a format has them: kept as attributes of the entity that they begin at.

An entity has its `id`, one that relations begin at also a list of `relations`: objects with the id that each goes `to`,
and what else the file says of it.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from nearspan.document import Attributes, Entity


def relation_attributes(relations: Iterable[tuple[Any, Any, Mapping[str, Any]]]) -> dict[Any, list[dict[str, Any]]]:
    """The `relations` of entities by the ids that they begin at; of each is given where it ends and what else is said.

    >>> relation_attributes([(1, 2, {"type": "wrote"})])
    {1: [{'to': 2, 'type': 'wrote'}]}
    """
    attributes: dict[Any, list[dict[str, Any]]] = {}
    for begin, end, rest in relations:
        attributes.setdefault(begin, []).append({"to": end} | dict(rest))
    return attributes


def relations_of(entities: Iterable[Entity]) -> list[tuple[Any, Any, dict[str, Any]]]:
    """The relations that the attributes of entities hold, between ids that some of the entities have."""
    entities = list(entities)
    ids = {entity.attributes["id"] for entity in entities if has_id(entity)}
    relations: list[tuple[Any, Any, dict[str, Any]]] = []
    for entity in filter(has_id, entities):
        relations_here = entity.attributes.get("relations", ())
        for relation in relations_here if isinstance(relations_here, tuple) else ():
            if isinstance(relation, Attributes) and relation.get("to") in ids:
                rest = {key: value for key, value in relation.to_dict().items() if key != "to"}
                relations.append((entity.attributes["id"], relation["to"], rest))
    return relations


def keeps_relations(entity: Entity, ids: Collection[Any]) -> bool:
    """Whether all relations of an entity are such as `relations_of` gives, between entities with some ids."""
    relations = entity.attributes.get("relations", ())
    right = isinstance(relations, tuple) and all(isinstance(relation, Attributes) for relation in relations)
    return not relations or (has_id(entity) and right and all(relation.get("to") in ids for relation in relations))


def has_id(entity: Entity) -> bool:
    """Whether an entity has an id that relations can name."""
    return isinstance(entity.attributes.get("id"), str | int)
