"""Maximal cliques against brute force over all groups."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from nearspan.heads.cliques import maximal_cliques

NODES = [(2 * number, 2 * number + 1) for number in range(7)]


def brute(edges: set) -> list:
    """The groups of two and more in which every two are joined, and that no larger such group holds."""
    groups = [
        set(group)
        for size in range(2, len(NODES) + 1)
        for group in combinations(NODES, size)
        if all(pair in edges for pair in combinations(group, 2))
    ]
    return sorted(tuple(sorted(group)) for group in groups if not any(group < other for other in groups))


@given(st.sets(st.sampled_from(list(combinations(NODES, 2)))))
def test_equal_to_brute_force(edges: set):
    assert maximal_cliques(edges) == brute(edges)


def test_the_order_of_edges_and_of_their_ends_does_not_matter():
    a, b, c = NODES[:3]
    assert maximal_cliques([(b, a), (c, b)]) == maximal_cliques([(b, c), (a, b)]) == [(a, b), (b, c)]


def test_the_worst_of_24_fragments_is_bounded():
    nodes = [(2 * number, 2 * number + 1) for number in range(24)]
    edges = [(a, b) for a, b in combinations(nodes, 2) if nodes.index(a) // 3 != nodes.index(b) // 3]
    assert len(maximal_cliques(edges)) == 3**8  # the most there can be


def test_no_edges():
    assert maximal_cliques([]) == []
