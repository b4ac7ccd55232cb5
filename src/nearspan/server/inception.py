"""Routes that speak INCEpTION's protocol of external recommenders, and what they do with its documents."""

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel

from nearspan.document import Document
from nearspan.integrations.evidence_note import evidence_note
from nearspan.integrations.inception import Layer
from nearspan.server.inbox import Change, Inbox
from nearspan.server.limits import Limits
from nearspan.server.routes import Client, JsonRoute
from nearspan.server.schemas import refusals
from nearspan.server.service import Service
from nearspan.server.worker import Pieces, Worker

NAME = "inception"  # documents are named inception/PROJECT/DOCUMENT/USER/FIRST CHARACTER OF THE SENTENCE
NEIGHBOURS = 3  # listed for each entity


class MetadataIn(BaseModel):
    """The layer that is annotated, the feature that holds labels, and the project."""

    layer: str
    feature: str
    projectId: int


class CasIn(BaseModel):
    """A document of a user."""

    xmi: str
    documentId: int | str
    userId: str


class PredictIn(BaseModel):
    """A document to predict."""

    metadata: MetadataIn
    document: CasIn
    typeSystem: str


class PredictOut(BaseModel):
    """The document with predictions."""

    document: str


class TrainIn(BaseModel):
    """What a user has annotated."""

    metadata: MetadataIn
    documents: list[CasIn]
    typeSystem: str


def inception_routes(service: Service, worker: Worker, limits: Limits, inbox: Inbox) -> APIRouter:
    """INCEpTION's questions, and the annotations that it trains with. The path ends in the server's token."""
    router = APIRouter(prefix=f"/{NAME}/{{classifier}}", route_class=JsonRoute, responses=refusals(409, 422, 504))

    @router.post("/predict", summary="The entities of a document, as predictions in its CAS")
    async def predict(body: PredictIn, client: Client) -> PredictOut:
        most = limits.explained_entities
        return await worker.answer(client, PredictOut, lambda: _predict(service, inbox, body, most))

    @router.post("/train", status_code=204, summary="Take the annotated sentences of documents into the memory")
    async def train(body: TrainIn, client: Client) -> Response:
        changes = [_read_change(body, document, service.may_remember) for document in body.documents]
        if changes:
            await inbox.deliver(client, changes)
        return Response(status_code=204)

    return router


def _predict(service: Service, inbox: Inbox, body: PredictIn, most: int) -> Pieces[dict[str, Any]]:
    yield from inbox.apply()
    layer = Layer.read(body.typeSystem, body.document.xmi, body.metadata.layer, body.metadata.feature)
    [(document, evidence)] = yield from service.explain_documents([layer.to_document()], NEIGHBOURS, most)
    notes = [evidence_note(each) for each in evidence]
    return {"document": layer.add_predictions(document, notes + [""] * (len(document.entities) - len(notes)))}


def _read_change(body: TrainIn, document: CasIn, may_remember: Callable[[str], bool]) -> Change:
    """The annotated sentences of a document, in the place of those that the memory has of it and this user."""
    prefix = f"{NAME}/{body.metadata.projectId}/{document.documentId}/{document.userId}/"

    def read() -> tuple[list[Document], list[str]]:
        layer = Layer.read(body.typeSystem, document.xmi, body.metadata.layer, body.metadata.feature)
        sentences, problems = [], set[str]()
        for sentence in layer.annotated_sentences(prefix):
            known = [entity for entity in sentence.entities if may_remember(entity.label)]
            unknown = {entity.label for entity in sentence.entities if not may_remember(entity.label)}
            problems |= {f"the model cannot have the label {label}: it is not remembered" for label in unknown}
            if known:
                sentences.append(sentence.with_entities(known))
        return sentences, [*layer.problems, *sorted(problems)]

    place = f"INCEpTION, document {document.documentId} of {document.userId}"
    return Change(place, lambda name: name.startswith(prefix), read)
