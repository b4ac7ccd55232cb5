"""Routes that read: annotate, explain, neighbours, map, errors, health."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from nearspan import __version__
from nearspan.errors import did_you_mean
from nearspan.server.answers import (
    AnnotateOut,
    DocumentOut,
    EntityOut,
    EvidenceOut,
    ExplainOut,
    HealthOut,
    MapOut,
    MistakesOut,
)
from nearspan.server.bodies import AnnotateBody, ExplainBody, NeighboursBody
from nearspan.server.limits import Limits, Refused
from nearspan.server.service import Service
from nearspan.server.worker import Worker

Limit = Annotated[int, Query(ge=1, le=100)]
Offset = Annotated[int, Query(ge=0, le=1_000_000_000)]


def reading(service: Service, worker: Worker, limits: Limits) -> APIRouter:
    """The routes that anyone may use."""
    routes = APIRouter()

    @routes.get("/health", summary="Whether the server is up, and what it serves")
    async def health() -> HealthOut:
        model = service.editor.model
        return HealthOut(
            status="ok",
            version=__version__,
            recipe=model.recipe.name,
            labels=service.labels,
            overlap=model.overlap,
            sentences=len(model.memory.sentences) if model.memory is not None else 0,
            share=service.share,
            waiting=worker.waiting,
            corpus=service.mistakes is not None,
            limits=limits,
        )

    @routes.post("/annotate", summary="Find the entities of a text or of a batch of texts", response_model=AnnotateOut)
    async def annotate(body: AnnotateBody) -> Response:
        limits.check(body.all)

        def work() -> AnnotateOut:
            return AnnotateOut(
                documents=[
                    DocumentOut(entities=[EntityOut.of(entity, document.text) for entity in document.entities])
                    for document in service.annotate(body.all)
                ]
            )

        return await worker.answer(work)

    @routes.post(
        "/explain", summary="The training spans that each entity of a text rests on", response_model=ExplainOut
    )
    async def explain(body: ExplainBody) -> Response:
        limits.check([body.text], limits.explained_characters)
        limits.check_count(body.count)

        def work() -> ExplainOut:
            found = service.explain(body.text, body.count, limits)
            return ExplainOut(evidence=[EvidenceOut(**one.to_dict()) for one in found])

        return await worker.answer(work)

    @routes.post("/neighbours", summary="What a span is near to, predicted or not", response_model=EvidenceOut)
    async def neighbours(body: NeighboursBody) -> Response:
        limits.check([body.text])
        limits.check_count(body.count)
        if body.label and body.label not in service.labels:
            raise Refused(
                422, f"label: {body.label!r} is none of the model's; {did_you_mean(body.label, service.labels)}"
            )

        def work() -> EvidenceOut:
            return EvidenceOut(**service.neighbours(body.text, body.span, body.label, body.count).to_dict())

        return await worker.answer(work)

    @routes.get("/map", summary="The memory's entities in two dimensions", response_model=MapOut)
    async def memory_map() -> Response:
        return await worker.answer(lambda: service.map(limits.points))

    @routes.get(
        "/errors",
        summary="What the model gets wrong on the corpus that the server was started with",
        response_model=MistakesOut,
    )
    async def errors(kind: str = "", label: str = "", limit: Limit = 20, offset: Offset = 0) -> Response:
        if service.mistakes is None:
            raise Refused(404, "no corpus to score: start the server with --corpus FILE")
        mistakes = service.mistakes

        def work() -> MistakesOut:
            return mistakes.page(kind, label, limit, offset, service.model.memory is not mistakes.memory)

        return await worker.answer(work)

    return routes
