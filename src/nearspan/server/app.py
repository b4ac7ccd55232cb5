"""The server's application: routes over one model."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from nearspan import __version__
from nearspan.errors import ConfigError, EditError, ModelError, NearspanError
from nearspan.server.answers import ErrorOut
from nearspan.server.editing import editing
from nearspan.server.guard import HEADERS, Guard
from nearspan.server.limits import Limits, Refused
from nearspan.server.reading import reading
from nearspan.server.service import Service
from nearspan.server.worker import Worker

PAGE = Path(__file__).with_name("page")
ABOUT = "Named entity recognition that shows its evidence. Offsets are characters (code points), half-open."
LONGEST = 100  # characters of a key that an error names
STATUSES = {
    408: "the request came too slowly",
    409: "the memory cannot be edited so, or there is none",
    413: "the request is too large",
    422: "the request is malformed, or the model cannot answer it",
    503: "too many requests are waiting; try again after Retry-After seconds",
}


def create_app(service: Service, token: str, limits: Limits | None = None, hosts: Collection[str] = ()) -> FastAPI:
    """The application that serves a model; `token` allows editing, `hosts` are the names it answers to, all if empty.

    app = create_app(Service(Editor.open("runs/mine")), token=secrets.token_urlsafe())
    """
    if not token:
        raise ConfigError("a server needs a token that is not empty")
    if not re.fullmatch("[!-~]+", token):
        raise ConfigError("the token goes in a header: use letters, digits and signs of ASCII only, and no blanks")
    limits = limits or Limits()
    worker = Worker(limits.waiting)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        worker.close()

    app = FastAPI(
        title="nearspan",
        version=__version__,
        description=ABOUT,
        lifespan=lifespan,
        docs_url=None,  # they load from another host
        redoc_url=None,
        responses={status: {"model": ErrorOut, "description": said} for status, said in STATUSES.items()},
    )
    for kind, answer in ((Refused, _refused), (RequestValidationError, _malformed), (HTTPException, _http)):
        app.add_exception_handler(kind, answer)
    app.add_exception_handler(NearspanError, _ours)
    app.add_exception_handler(Exception, _unforeseen)
    app.add_middleware(Guard, limits=limits, hosts=hosts)
    app.include_router(reading(service, worker, limits))
    app.include_router(editing(service, worker, limits, token))

    @app.get("/", include_in_schema=False)
    async def index() -> FileResponse:
        return FileResponse(PAGE / "index.html")

    app.mount("/page", StaticFiles(directory=PAGE))
    return app


def _error(status: int, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": message}, status, headers)


async def _refused(_: Request, error: Any) -> JSONResponse:
    headers = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "1"}}
    return _error(error.status, str(error), headers.get(error.status))


async def _malformed(_: Request, error: Any) -> JSONResponse:
    """The first problem, without the input that may be long."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return _error(422, f"the request is not JSON: {first['ctx']['error']} at its character {first['loc'][-1]}")
    where = ".".join(str(part) for part in first["loc"] if part not in ("body", "query", "path"))
    where = where if len(where) <= LONGEST else where[:LONGEST] + "…"
    said = first["msg"].removeprefix("Value error, ")
    return _error(422, f"{where}: {said}" if where else said)


async def _http(_: Request, error: Any) -> JSONResponse:
    return _error(error.status_code, str(error.detail), error.headers)


async def _ours(_: Request, error: Exception) -> JSONResponse:
    return _error(409 if isinstance(error, EditError | ModelError) else 422, str(error))


async def _unforeseen(_: Request, error: Exception) -> JSONResponse:
    return _error(500, f"the server failed: {type(error).__name__}; its log says more", HEADERS)  # outside the guard
