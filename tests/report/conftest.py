from collections.abc import Callable
from pathlib import Path

import pytest

import nearspan
from nearspan.config import Recipe
from nearspan.document import Document, Entity
from nearspan.formats.sample import path
from nearspan.model import Model
from nearspan.report import Report, report

ODD = Document(
    'So <x> met A&B in "Rome"', (Entity.of(3, 6, "PLACE"), Entity.of(11, 14, "<L>")), id="<script>alert(1)</script>"
)


@pytest.fixture(scope="session")
def corpus() -> list[Document]:
    """Sentences of the sample, with labels that the tiny models do not know, and one that is hard to print."""
    return [*nearspan.read(path("test")).documents[:25], ODD]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory, folders: dict[str, Path], corpus: list[Document]) -> Report:
    """A report on two models."""
    out = tmp_path_factory.mktemp("report")
    return report(folders["instance"], corpus, out=out, compare=folders["classifier"], device="cpu")


class Capitals:
    """Synonyms of one city."""

    def of(self, text: str) -> tuple[str, ...]:
        return ("the capital of Norway",) if text == "Oslo" else ()


@pytest.fixture(scope="session")
def telling(tmp_path_factory: pytest.TempPathFactory, tiny: Callable[..., Recipe], documents: list[Document]) -> Model:
    """A joint model that knows its training entities by heart."""
    generation = ("size=16", "word_size=8", "hidden=24", "divergence=0.001", "pretraining=60")
    recipe = tiny(
        "classifier",
        "representation.kind=endpoint_mean",
        "bottleneck.size=6",
        "head.kind=sigmoid",
        "training.learning_rate=0.02",
        "training.epochs=61",
        *(f"losses.generators.{setting}" for setting in generation),
    )
    out = tmp_path_factory.mktemp("telling") / "m"
    return nearspan.train(recipe, documents, out=out, device="cpu", synonyms=Capitals()).model
