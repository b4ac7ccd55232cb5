"""A served tiny model, its folder the test's own."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

import nearspan
from nearspan.server import Limits, Service, create_app

TOKEN = "sesame"


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


@pytest.fixture
def client(service: Service, limits: Limits) -> Iterator[TestClient]:
    with TestClient(create_app(service, TOKEN, limits)) as client:
        yield client


@pytest.fixture
def editor(client: TestClient) -> TestClient:
    """A client that may edit."""
    client.headers["Authorization"] = f"Bearer {TOKEN}"
    return client
