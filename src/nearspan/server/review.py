"""Routes of a review: texts are asked and answered, and each answer is an edit of the memory."""

import base64
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from fastapi import APIRouter

from nearspan.formats import known_formats
from nearspan.review import Review
from nearspan.server.limits import Limits, Refusal
from nearspan.server.review_schemas import (
    AnsweredOut,
    AnswerIn,
    AnswersOut,
    NextOut,
    ProgressOut,
    ReviewerIn,
    ReviewOut,
    SkipIn,
)
from nearspan.server.routes import Client, JsonRoute
from nearspan.server.schemas import refusals
from nearspan.server.service import ONE_WORKER, Service
from nearspan.server.worker import Worker


def review_routes(service: Service, worker: Worker, limits: Limits, workers: int = 1) -> APIRouter:
    """Texts to answer, and answers; all of it for those who may edit."""
    router = APIRouter(prefix="/review", route_class=JsonRoute, responses=refusals(404, 409, 422, 504))

    @router.get("", summary="How far the review is")
    async def progress(client: Client) -> ReviewOut:
        return await worker.answer(client, ReviewOut, lambda: _with_progress(service.review, formats=file_formats()))

    @router.post("/next", summary="The text that a reviewer is to answer")
    async def next_task(body: ReviewerIn, client: Client) -> NextOut:
        def work() -> dict[str, Any]:
            task = service.review.next(body.reviewer)
            return _with_progress(service.review, task=None if task is None else task.to_dict())

        return await worker.answer(client, NextOut, work)

    @router.post("/answer", summary="Remember a text of the review with its entities")
    async def answer(body: AnswerIn, client: Client) -> AnsweredOut:
        limits.check_texts([body.text])

        def work() -> dict[str, Any]:
            return _with_progress(service.review, **service.review.answer(body.document, body.reviewer).to_dict())

        return await worker.answer(client, AnsweredOut, work)

    @router.post("/skip", summary="Leave a text to others")
    async def skip(body: SkipIn, client: Client) -> ProgressOut:
        def work() -> dict[str, Any]:
            service.review.skip(body.document, body.reviewer)
            return service.review.progress().to_dict()

        return await worker.answer(client, ProgressOut, work)

    @router.post("/undo", summary="Take back a reviewer's last answer, and ask its text again")
    async def undo(body: ReviewerIn, client: Client) -> NextOut:
        return await worker.answer(
            client,
            NextOut,
            lambda: _with_progress(service.review, task=service.review.undo(body.reviewer).to_dict()),
        )

    @router.post("/train", summary="Train the model again with all answers, in the background; then it is swapped in")
    async def train(client: Client) -> ProgressOut:
        if workers > 1:
            raise Refusal(409, ONE_WORKER)

        def work() -> dict[str, Any]:
            service.review.train()
            return service.review.progress().to_dict()

        return await worker.answer(client, ProgressOut, work)

    @router.get("/answers", summary="All answers as a file of any format")
    async def answers(
        client: Client, format: str = "jsonl", unfit: Literal["refuse", "drop", "flatten"] = "refuse"
    ) -> AnswersOut:
        return await worker.answer(client, AnswersOut, lambda: write_answers(service.review, format, unfit))

    return router


def file_formats() -> Sequence[str]:
    """The formats in which a corpus is written as one file."""
    return sorted(name for name, known in known_formats().items() if known.write is not None and not known.folder)


def write_answers(review: Review, format: str, unfit: Literal["refuse", "drop", "flatten"]) -> dict[str, Any]:
    """The answers as the file that `export` writes."""
    if format not in file_formats():
        raise Refusal(422, f"format: {format!r} is none that is written as one file: {', '.join(file_formats())}")
    name = f"answers{next(iter(known_formats()[format].endings), f'.{format}')}"
    with TemporaryDirectory() as folder:
        problems = review.export(Path(folder) / name, format, unfit=unfit)
        content = base64.b64encode((Path(folder) / name).read_bytes()).decode("ascii")
    return {"name": name, "content": content, "problems": [problem.message for problem in problems]}


def _with_progress(review: Review, **content: Any) -> dict[str, Any]:
    return content | {"progress": review.progress().to_dict()}
