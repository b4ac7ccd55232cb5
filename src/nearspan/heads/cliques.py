"""Maximal cliques: the largest groups in which every two belong together."""

from collections.abc import Iterable, Iterator

from nearspan.document import Fragment

Clique = tuple[Fragment, ...]


def maximal_cliques(edges: Iterable[Clique]) -> list[Clique]:
    """All maximal cliques of two fragments and more, each in order, sorted (Bron and Kerbosch, 1973, with pivots).

    n fragments have at most 3^(n/3) of them; whoever calls keeps n small.

    >>> a, b, c, d = (0, 1), (2, 3), (4, 5), (6, 7)
    >>> maximal_cliques([(a, b), (b, c), (a, c), (c, d)])
    [((0, 1), (2, 3), (4, 5)), ((4, 5), (6, 7))]
    """
    near: dict[Fragment, set[Fragment]] = {}
    for left, right in edges:
        near.setdefault(left, set()).add(right)
        near.setdefault(right, set()).add(left)
    return sorted(_grow((), set(near), set(), near)) if near else []


def _grow(
    clique: Clique, more: set[Fragment], done: set[Fragment], near: dict[Fragment, set[Fragment]]
) -> Iterator[Clique]:
    """The maximal cliques with all of `clique`, some of `more` and none of `done`."""
    if not more and not done:
        yield tuple(sorted(clique))
        return
    pivot = max(more | done, key=lambda node: len(near[node] & more))
    for node in sorted(more - near[pivot]):
        yield from _grow((*clique, node), more & near[node], done & near[node], near)
        more, done = more - {node}, done | {node}
