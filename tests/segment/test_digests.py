from nearspan.segment import digests


def test_a_sentence_is_told_by_its_words():
    assert digests([["a b"], ["a", "b"], ["ab"]]) != digests([["a", "b"], ["a b"], ["ab"]])
    assert len(set(digests([["a b"], ["a", "b"], ["ab"], []]))) == 4


def test_copies_are_counted():
    first, other, second = digests([["Ada"], ["Bob"], ["Ada"]])
    assert first != second
    assert digests([["Bob"], ["Ada"], ["Ada"]]) == [other, first, second]


def test_those_left_keep_their_numbers():
    first, second, third = digests([["Ada"]] * 3)
    assert digests([["Ada"], ["Ada"]], {first}) == [second, third]
    assert digests([["Ada"], ["Ada"]], {second}) == [first, third]


def test_half_a_character_is_no_error():
    assert len(digests([["\ud800"]])) == 1
