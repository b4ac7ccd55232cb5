"""Routes: questions to the model, and its memory to read and edit."""

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.routing import APIRoute

from nearspan import __version__
from nearspan.document import Span
from nearspan.errors import did_you_mean
from nearspan.memory.edits import standing_edits
from nearspan.server.correction import correct, preview
from nearspan.server.limits import Limits, Refusal
from nearspan.server.requests import AnnotateIn, CorrectionIn, DocumentIn, ExplainIn, NeighboursIn, RelabelIn
from nearspan.server.schemas import (
    AccessOut,
    AnnotateOut,
    CorrectionOut,
    EditOut,
    ErrorsOut,
    EvidenceOut,
    ExplainOut,
    HealthOut,
    LogOut,
    MapOut,
    PreviewOut,
    SentencesOut,
    refusals,
)
from nearspan.server.service import Service
from nearspan.server.worker import Question, Worker

Limit = Annotated[int, Query(ge=1, le=100)]
Offset = Annotated[int, Query(ge=0, le=1_000_000_000)]
Edges = Annotated[list[int], Query(max_length=64, default_factory=list, description="one, or one for each fragment")]
EditNumber = Annotated[int | None, Query(description="undo this edit or nothing")]


async def client_address(request: Request) -> str:
    """Whom the answer is for; a proxy on this machine names it in X-Forwarded-For."""
    return request.client.host if request.client else ""


Client = Annotated[str, Depends(client_address)]


class JsonRoute(APIRoute):
    """A route that reads every body as JSON, whatever its Content-Type is: `curl -d` sends a form's, others none."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What answers a request."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            others = [(name, value) for name, value in request.scope["headers"] if name != b"content-type"]
            headers = [*others, (b"content-type", b"application/json")]
            return await handler(Request({**request.scope, "headers": headers}, request.receive))

        return handle


def model_routes(service: Service, worker: Worker, limits: Limits) -> APIRouter:
    """Questions to the model."""
    router = APIRouter(route_class=JsonRoute)

    @router.get("/health", summary="Whether the server is up, and what it serves")
    async def health() -> HealthOut:
        described = service.describe()
        return HealthOut(status="ok", version=__version__, waiting=worker.waiting, limits=limits, **described)

    @router.post(
        "/annotate", responses=refusals(409, 422, 504), summary="Find the entities of a text or of a batch of texts"
    )
    async def annotate(body: AnnotateIn, client: Client) -> AnnotateOut:
        limits.check_texts(body.batch)
        question = Question("annotate", (body.batch,), tuple(body.batch))
        return await worker.ask(client, AnnotateOut, question, sum(map(len, body.batch)))

    @router.post(
        "/explain", responses=refusals(409, 422, 504), summary="The training spans that each entity of a text rests on"
    )
    async def explain(body: ExplainIn, client: Client) -> ExplainOut:
        limits.check_texts([body.text], limits.explained_characters)
        limits.check_count(body.count)
        question = Question("explain", (body.text, body.count, limits))
        return await worker.ask(client, ExplainOut, question, len(body.text))

    @router.post("/neighbours", responses=refusals(409, 422, 504), summary="What a span is near to, predicted or not")
    async def neighbours(body: NeighboursIn, client: Client) -> EvidenceOut:
        limits.check_texts([body.text])
        limits.check_count(body.count)
        if body.label and body.label not in service.labels:
            hint = did_you_mean(body.label, service.labels)
            raise Refusal(422, f"label: {body.label!r} is none of the model's; {hint}")
        question = Question("neighbours", (body.text, body.span, body.label, body.count))
        return await worker.ask(client, EvidenceOut, question)

    @router.get("/map", responses=refusals(409, 504), summary="The memory's entities in two dimensions")
    async def memory_map(client: Client) -> MapOut:
        return await worker.answer(client, MapOut, lambda: service.map(limits.points))

    @router.get(
        "/errors",
        responses=refusals(404, 409, 422, 504),
        summary="What the model gets wrong on the corpus that the server was started with",
    )
    async def errors(
        client: Client, kind: str = "", label: str = "", limit: Limit = 20, offset: Offset = 0
    ) -> ErrorsOut:
        return await worker.answer(client, ErrorsOut, lambda: service.list_errors(kind, label, limit, offset))

    return router


def memory_routes(service: Service, worker: Worker) -> APIRouter:
    """Reading the memory."""
    router = APIRouter(prefix="/memory", route_class=JsonRoute, responses=refusals(409, 422, 504))

    @router.get("", summary="Sentences of the memory: all, or those with a text, a label or from a document")
    async def sentences(
        client: Client, text: str = "", label: str = "", document: str = "", limit: Limit = 20, offset: Offset = 0
    ) -> SentencesOut:
        def work() -> dict[str, Any]:
            views = service.memory.sentences(text, label, document, limit, offset)
            return {"sentences": [view.to_dict() for view in views]}

        return await worker.answer(client, SentencesOut, work)

    @router.get("/log", summary="All edits since the memory was built")
    async def log(client: Client, limit: Limit = 20, offset: Offset = 0) -> LogOut:
        def work() -> dict[str, Any]:
            edits = service.memory.log()
            standing = standing_edits(edits)
            return {
                "total": len(edits),
                "edits": [edit.to_dict() for edit in edits[::-1][offset : offset + limit]],
                "undoable": standing[-1].number if standing else None,
                "training_due": service.memory.training_due,
            }

        return await worker.answer(client, LogOut, work)

    return router


def edit_routes(service: Service, worker: Worker, limits: Limits) -> APIRouter:
    """Editing the memory."""
    router = APIRouter(prefix="/memory", route_class=JsonRoute, responses=refusals(409, 422, 504))

    @router.get("/access", summary="Whether the token that is sent lets edit")
    async def access() -> AccessOut:
        return AccessOut(edits=True)  # others are refused before

    @router.post("", summary="Remember the sentences of a document with their entities")
    async def add(body: DocumentIn, client: Client) -> EditOut:
        limits.check_texts([body.text])
        return await worker.answer(client, EditOut, lambda: service.memory.add(body.document, body.weight).to_dict())

    @router.post("/corrections", summary="Remember a sentence as it should have been read")
    async def corrections(body: CorrectionIn, client: Client) -> CorrectionOut:
        limits.check_texts([body.text])
        return await worker.answer(
            client, CorrectionOut, lambda: correct(service.memory, body.text, body.span, body.label or "").to_dict()
        )

    @router.post("/corrections/preview", summary="What a correction would change in held-out sentences; none is made")
    async def preview_correction(body: CorrectionIn, client: Client) -> PreviewOut:
        limits.check_texts([body.text])
        return await worker.answer(
            client, PreviewOut, lambda: preview(service.memory, body.text, body.span, body.label or "").to_dict()
        )

    @router.post("/undo", summary="Take back the last edit that stands")
    async def undo(client: Client, only: EditNumber = None) -> EditOut:
        return await worker.answer(client, EditOut, lambda: service.memory.undo(only).to_dict())

    @router.put("/{sentence}/label", summary="Give a span of a remembered sentence another label, or none")
    async def relabel(sentence: int, body: RelabelIn, client: Client) -> EditOut:
        label = body.label or ""
        return await worker.answer(
            client,
            EditOut,
            lambda: service.memory.relabel(
                sentence, body.span, label, body.weight, identifier=body.identifier
            ).to_dict(),
        )

    @router.delete("", summary="Forget everything that came from a document")
    async def forget(client: Client, document: Annotated[str, Query(min_length=1)]) -> EditOut:
        return await worker.answer(client, EditOut, lambda: service.memory.forget(document).to_dict())

    @router.delete("/{sentence}", summary="Remove a sentence, or one span of it where start and end are given")
    async def remove(sentence: int, start: Edges, end: Edges, client: Client) -> EditOut:
        if len(start) != len(end):
            raise Refusal(422, "give both start and end, for each fragment of a span, or neither")
        try:
            span = Span(tuple(zip(start, end, strict=True))) if start else None
        except ValueError as error:
            raise Refusal(422, str(error)) from error
        return await worker.answer(client, EditOut, lambda: service.memory.remove(sentence, span).to_dict())

    return router
