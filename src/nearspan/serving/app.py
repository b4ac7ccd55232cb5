"""The server's application: routes over one model."""

from __future__ import annotations

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
from nearspan.errors import ModelError, NearspanError
from nearspan.serving.guard import Guard
from nearspan.serving.limits import Limits, Refused
from nearspan.serving.reading import reading
from nearspan.serving.schemas import ErrorOut
from nearspan.serving.service import Service
from nearspan.serving.worker import Worker

PAGE = Path(__file__).with_name("page")
ABOUT = "Named entity recognition that shows its evidence. Offsets are characters (code points), half-open."
STATUSES = {
    408: "the request came too slowly",
    413: "the request is too large",
    422: "the request is malformed, or the model cannot answer it",
    503: "too many requests are waiting; try again after Retry-After seconds",
}


def create_app(service: Service, limits: Limits | None = None, hosts: Collection[str] = ()) -> FastAPI:
    """The application that serves a model; `hosts` are the names it answers to, all where empty."""
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

    @app.get("/", include_in_schema=False)
    async def index() -> FileResponse:
        return FileResponse(PAGE / "index.html")

    app.mount("/page", StaticFiles(directory=PAGE))
    return app


def _error(status: int, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": message}, status, headers)


async def _refused(_: Request, error: Any) -> JSONResponse:
    return _error(error.status, str(error), {"Retry-After": "1"} if error.status == 503 else None)


async def _malformed(_: Request, error: Any) -> JSONResponse:
    """The first problem, without the input that may be long."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part not in ("body", "query"))
    return _error(422, f"{where}: {first['msg']}" if where else first["msg"])


async def _http(_: Request, error: Any) -> JSONResponse:
    return _error(error.status_code, str(error.detail), error.headers)


async def _ours(_: Request, error: Exception) -> JSONResponse:
    return _error(409 if isinstance(error, ModelError) else 422, str(error))


async def _unforeseen(_: Request, error: Exception) -> JSONResponse:
    return _error(500, f"the server failed: {type(error).__name__}; its log says more")
