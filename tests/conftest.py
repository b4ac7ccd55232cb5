"""Tiny corpora, recipes and models that the tests share."""

from __future__ import annotations

import io
import logging
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # tiny tensors: threads that wait for each other cost far more than they give

import pytest
import torch
from hypothesis import HealthCheck, settings

import nearspan
from nearspan.cli.terminal import terminal
from nearspan.config import Recipe
from nearspan.document import Document
from nearspan.model import Model

# a busy machine must not fail a test, and a run must not find what the last one did not
settings.register_profile("nearspan", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("nearspan")

torch.set_num_threads(1)

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")  # as in .ci/run

TINY = (
    "encoder.vectors.size=8",
    "encoder.characters.size=4",
    "encoder.characters.filters=4",
    "encoder.bilstm.size=8",
    "encoder.bilstm.layers=1",
    "encoder.bilstm.dropout=0.1",
    "encoder.characters.dropout=0.0",
    "representation.size=8",
    "training.batch=4",
    "training.epochs=2",
)

BARE = (  # the instance-based systems without what the public code adds
    "encoder.highway=none",
    "encoder.vectors.missing=own",
    "encoder.bilstm.state_dropout=0.0",
    "encoder.bilstm.output_dropout=0.0",
    "representation.dropout=0.0",
    "training.learning_rate=0.001",
)

SENTENCES = (
    "[Ada](PERSON) lives in [Oslo](PLACE)",
    "[Bob Stone](PERSON) lives in [Rome](PLACE)",
    "[Eve](PERSON) left [New York](PLACE) for [Rome](PLACE)",
    "[Ada](PERSON) met [Bob](PERSON) in [Paris](PLACE)",
    "[Paris](PLACE) is far from [Oslo](PLACE)",
    "The rain fell on 21 March",
    "[Eve Moon](PERSON) was born in [Lima](PLACE)",
    "She went to [Lima](PLACE) with [Ada](PERSON)",
    "Nobody lives here",
    "[Bob](PERSON) and [Eve](PERSON) like [New York](PLACE)",
    "They left [Oslo](PLACE) in the rain",
    "[Ada Moon](PERSON) likes [Paris](PLACE)",
)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEARSPAN_CACHE", str(tmp_path / "cache"))


@pytest.fixture(autouse=True)
def _fresh_console() -> Iterator[None]:
    """What a command says of its console, --quiet or a width, ends with the test."""
    terminal.cache_clear()
    yield
    terminal.cache_clear()
    logger = logging.getLogger("nearspan")
    logger.handlers = []
    logger.setLevel(logging.NOTSET)


@pytest.fixture
def full_disk() -> Callable[[int], object]:
    """A context in which no file grows beyond some bytes, as on a disk that is full."""

    @contextmanager
    def limit_memory(size: int) -> Iterator[None]:
        before, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (before, most))

    return limit_memory


@pytest.fixture(scope="session")
def documents() -> list[Document]:
    """A dozen sentences about people and places, a document each."""
    return [nearspan.markup(text, id=f"d{number}") for number, text in enumerate(SENTENCES)]


@pytest.fixture(scope="session")
def tiny() -> Callable[..., Recipe]:
    """A recipe by name, made tiny, with further settings."""

    def make(name: str, *settings: str) -> Recipe:
        bare = BARE if name in ("instance", "classifier") else ()
        head = ["head.neighbours=4"] if name == "instance" else []
        return nearspan.recipe(name).override([*TINY, *bare, *head, *settings])

    return make


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory, tiny: Callable[..., Recipe], documents: Sequence[Document]):
    """Folders of trained models by recipe; they know their training data by heart."""
    made: dict[str, Path] = {}
    for name in ("instance", "classifier"):
        made[name] = tmp_path_factory.mktemp("models") / name
        recipe = tiny(name, "training.epochs=25", "training.learning_rate=0.02")
        nearspan.train(recipe, documents, documents, out=made[name], device="cpu")
    return made


@pytest.fixture
def instance(folders: dict[str, Path]) -> Model:
    return nearspan.load(folders["instance"], device="cpu")


@pytest.fixture
def classifier(folders: dict[str, Path]) -> Model:
    return nearspan.load(folders["classifier"], device="cpu")


@dataclass(frozen=True)
class Ran:
    """What a command left."""

    code: int
    out: str
    err: str


@pytest.fixture
def nearspan_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run a command as `python -m nearspan` would, in this process."""
    from nearspan.cli import main

    def run(*arguments: str | Path, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "argv", ["nearspan", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return run


def chromium() -> str | None:
    """The first that runs: there are systems on which the name only tells how to install it."""
    paths = filter(None, map(shutil.which, BROWSERS))
    return next(
        (path for path in paths if not subprocess.run([path, "--version"], capture_output=True).returncode), None
    )


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    path = chromium()
    if path is None:
        reason = "no Chromium that runs on this machine: apt-get install chromium"
        if os.environ.get("NEARSPAN_BROWSER") == "required":
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        yield browser
        browser.close()
