from pathlib import Path

import pytest

import nearspan
from nearspan.analysis import Report, report
from nearspan.corpora.sample import path
from nearspan.document import Document, Entity

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
