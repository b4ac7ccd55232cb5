"""The application: routes over one model, the page, and refusals as JSON."""

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from nearspan import __version__
from nearspan.colours import stylesheet
from nearspan.errors import EditError, ModelError, NearspanError
from nearspan.memory import Weight
from nearspan.server.access import LOOPBACK, Tokens
from nearspan.server.guard import HEADERS, Guard
from nearspan.server.inbox import WEIGHT, Inbox
from nearspan.server.label_studio import label_studio_routes
from nearspan.server.limits import Limits
from nearspan.server.replica import start_replicas
from nearspan.server.review import review_routes
from nearspan.server.routes import edit_routes, memory_routes, model_routes
from nearspan.server.schemas import refusals
from nearspan.server.service import Service
from nearspan.server.worker import Worker

PAGE = Path(__file__).with_name("page")
ABOUT = "Named entity recognition that shows its evidence. Offsets are characters (code points), half-open."
Tool = Literal["label-studio", "inception"]
LONGEST_KEY = 100  # characters of a key that an error names


def create_app(
    service: Service,
    token: str,
    limits: Limits | None = None,
    hosts: Collection[str] = LOOPBACK,
    read_token: str = "",
    tools: Collection[Tool] = (),
    annotation_weight: Weight = WEIGHT,
    train_every: int = 0,
    workers: int = 1,
) -> FastAPI:
    """The application that serves a model. `token` is for editing; `hosts` are the names that it answers to.

    With a `read_token` reading needs one of both tokens; without it, whoever reaches the server may read. `tools` are
    the annotation tools whose protocols it speaks too; they need the token for editing, and entities that are annotated
    there count `annotation_weight` times. After each `train_every` edits the model is trained again, in the background.
    Several `workers` are processes of their own, each on one core, that answer what edits nothing; one is a
    thread of this process, which computes with all cores that torch has.

        app = create_app(Service(nearspan.load("runs/mine")), token=secrets.token_urlsafe())
    """
    tokens = Tokens(token, read_token)
    limits = limits or Limits()
    worker = Worker(limits, service, start_replicas(service, workers) if workers > 1 else ())
    inbox = Inbox(service, worker, annotation_weight, train_every, may_train=workers == 1)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        worker.close()
        inbox.finish()

    app = FastAPI(
        title="nearspan",
        version=__version__,
        description=ABOUT,
        lifespan=lifespan,
        docs_url=None,  # they load from another host
        redoc_url=None,
        responses=refusals(400, 408, 413, 421, 503),
        exception_handlers={
            RequestValidationError: _answer_malformed,
            HTTPException: _answer_http,
            NearspanError: _answer_error,
            Exception: _answer_failure,
        },
    )
    app.add_middleware(Guard, limits=limits, hosts=hosts)
    for router in (model_routes(service, worker, limits), memory_routes(service, worker)):
        if read_token:
            app.include_router(router, dependencies=[Depends(tokens.check_reader)], responses=refusals(401))
        else:
            app.include_router(router)
    forbidden = refusals(401, 403) if read_token else refusals(401)
    for router in (edit_routes(service, worker, limits), review_routes(service, worker, limits, workers)):
        app.include_router(router, dependencies=[Depends(tokens.check_editor)], responses=forbidden)
    if "label-studio" in tools:
        router = label_studio_routes(service, worker, limits, inbox)
        app.include_router(router, dependencies=[Depends(tokens.check_tool)], responses=refusals(401))
    if "inception" in tools:
        from nearspan.server.inception import inception_routes  # needs cassis

        router = inception_routes(service, worker, limits, inbox)
        app.include_router(router, dependencies=[Depends(tokens.check_classifier)], responses=refusals(401))

    @app.get("/", include_in_schema=False)
    async def index() -> FileResponse:
        return FileResponse(PAGE / "index.html")

    @app.get("/page/colours.css", include_in_schema=False)
    async def colours() -> Response:
        return Response(stylesheet(), media_type="text/css")

    app.mount("/page", StaticFiles(directory=PAGE))
    return app


def _refuse(status: int, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": message}, status, headers)


async def _answer_malformed(_: Request, error: Any) -> JSONResponse:
    """The first problem, without the value, which may be long."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return _refuse(422, f"the request is not JSON: {first['ctx']['error']} at its character {first['loc'][-1]}")
    key = ".".join(str(part) for part in first["loc"] if part not in ("body", "query", "path"))
    key = key if len(key) <= LONGEST_KEY else key[:LONGEST_KEY] + "…"
    message = first["msg"].removeprefix("Value error, ")
    return _refuse(422, f"{key}: {message}" if key else message)


async def _answer_http(_: Request, error: Any) -> JSONResponse:
    return _refuse(error.status_code, str(error.detail), error.headers)


async def _answer_error(_: Request, error: Exception) -> JSONResponse:
    return _refuse(409 if isinstance(error, EditError | ModelError) else 422, str(error))


async def _answer_failure(_: Request, error: Exception) -> JSONResponse:
    return _refuse(500, f"the server failed: {type(error).__name__}; its log says more", HEADERS)  # outside the guard
