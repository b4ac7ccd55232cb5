import json

from nearspan.segment import Coverage


def test_one_line_says_what_is_out_of_reach() -> None:
    coverage = Coverage(10, 3453, 90_000, 5648, {"misaligned": 3, "wider than 6 words": 9, "discontinuous": 0})
    assert str(coverage) == ("5,648 entities in 3,453 sentences; 12 unreachable (9 wider than 6 words, 3 misaligned)")
    assert coverage.reachable == 5636


def test_one_line_when_all_is_in_reach() -> None:
    assert str(Coverage(1, 1, 5, 1)) == "1 entity in 1 sentence; all reachable"
    assert str(Coverage()) == "0 entities in 0 sentences"


def test_coverages_add_up() -> None:
    first, two = Coverage(1, 2, 3, 4, {"a": 1}), Coverage(1, 1, 1, 5, {"a": 1, "b": 2})
    assert first + two == Coverage(2, 3, 4, 9, {"a": 2, "b": 2})
    assert first == Coverage(1, 2, 3, 4, {"a": 1})


def test_json() -> None:
    assert json.loads(json.dumps(Coverage(1, 2, 3, 4, {"a": 1}).to_dict())) == {
        "documents": 1,
        "sentences": 2,
        "words": 3,
        "entities": 4,
        "reachable": 3,
        "unreachable": {"a": 1},
    }
