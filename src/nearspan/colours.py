"""The colours of labels: the same in the terminal, the report and the server's page."""

from collections.abc import Iterable
from dataclasses import dataclass

# For a light and for a dark ground; neighbours in this list keep apart
PALETTE = (
    ("#b4483f", "#ea8b80"),
    ("#2e7d8c", "#6cc0d1"),
    ("#7a5cab", "#b9a0ea"),
    ("#3f66b0", "#8fb0f2"),
    ("#43803f", "#8bc98a"),
    ("#ab6a14", "#e5b062"),
    ("#a8457f", "#e692c3"),
    ("#5b6e2c", "#b5c97a"),
    ("#8a5a44", "#cfa48e"),
    ("#1f7a66", "#69c9b0"),
    ("#6a6f8f", "#a9aed0"),
    ("#9a5fc0", "#cf9df0"),
)
SIGNS = "●■▲◆▼"  # 12 colours and 5 shapes make 60 different pairs


@dataclass(frozen=True, slots=True)
class Colour:
    """A label's colour; `name` is its class and its variable in `stylesheet`."""

    name: str
    light: str  # on a light ground
    dark: str  # on a dark ground
    sign: str = ""  # a shape, for eyes that do not tell the colours apart

    @property
    def terminal(self) -> str:
        """A tone between the two, for a ground that is not known.

        >>> Colour("c", "#000000", "#8090a0").terminal
        '#404850'
        """
        pairs = ((self.light[i : i + 2], self.dark[i : i + 2]) for i in (1, 3, 5))
        return "#" + "".join(f"{(int(light, 16) + int(dark, 16)) // 2:02x}" for light, dark in pairs)

    @property
    def css(self) -> str:
        """The colour as a CSS value, light or dark with the page."""
        return f"var(--{self.name})"


NO_ENTITY = Colour("c-none", "#7c8087", "#8d929a", "○")


def colour(number: int) -> Colour:
    """The colour of the label at a place among the labels, from 0."""
    place = number % len(PALETTE)
    return Colour(f"c{place}", *PALETTE[place], SIGNS[number % len(SIGNS)])


class LabelColours:
    """Each label's colour by its place among the model's labels; grey for whatever is not among them.

    >>> colours = LabelColours(["LOC", "PER"])
    >>> colours["PER"].name, colours["PER"].sign, colours[""].name
    ('c1', '■', 'c-none')
    """

    def __init__(self, labels: Iterable[str]) -> None:
        names = dict.fromkeys(label for label in labels if label)
        self._colours = {label: colour(number) for number, label in enumerate(names)}

    def __getitem__(self, label: str) -> Colour:
        """The colour of a label; "" is no entity."""
        return self._colours.get(label, NO_ENTITY)


def stylesheet() -> str:
    """CSS: a variable `--c0` … `--c-none` for each colour, and classes of these names that set `--colour` to it."""
    colours = [*map(colour, range(len(PALETTE))), NO_ENTITY]
    light = " ".join(f"--{shade.name}: {shade.light};" for shade in colours)
    dark = " ".join(f"--{shade.name}: {shade.dark};" for shade in colours)
    classes = "\n".join(f".{shade.name} {{ --colour: {shade.css}; }}" for shade in colours)
    return f":root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n{classes}\n"
