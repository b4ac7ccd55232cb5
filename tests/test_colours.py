import pytest

from nearspan.colours import NO_ENTITY, PALETTE, SIGNS, LabelColours, colour, stylesheet


def test_a_label_has_the_colour_of_its_place_and_no_entity_is_grey():
    colours = LabelColours(["", "LOC", "ORG", "LOC", "PER"])

    assert [colours[label].name for label in ("LOC", "ORG", "PER")] == ["c0", "c1", "c2"]
    assert colours[""] is colours["NEVER SEEN"] is NO_ENTITY


def test_sixty_labels_look_different():
    assert len({(colour(number).name, colour(number).sign) for number in range(60)}) == 60


def test_the_stylesheet_has_every_colour_for_light_and_dark_pages():
    css = stylesheet()

    for number, (light, dark) in enumerate(PALETTE):
        assert f"--c{number}: {light};" in css.split("@media")[0]
        assert f"--c{number}: {dark};" in css.split("@media")[1]
        assert f".c{number} {{ --colour: var(--c{number}); }}" in css
    assert ".c-none { --colour: var(--c-none); }" in css


def luminance(tone: str) -> float:
    parts = [int(tone[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(left: str, right: str) -> float:
    high, low = sorted((luminance(left), luminance(right)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("number", range(len(PALETTE)))
def test_colours_can_be_read_on_their_ground(number):
    tone = colour(number)

    assert contrast(tone.light, "#ffffff") >= 4.0
    assert contrast(tone.dark, "#15171b") >= 4.5
    assert min(contrast(tone.terminal, "#ffffff"), contrast(tone.terminal, "#000000")) >= 2.5


def test_signs_are_different():
    assert len(set(SIGNS)) == 5
