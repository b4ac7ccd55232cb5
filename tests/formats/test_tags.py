import pytest

from nearspan.formats.tags import OUTSIDE, chunks, is_labelled, parse


def spans(tags: str) -> list[tuple[int, int, str]]:
    return [tuple(chunk[:3]) for chunk in chunks([parse(tag) or OUTSIDE for tag in tags.split()])]


@pytest.mark.parametrize(
    "tags",
    [
        "I-PER I-PER B-PER O I-LOC",  # IOB1
        "B-PER I-PER B-PER O B-LOC",  # IOB2
        "B-PER E-PER S-PER O S-LOC",  # BIOES
        "B-PER L-PER U-PER O U-LOC",  # BILOU
        "B-PER M-PER S-PER O S-LOC",  # BMES with a missing E
    ],
)
def test_every_scheme_gives_the_same_entities(tags: str):
    assert spans(tags) == [(0, 2, "PER"), (2, 3, "PER"), (4, 5, "LOC")]


def test_bmes_middles_continue_an_entity():
    assert spans("B-NAME M-NAME M-NAME E-NAME O") == [(0, 4, "NAME")]


def test_inside_after_outside_opens_an_entity():
    assert spans("O I-PER I-PER") == [(1, 3, "PER")]


def test_another_label_opens_another_entity():
    assert spans("B-PER I-LOC") == [(0, 1, "PER"), (1, 2, "LOC")]


def test_an_end_without_a_beginning_is_an_entity():
    assert spans("E-PER E-PER") == [(0, 1, "PER"), (1, 2, "PER")]


def test_labels_may_hold_hyphens():
    assert spans("B-cell-line I-cell-line") == [(0, 2, "cell-line")]


def test_bare_tags_have_a_label_of_their_own():
    assert spans("B I O") == [(0, 2, "ENTITY")]


@pytest.mark.parametrize("tag", ["", "NNP", "X-PER", "B-", "b-PER", "0", "-X-"])
def test_what_is_not_a_tag(tag: str):
    assert parse(tag) is None


def test_bare_prefixes_do_not_make_a_label_column():
    assert is_labelled("B-NP")
    assert is_labelled("O")
    assert not is_labelled("B")
    assert not is_labelled("NNP")
