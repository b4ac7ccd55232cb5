"""A hub on loopback: it keeps what is pushed to it, and gives it back."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from huggingface_hub import constants, file_download

REPOSITORY = r"(?P<name>[^/]+/[^/?]+)"


class Hub(ThreadingHTTPServer):
    """Repositories by name, each with the files of its one branch."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.repositories: dict[str, dict[str, bytes]] = {}
        self.private: dict[str, bool] = {}
        self.asked: list[str] = []  # methods and paths
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def add(self, name: str, folder: Path) -> None:
        """A repository with the files of a folder."""
        files = [path for path in folder.rglob("*") if path.is_file()]
        self.repositories[name] = {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}

    def commit(self, name: str) -> str:
        """What names the content of a repository."""
        content = sorted((file, hashlib.sha1(data).hexdigest()) for file, data in self.repositories[name].items())
        return hashlib.sha1(json.dumps(content).encode()).hexdigest()


class Answers(BaseHTTPRequestHandler):
    """The routes of the hub that huggingface_hub asks."""

    server: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        hub = self.server
        if match := self.match(rf"/api/models/{REPOSITORY}/tree/[^/]+"):
            files = hub.repositories[match["name"]]
            oids = {file: hashlib.sha1(data).hexdigest() for file, data in files.items()}
            self.answer([{"type": "file", "path": f, "size": len(files[f]), "oid": oid} for f, oid in oids.items()])
        elif match := self.match(rf"/api/models/{REPOSITORY}(?:/revision/(?P<revision>[^/]+))?"):
            name = match["name"]
            if match["revision"] not in (None, "main", "v1", hub.commit(name)):
                self.refuse("RevisionNotFound")
                return
            siblings = [{"rfilename": file} for file in hub.repositories[name]]
            private = hub.private.get(name, False)
            self.answer({"id": name, "sha": hub.commit(name), "private": private, "siblings": siblings})
        elif match := self.match(rf"/{REPOSITORY}/resolve/[^/]+/(?P<file>.+)"):
            data = hub.repositories[match["name"]][match["file"]]
            headers = {"ETag": f'"{hashlib.sha1(data).hexdigest()}"', "X-Repo-Commit": hub.commit(match["name"])}
            self.send(data, headers)
        else:
            self.refuse("RepoNotFound")

    do_HEAD = do_GET

    def do_POST(self) -> None:
        hub, content = self.server, self.rfile.read(int(self.headers["Content-Length"]))
        if self.match("/api/validate-yaml"):
            self.answer({"errors": [], "warnings": []})
        elif self.match("/api/repos/create"):
            record = json.loads(content)
            name = "/".join(filter(None, [record.get("organization"), record["name"]]))
            if name in hub.repositories:
                self.answer({"error": "it is there", "url": f"{hub.url}/{name}"}, status=409)
                return
            hub.repositories[name] = {".gitattributes": b""}
            hub.private[name] = bool(record.get("private")) or record.get("visibility") == "private"
            self.answer({"url": f"{hub.url}/{name}"})
        elif match := self.match(rf"/api/models/{REPOSITORY}/preupload/main"):
            paths = [file["path"] for file in json.loads(content)["files"]]
            modes = [{"path": path, "uploadMode": "regular", "shouldIgnore": False} for path in paths]
            self.answer({"files": modes})
        elif match := self.match(rf"/api/models/{REPOSITORY}/commit/main"):
            files = hub.repositories[match["name"]]
            for line in map(json.loads, content.splitlines()):
                if line["key"] == "file":
                    files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
                elif line["key"] == "deletedFile":
                    del files[line["value"]["path"]]
            oid = hub.commit(match["name"])
            self.answer({"commitUrl": f"{hub.url}/{match['name']}/commit/{oid}", "commitOid": oid, "success": True})
        else:
            self.refuse("RepoNotFound")

    def match(self, pattern: str) -> re.Match[str] | None:
        """The path, if it is one of a pattern and of a repository that is there."""
        path = self.path.partition("?")[0]
        self.server.asked.append(f"{self.command} {path}")
        match = re.fullmatch(pattern, path)
        return match if match is None or match.groupdict().get("name", "") in {"", *self.server.repositories} else None

    def answer(self, content: Any, status: int = 200) -> None:
        """An answer in JSON."""
        self.send(json.dumps(content).encode(), {"Content-Type": "application/json"}, status)

    def refuse(self, code: str) -> None:
        """Say that something is not there, as the hub says it."""
        self.send(b"{}", {"X-Error-Code": code, "X-Error-Message": code}, 404)

    def send(self, data: bytes, headers: dict[str, str], status: int = 200) -> None:
        self.send_response(status)
        for name, value in (headers | {"Content-Length": str(len(data))}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub that huggingface_hub takes for the real one, with an empty cache."""
    with Hub() as hub:
        Thread(target=hub.serve_forever, daemon=True).start()
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        template = hub.url + "/{repo_id}/resolve/{revision}/{filename}"
        for module in (constants, file_download):  # where versions before 1 and after look
            monkeypatch.setattr(module, "HUGGINGFACE_CO_URL_TEMPLATE", template, raising=False)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
        monkeypatch.setenv("HF_TOKEN", "hf_test")
        yield hub
        hub.shutdown()
