"""Routes of the memory: reading it is free, editing it takes the token."""

from __future__ import annotations

from hmac import compare_digest
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from nearspan.document import Document, Entity, Span
from nearspan.server.answers import CorrectionOut, EditOut, LogOut, SentenceOut, SentencesOut
from nearspan.server.bodies import AddBody, CorrectionBody, RelabelBody
from nearspan.server.correction import correct
from nearspan.server.limits import Limits, Refused
from nearspan.server.reading import Limit, Offset
from nearspan.server.service import Service
from nearspan.server.worker import Worker

bearer = HTTPBearer(auto_error=False, description="printed when the server starts")
Edges = Annotated[list[int], Query(max_length=64, default_factory=list, description="one, or one for each fragment")]
Given = Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]


def editing(service: Service, worker: Worker, limits: Limits, token: str) -> APIRouter:
    """The routes under /memory."""

    def allowed(given: Given) -> None:
        if given is None or not compare_digest(given.credentials.encode(), token.encode()):
            raise Refused(401, "editing needs the server's token: Authorization: Bearer TOKEN")

    open_, closed = APIRouter(prefix="/memory"), APIRouter(prefix="/memory", dependencies=[Depends(allowed)])
    editor = service.editor

    @open_.get(
        "",
        summary="Sentences of the memory: all, or those with a text, a label or from a document",
        response_model=SentencesOut,
    )
    async def sentences(
        text: str = "", label: str = "", document: str = "", limit: Limit = 20, offset: Offset = 0
    ) -> Response:
        def work() -> SentencesOut:
            editor.refresh()
            found = editor.sentences(text, label, document, limit, offset)
            return SentencesOut(sentences=[SentenceOut(**one.to_dict()) for one in found])

        return await worker.answer(work)

    @open_.get("/log", summary="All edits since the memory was built", response_model=LogOut)
    async def log(limit: Limit = 20, offset: Offset = 0) -> Response:
        def work() -> LogOut:
            editor.refresh()
            edits = editor.log()
            return LogOut(total=len(edits), edits=[EditOut.of(edit) for edit in edits[::-1][offset : offset + limit]])

        return await worker.answer(work)

    @closed.post("", summary="Remember the sentences of a text with their entities")
    async def add(body: AddBody) -> EditOut:
        limits.check([body.text])
        entities = {Entity(Span(tuple(one.fragments)), one.label) for one in body.entities}
        document = Document(body.text, tuple(sorted(entities)), body.document)
        return EditOut.of(await worker.run(lambda: editor.add(document, body.weight)))

    @closed.post("/corrections", summary="Remember a sentence as it should have been read")
    async def corrections(body: CorrectionBody) -> CorrectionOut:
        limits.check([body.text])

        def work() -> CorrectionOut:
            done = correct(editor, body.text, body.span, body.label or "")
            return CorrectionOut(edit=EditOut.of(done.edit), label=done.label or None)

        return await worker.run(work)

    @closed.post("/undo", summary="Take back the last edit that stands")
    async def undo(
        only: Annotated[int | None, Query(description="The number of the edit that is meant.")] = None,
    ) -> EditOut:
        return EditOut.of(await worker.run(lambda: editor.undo(only)))

    @closed.put("/{sentence}/label", summary="Give a span of a remembered sentence another label, or none")
    async def relabel(sentence: int, body: RelabelBody) -> EditOut:
        span = Span(tuple(body.fragments))
        return EditOut.of(await worker.run(lambda: editor.relabel(sentence, span, body.label or "", body.weight)))

    @closed.delete("", summary="Forget everything that came from a document")
    async def forget(document: Annotated[str, Query(min_length=1)]) -> EditOut:
        return EditOut.of(await worker.run(lambda: editor.forget(document)))

    @closed.delete("/{sentence}", summary="Remove a sentence, or one span of it where start and end are given")
    async def remove(sentence: int, start: Edges, end: Edges) -> EditOut:
        if len(start) != len(end):
            raise Refused(422, "give both start and end, for each fragment of a span, or neither")
        try:
            span = Span(tuple(zip(start, end, strict=True))) if start else None
        except ValueError as error:
            raise Refused(422, str(error)) from error
        return EditOut.of(await worker.run(lambda: editor.remove(sentence, span)))

    routes = APIRouter()
    routes.include_router(open_)
    routes.include_router(closed, responses={401: {"description": "the token is missing or wrong"}})
    return routes
