import base64
import hashlib
import re
from collections.abc import Callable
from html.parser import HTMLParser
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
    """A report on two models, with the papers' tables and figures."""
    out = tmp_path_factory.mktemp("report")
    options = {"compare": folders["classifier"], "papers": True, "device": "cpu"}
    return report(folders["instance"], corpus, out=out, corpus="<odd>.jsonl", **options)


VOID = {"meta", "br"}


class Page(HTMLParser):
    """Collects what a page would load, runs and links to, and checks that tags are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.scripts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.open += [] if tag in VOID else [tag]
        given = [value for key, value in attrs if key in ("src", "href", "xlink:href") and value[0] != "#"]
        (self.links if tag == "a" else self.loads).extend(given)
        self.ids += [value for key, value in attrs if key == "id"]
        assert tag not in ("link", "img", "iframe", "x")
        assert not [key for key, _ in attrs if key.startswith("on")]

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.scripts += [data] if self.open and self.open[-1] == "script" else []


@pytest.fixture(scope="session")
def parse_page() -> Callable[[str], Page]:
    """Reads a page that is well-formed and loads nothing; its only script is ours, and the policy allows no other."""

    def parse(text: str) -> Page:
        page = Page(text)
        assert not page.open
        assert not page.loads
        assert len(page.ids) == len(set(page.ids))
        assert not re.search(r"url\((?!#)|@import|https?://", text)
        assert len(page.scripts) <= 1
        for script in page.scripts:
            digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
            assert f"script-src &#39;sha256-{digest}&#39;" in text
        return page

    return parse


class Capitals:
    """Synonyms of one city."""

    def of(self, text: str) -> tuple[str, ...]:
        return ("the capital of Norway",) if text == "Oslo" else ()


@pytest.fixture(scope="session")
def generating(
    tmp_path_factory: pytest.TempPathFactory, tiny: Callable[..., Recipe], documents: list[Document]
) -> Model:
    """A joint model that knows its training entities by heart."""
    generation = ("size=16", "word_size=8", "hidden=24", "divergence=0.001", "pretraining=120")
    recipe = tiny(
        "classifier",
        "representation.kind=endpoint_mean",
        "bottleneck.size=6",
        "head.kind=sigmoid",
        "training.learning_rate=0.02",
        "training.epochs=121",
        *(f"losses.generators.{setting}" for setting in generation),
    )
    out = tmp_path_factory.mktemp("generating") / "m"
    return nearspan.train(recipe, documents, out=out, device="cpu", synonyms=Capitals()).model
