"""Routes that speak Label Studio's protocol of ML backends, and what they do with its tasks and annotations."""

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from nearspan.document import Document
from nearspan.errors import ConfigError, NearspanError
from nearspan.integrations.evidence_note import evidence_note
from nearspan.integrations.label_studio import LabellingConfig, RegionReader, write_regions
from nearspan.server.inbox import Change, ChangesOut, Inbox
from nearspan.server.limits import Limits
from nearspan.server.routes import Client, JsonRoute
from nearspan.server.schemas import refusals
from nearspan.server.service import Service
from nearspan.server.worker import Pieces, Worker

logger = logging.getLogger(__name__)

NAME = "label-studio"  # documents are named label-studio/PROJECT/TASK/ANNOTATION
NEIGHBOURS = 3  # listed for each entity
SAVED = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED", "ANNOTATIONS_CREATED")
NO_MEMORY = "this model has no memory, so what annotators save changes nothing"
NO_WEIGHT = (
    "this model predicts without its memory: what annotators save is kept there, and changes predictions once the "
    "server is started with --interpolate"
)

Record = dict[str, Any]


class SetupIn(BaseModel):
    """A project that wants predictions."""

    config: str = Field(alias="schema")
    project: str = ""


class SetupOut(BaseModel):
    """The model as it is now: another edit of the memory, another version."""

    model_version: str
    messages: list[str] = Field(description="what a person should know about the project's labels and the model's")


class PredictIn(BaseModel):
    """Tasks to predict."""

    tasks: list[Record]
    label_config: str


class PredictionOut(BaseModel):
    """The prediction of a task."""

    result: list[Record]
    score: float | None = Field(description="of the least certain of its entities; null where it has none")
    model_version: str


class PredictOut(BaseModel):
    """A prediction for each task, in order."""

    results: list[PredictionOut]
    model_version: str


class WebhookIn(BaseModel):
    """Something that has happened in a project."""

    action: str
    annotation: Record | list[Record] | None = None
    task: Record | list[Record] | None = None
    annotations: list[Record] | None = None
    tasks: list[Record] | None = None
    project: Record | None = None


class StatusOut(BaseModel):
    """Whether the server is up."""

    status: str


def label_studio_routes(service: Service, worker: Worker, limits: Limits, inbox: Inbox) -> APIRouter:
    """Label Studio's questions, and the annotations that it tells of."""
    router = APIRouter(prefix=f"/{NAME}", route_class=JsonRoute, responses=refusals(409, 422, 504))
    known: dict[str, list[str]] = {}  # by project, what the log says of it already

    @router.get("/health", summary="Whether Label Studio can connect")
    async def health() -> StatusOut:
        return StatusOut(status="UP")

    @router.post("/setup", summary="Connect a project: the model's version, and whether their labels agree")
    async def setup(body: SetupIn, client: Client) -> SetupOut:
        messages = _check_project(service, body.config)
        if known.get(body.project) != messages:
            known[body.project] = messages
            for message in messages:
                logger.warning("Label Studio, project %s: %s", body.project, message)
        return await worker.answer(client, SetupOut, lambda: _set_up(service, inbox, messages))

    @router.post("/predict", summary="The entities of tasks, with what they rest on")
    async def predict(body: PredictIn, client: Client) -> PredictOut:
        config = LabellingConfig.parse(body.label_config)
        most = limits.explained_entities
        return await worker.answer(client, PredictOut, lambda: _predict(service, inbox, config, body.tasks, most))

    @router.post("/webhook", summary="Take a saved annotation into the memory, or forget a deleted one")
    async def webhook(body: WebhookIn, client: Client) -> ChangesOut:
        if body.action == "START_TRAINING":
            return await worker.answer(client, ChangesOut, lambda: _train(inbox))
        try:
            changes = read_changes(body, service.may_remember)
        except NearspanError as error:
            logger.warning("Label Studio, %s: %s", body.action, error)
            raise
        return await inbox.deliver(client, changes) if changes else ChangesOut(edits=[], problems=[])

    @router.post("/train", summary="Train the model again with all that was saved, in the background")
    async def train(client: Client) -> ChangesOut:
        return await worker.answer(client, ChangesOut, lambda: _train(inbox))

    return router


def _train(inbox: Inbox) -> Pieces[Record]:
    """Begin to train, with what annotators have saved in the memory."""
    yield from inbox.apply()
    inbox.train()
    return {"edits": [], "problems": []}


def _check_project(service: Service, config: str) -> list[str]:
    """What a person should know before annotating; an error where nothing could come of it."""
    try:
        parsed = LabellingConfig.parse(config)
        messages = parsed.compare_labels(service.labels, service.may_remember)
        if messages and not any(map(service.may_remember, parsed.labels)):
            names = [", ".join(sorted(labels)) or "none" for labels in (parsed.labels, service.labels)]
            raise ConfigError(f"the project's labels ({names[0]}) and the model's ({names[1]}) have none in common")
    except ConfigError as error:
        logger.warning("Label Studio cannot use this model: %s", error)
        raise
    described = service.describe()
    if not described["sentences"]:
        messages.append(NO_MEMORY)
    elif not described["datastore_weight"]:
        messages.append(NO_WEIGHT)
    return messages


def _set_up(service: Service, inbox: Inbox, messages: list[str]) -> Pieces[Record]:
    yield from inbox.apply()
    return {"model_version": service.version(), "messages": messages}


def _predict(
    service: Service, inbox: Inbox, config: LabellingConfig, tasks: Sequence[Record], most: int
) -> Pieces[Record]:
    """The tasks' predictions, after what annotators have saved is in the memory; `most` entities are explained."""
    yield from inbox.apply()
    version = service.version()
    texts = [(number, tag, tag.read(task)) for number, task in enumerate(tasks) for tag in config.texts]
    placed = [(number, tag, Document(text)) for number, tag, text in texts if text]
    explained = yield from service.explain_documents([document for *_, document in placed], NEIGHBOURS, most)
    results: list[Record] = [{"result": [], "score": None, "model_version": version} for _ in tasks]
    for (number, tag, _), (document, evidence) in zip(placed, explained, strict=True):
        notes = [evidence_note(each) for each in evidence]
        notes += [""] * (len(document.entities) - len(notes))
        result = results[number]
        result["result"] += write_regions(tag, document, notes, config.joins_fragments)
        scores = [region["score"] for region in result["result"] if region.get("score") is not None]
        result["score"] = min(scores, default=None)
    return {"results": results, "model_version": version}


def read_changes(event: WebhookIn, may_remember: Callable[[str], bool]) -> list[Change]:
    """What an event does to the memory, for a model that may remember some labels."""
    if event.action in SAVED:
        config = LabellingConfig.parse(str((event.project or {}).get("label_config", "")))
        tasks = {task.get("id"): task for task in _records(event.task)}
        return [
            _read_annotation(annotation, tasks.get(annotation.get("task"), {}), config, may_remember)
            for annotation in _records(event.annotation)
        ]
    if event.action == "ANNOTATIONS_DELETED":
        if not event.annotations:
            logger.warning("Label Studio does not say which annotations were deleted, so the memory keeps them")
        return [_deleted(f"annotation {id}", rf"{NAME}/\d+/\d+/{id}(/.*)?") for id in _ids(event.annotations)]
    if event.action == "TASKS_DELETED":
        return [_deleted(f"task {id}", rf"{NAME}/\d+/{id}/.*") for id in _ids(event.tasks)]
    return []


def _read_annotation(
    annotation: Record, task: Record, config: LabellingConfig, may_remember: Callable[[str], bool]
) -> Change:
    """The documents of an annotation, in the place of all that the memory has of its task; where skipped, none."""
    numbers = [record.get(key) for record, key in ((task, "project"), (task, "id"), (annotation, "id"))]
    if not all(type(number) is int for number in numbers):
        raise ConfigError("the annotation comes without its task: let the webhook send its payload")
    place, prefix = f"Label Studio, task {numbers[1]}", f"{NAME}/{numbers[0]}/{numbers[1]}/"
    name = f"{prefix}{numbers[2]}"
    if annotation.get("was_cancelled"):
        return _deleted(place, re.escape(name) + "(/.*)?")
    reader, documents = RegionReader(lambda label: config.offers(label) and may_remember(label)), []
    regions = annotation.get("result")
    result = [region for region in regions if isinstance(region, Mapping)] if isinstance(regions, list) else []
    for tag in config.texts:
        text = tag.read(task)
        if text is None:
            reader.problems.append(f"the task has no text at {'.'.join(tag.key)!r}")
        else:
            document = reader.read(tag, text, result)
            suffix = f"/{tag.name}" if len(config.texts) > 1 else ""
            documents.append(Document(text, document.entities, f"{name}{suffix}"))
    return Change(place, lambda of: of.startswith(prefix), lambda: (documents, reader.problems))


def _deleted(place: str, pattern: str) -> Change:
    return Change(place, partial(re.fullmatch, pattern))


def _records(value: Record | list[Record] | None) -> list[Record]:
    return [value] if isinstance(value, dict) else value or []


def _ids(records: list[Record] | None) -> list[int]:
    return [record["id"] for record in records or () if type(record.get("id")) is int]
