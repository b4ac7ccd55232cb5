"""A served tiny model, its folder the test's own."""

import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

import nearspan
from nearspan.server import Limits, Service, create_app

TOKEN = "sesame"
READ_TOKEN = "poppy"


@pytest.fixture
def folder(folders: dict[str, Path], tmp_path: Path) -> Path:
    return shutil.copytree(folders["instance"], tmp_path / "model")


@pytest.fixture
def service(folder: Path, documents) -> Service:
    return Service(nearspan.load(folder, "cpu"), documents[:4])


@pytest.fixture
def limits() -> Limits:
    most = {"body_bytes": 5_000, "characters": 1_000, "explained_characters": 200, "explained_entities": 4}
    return Limits(**most, texts=4, neighbours=8, send_seconds=0.2)


@contextmanager
def connect(app: FastAPI) -> Iterator[TestClient]:
    """A client that is answered nothing but what OpenAPI describes."""
    paths = app.openapi()["paths"]

    def check(response) -> None:
        method, path = response.request.method.lower(), response.request.url.path
        for template, methods in paths.items():
            if method in methods and re.fullmatch(re.sub(r"{\w+}", "[^/]+", template), path):
                assert str(response.status_code) in methods[method]["responses"], f"{method} {path}"

    with TestClient(app, "http://localhost") as client:
        client.event_hooks = {"response": [check]}
        yield client


@pytest.fixture
def client(service: Service, limits: Limits) -> Iterator[TestClient]:
    with connect(create_app(service, TOKEN, limits)) as client:
        yield client


@pytest.fixture
def editor(client: TestClient) -> TestClient:
    """A client that may edit."""
    client.headers["Authorization"] = f"Bearer {TOKEN}"
    return client


@pytest.fixture
def guarded(service: Service) -> Iterator[TestClient]:
    """A client of a server that lets nobody read without a token."""
    with connect(create_app(service, TOKEN, read_token=READ_TOKEN)) as client:
        yield client


TEXTS = ("Zed lives in Oslo", "Bob Stone met Eve Moon in Lima", "The wind fell on 3 May")


@pytest.fixture
def reviewer(folder: Path, limits: Limits) -> Iterator[TestClient]:
    """A client that may edit, of a server with three texts to review."""
    with connect(create_app(Service(nearspan.load(folder, "cpu"), texts=TEXTS), TOKEN, limits)) as client:
        client.headers["Authorization"] = f"Bearer {TOKEN}"
        yield client


@pytest.fixture(scope="session")
def serve() -> Callable[..., AbstractContextManager[str]]:
    """A server process on a folder: its address, with its token where that was drawn."""

    @contextmanager
    def start(folder: Path, *options: object) -> Iterator[str]:
        command = [sys.executable, "-m", "nearspan", "serve", folder, "--port", "0", "--device", "cpu", *options]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            yield next(filter(None, (re.search(r"http://\S+", line) for line in process.stderr)))[0]
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0

    return start
