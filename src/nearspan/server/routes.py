"""Routes: questions to the model, which anyone may ask, and the memory, which takes the token to edit."""

from __future__ import annotations

from hmac import compare_digest
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from nearspan import __version__
from nearspan.document import Span
from nearspan.errors import did_you_mean
from nearspan.server.correction import correct
from nearspan.server.limits import Limits, Refusal
from nearspan.server.request_schemas import AnnotateIn, CorrectionIn, DocumentIn, ExplainIn, NeighboursIn, RelabelIn
from nearspan.server.response_schemas import (
    AnnotateOut,
    CorrectionOut,
    EditOut,
    ErrorsOut,
    EvidenceOut,
    ExplainOut,
    HealthOut,
    LogOut,
    MapOut,
    SentencesOut,
)
from nearspan.server.service import Service, Worker

Limit = Annotated[int, Query(ge=1, le=100)]
Offset = Annotated[int, Query(ge=0, le=1_000_000_000)]
Edges = Annotated[list[int], Query(max_length=64, default_factory=list, description="one, or one for each fragment")]
EditNumber = Annotated[int | None, Query(description="undo this edit or nothing")]
Credentials = Annotated[
    HTTPAuthorizationCredentials | None,
    Depends(HTTPBearer(auto_error=False, description="printed when the server starts")),
]


def model_routes(service: Service, worker: Worker, limits: Limits) -> APIRouter:
    """Questions to the model."""
    router = APIRouter()

    @router.get("/health", summary="Whether the server is up, and what it serves")
    async def health() -> HealthOut:
        described = service.describe()
        return HealthOut(status="ok", version=__version__, waiting=worker.waiting, limits=limits, **described)

    @router.post("/annotate", summary="Find the entities of a text or of a batch of texts")
    async def annotate(body: AnnotateIn) -> AnnotateOut:
        limits.check_texts(body.batch)
        return await worker.answer(
            AnnotateOut, lambda: {"documents": [document.to_dict() for document in service.annotate(body.batch)]}
        )

    @router.post("/explain", summary="The training spans that each entity of a text rests on")
    async def explain(body: ExplainIn) -> ExplainOut:
        limits.check_texts([body.text], limits.explained_characters)
        limits.check_count(body.count)
        return await worker.answer(
            ExplainOut,
            lambda: {"evidence": [entity.to_dict() for entity in service.explain(body.text, body.count, limits)]},
        )

    @router.post("/neighbours", summary="What a span is near to, predicted or not")
    async def neighbours(body: NeighboursIn) -> EvidenceOut:
        limits.check_texts([body.text])
        limits.check_count(body.count)
        if body.label and body.label not in service.labels:
            hint = did_you_mean(body.label, service.labels)
            raise Refusal(422, f"label: {body.label!r} is none of the model's; {hint}")
        return await worker.answer(
            EvidenceOut, lambda: service.neighbours(body.text, body.span, body.label, body.count).to_dict()
        )

    @router.get("/map", summary="The memory's entities in two dimensions")
    async def memory_map() -> MapOut:
        return await worker.answer(MapOut, lambda: service.map(limits.points))

    @router.get("/errors", summary="What the model gets wrong on the corpus that the server was started with")
    async def errors(kind: str = "", label: str = "", limit: Limit = 20, offset: Offset = 0) -> ErrorsOut:
        return await worker.answer(ErrorsOut, lambda: service.list_errors(kind, label, limit, offset))

    return router


def memory_routes(service: Service, worker: Worker, limits: Limits, token: str) -> APIRouter:
    """Reading and editing the memory."""

    def check_token(credentials: Credentials) -> None:
        if credentials is None or not compare_digest(credentials.credentials.encode(), token.encode()):
            raise Refusal(401, "editing needs the server's token: Authorization: Bearer TOKEN")

    reading = APIRouter(prefix="/memory")
    editing = APIRouter(prefix="/memory", dependencies=[Depends(check_token)])

    @reading.get("", summary="Sentences of the memory: all, or those with a text, a label or from a document")
    async def sentences(
        text: str = "", label: str = "", document: str = "", limit: Limit = 20, offset: Offset = 0
    ) -> SentencesOut:
        def work() -> dict[str, Any]:
            views = service.memory.sentences(text, label, document, limit, offset)
            return {"sentences": [view.to_dict() for view in views]}

        return await worker.answer(SentencesOut, work)

    @reading.get("/log", summary="All edits since the memory was built")
    async def log(limit: Limit = 20, offset: Offset = 0) -> LogOut:
        def work() -> dict[str, Any]:
            edits = service.memory.log()
            return {"total": len(edits), "edits": [edit.to_dict() for edit in edits[::-1][offset : offset + limit]]}

        return await worker.answer(LogOut, work)

    @editing.post("", summary="Remember the sentences of a document with their entities")
    async def add(body: DocumentIn) -> EditOut:
        limits.check_texts([body.text])
        return await worker.answer(EditOut, lambda: service.memory.add(body.document, body.weight).to_dict())

    @editing.post("/corrections", summary="Remember a sentence as it should have been read")
    async def corrections(body: CorrectionIn) -> CorrectionOut:
        limits.check_texts([body.text])
        return await worker.answer(
            CorrectionOut, lambda: correct(service.memory, body.text, body.span, body.label or "").to_dict()
        )

    @editing.post("/undo", summary="Take back the last edit that stands")
    async def undo(only: EditNumber = None) -> EditOut:
        return await worker.answer(EditOut, lambda: service.memory.undo(only).to_dict())

    @editing.put("/{sentence}/label", summary="Give a span of a remembered sentence another label, or none")
    async def relabel(sentence: int, body: RelabelIn) -> EditOut:
        label = body.label or ""
        return await worker.answer(
            EditOut, lambda: service.memory.relabel(sentence, body.span, label, body.weight).to_dict()
        )

    @editing.delete("", summary="Forget everything that came from a document")
    async def forget(document: Annotated[str, Query(min_length=1)]) -> EditOut:
        return await worker.answer(EditOut, lambda: service.memory.forget(document).to_dict())

    @editing.delete("/{sentence}", summary="Remove a sentence, or one span of it where start and end are given")
    async def remove(sentence: int, start: Edges, end: Edges) -> EditOut:
        if len(start) != len(end):
            raise Refusal(422, "give both start and end, for each fragment of a span, or neither")
        try:
            span = Span(tuple(zip(start, end, strict=True))) if start else None
        except ValueError as error:
            raise Refusal(422, str(error)) from error
        return await worker.answer(EditOut, lambda: service.memory.remove(sentence, span).to_dict())

    router = APIRouter()
    router.include_router(reading)
    router.include_router(editing, responses={401: {"description": "the token is missing or wrong"}})
    return router
