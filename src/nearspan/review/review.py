"""The loop: a queue of texts, reviewers who answer them, and a memory that has each answer before the next text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from os import PathLike
from threading import RLock
from time import time
from typing import TYPE_CHECKING

from nearspan.document import Document, Entity
from nearspan.errors import AnsweredError, ConfigError, EditError
from nearspan.formats import Problem, write
from nearspan.knn import Datastore
from nearspan.memory import Edit, Editor, SentenceView, Weight
from nearspan.memory.edits import read_document, standing_edits
from nearspan.model import Model
from nearspan.review.leases import Lease, leases
from nearspan.review.pool import collect_texts, text_id
from nearspan.review.queue import Queue
from nearspan.review.retraining import Retraining
from nearspan.review.task import Answer, Progress, Task

if TYPE_CHECKING:
    from nearspan.formats.flatten import Unfit

LEASE = 600.0  # seconds for which a reviewer has a text
RECENT = 50  # answers of which it is said how many were accepted as they were
REVIEWER = "reviewer"  # who reviews alone needs no name
LONGEST_NAME = 100  # characters of a reviewer's name


class Review:
    """Texts to answer for a model, those first whose answers teach most. `model.review(texts)` opens it.

    An answer is one edit of the model's memory, on disk for good before `answer` returns, and what the memory holds is
    not asked. So there is nothing to save: opened again with the same texts a review goes on where it was, whatever
    happened meanwhile. Several reviewers and processes may review with one folder: a text is with one of them at a
    time.

        review = model.review(texts)
        while task := review.next():
            print(task.document.text, task.document.entities)
            review.answer(task.document)  # accept the entities; or task.document.with_entities(...)
        review.export("answers.jsonl")
    """

    def __init__(
        self, model: Model, texts: Iterable[Document | str], *, lease: float = LEASE, weight: Weight = "enough"
    ) -> None:
        if isinstance(texts, str | Document):
            raise TypeError("a review takes several texts or documents: give it a list")
        if not 0 < lease < float("inf"):
            raise ConfigError(f"`lease` is for how many seconds a reviewer has a text, not {lease}")
        self._weight, self._lease = weight, lease
        self._texts = collect_texts(model, texts)
        self._skipped: dict[str, dict[str, None]] = {}  # texts by reviewer, the last one last
        self._mutex = RLock()
        self._retraining: Retraining | None = None
        self._take(model)

    def _take(self, model: Model) -> None:
        """Go on with a model."""
        self.model = model
        self.memory: Editor = model.memory
        if model.datastore is None:
            raise EditError("answers go into the memory, and this model has none: fill it with `model.memory.build`")
        self._queue = Queue(model, list(self._texts.values()))
        self._read: dict[str, tuple[Entity, ...]] = {}  # what the model had read in the texts that were asked
        self._held: tuple[Datastore | None, dict[str, int]] = None, {}  # texts in the memory, by its datastore

    def __repr__(self) -> str:
        return f"Review({self.progress()})"

    def __len__(self) -> int:
        return len(self._texts)

    def prepare(self) -> None:
        """Read the texts now, which takes a while where there are many, rather than when the first one is asked."""
        with self._mutex:
            self._queue.order(self._texts.keys() - self._hold().keys(), [])

    def next(self, reviewer: str = REVIEWER) -> Task | None:
        """The text that this reviewer is to answer; None where there is none that others do not have.

        It stays the same until it is answered or skipped, or its time is over and somebody else has it.
        """
        _check_name(reviewer)
        with self._mutex:
            waiting = self._texts.keys() - self._hold().keys()
            with leases(self.memory.folder) as current:
                mine = [id for id, lease in current.items() if lease.reviewer == reviewer and id in waiting]
            order = mine or self._order(waiting, reviewer, current.keys())
            with leases(self.memory.folder) as current:  # again, as the order has taken its time
                free = (id for id in order if id not in current or current[id].reviewer == reviewer)
                return self._ask(next(free, ""), reviewer, current)

    def answer(self, document: Document, reviewer: str = REVIEWER) -> Answer:
        """Put a text of this review into the memory with the entities that it has.

        The first answer counts: where somebody else has answered the text meanwhile an AnsweredError says so. Your own
        answer once more changes nothing.
        """
        _check_name(reviewer)
        id = self._id(document)
        with self._mutex:
            if id not in self._read:
                self._read[id] = self.model(self._texts[id].document).entities
            accepted = set(document.entities) == set(self._read[id])
            with leases(self.memory.folder) as current:
                is_late = id not in current or current[id].reviewer != reviewer
            answered = self._texts[id].document.with_entities(set(document.entities))
            try:
                edit = self.memory.add(answered, self._weight, review={"reviewer": reviewer, "accepted": accepted})
            except AnsweredError:
                if (again := self._same_answer(answered, reviewer)) is None:
                    raise
                return again
            with leases(self.memory.folder) as current:
                current.pop(id, None)
            return Answer(edit, accepted, is_late)

    def skip(self, document: Document, reviewer: str = REVIEWER) -> None:
        """Leave a text to others. This reviewer gets it again once there is nothing else."""
        _check_name(reviewer)
        id = self._id(document)
        with self._mutex:
            skipped = self._skipped.setdefault(reviewer, {})
            skipped.pop(id, None)
            skipped[id] = None
            with leases(self.memory.folder) as current:
                if id in current and current[id].reviewer == reviewer:
                    del current[id]

    def undo(self, reviewer: str = REVIEWER) -> Task:
        """Take back the last answer of this reviewer that stands, and ask the text again.

        That is an edit of the memory too. What others have done since stays as it is.
        """
        _check_name(reviewer)
        with self._mutex:
            answers = self._answers()
            last = next((edit for edit in reversed(answers) if edit.change["review"]["reviewer"] == reviewer), None)
            if last is None:
                raise EditError(f"{reviewer} has answered none of these texts, so there is nothing to undo")
            if standing_edits(self.memory.log())[-1] == last:
                self.memory.undo(last.number)
            else:
                self.memory.remove(last.change["first"])
            with leases(self.memory.folder) as current:
                for id in [id for id, lease in current.items() if lease.reviewer == reviewer]:
                    del current[id]
                task = self._ask(text_id(last.change["document"]["text"]), reviewer, current)
            assert task is not None
            return task

    def train(self) -> None:
        """Train the model again with all answers, in a process of its own, while the review goes on.

        `progress` says how it stands. When it is ready, `swap` goes on with the new model.
        """
        with self._mutex:
            if self._retraining is not None and self._retraining.is_running:
                raise EditError("the model is being trained already")
            self._retraining = Retraining(self.memory.folder)

    def swap(self, configure: Callable[[Model], Model] = lambda model: model) -> bool:
        """Go on with the model that `train` has made, if it is ready; whether it was.

        It takes the folder of the old one, which is kept under the name with `.before`, and has all answers that were
        given during the training. `configure` may set how it is used. What is trained counts as known from then on.
        """
        with self._mutex:
            training = self._retraining
            if training is None or training.is_running or training.failure or not training.swap():
                return False
            training.stop()
            self._retraining = None
            model = Model.load(self.memory.folder, str(self.model.device))
            self._take(configure(model))
            self.prepare()
            return True

    def close(self) -> None:
        """Stop a training that is not ready. Nothing else is open."""
        with self._mutex:
            if self._retraining is not None:
                self._retraining.stop()
            self._retraining = None

    def progress(self) -> Progress:
        """How far the review is, as the memory has it."""
        with self._mutex:
            answers = [edit.change["review"] for edit in self._answers()]
            held = len(self._texts.keys() & self._hold().keys())
            with leases(self.memory.folder) as current:
                asked = {lease.reviewer: id for id, lease in current.items() if id in self._texts}
            return Progress(
                texts=len(self._texts),
                known=held - len(answers),
                answered=len(answers),
                accepted=sum(answer["accepted"] for answer in answers),
                recently_accepted=[answer["accepted"] for answer in answers[-RECENT:]].count(True),
                by_reviewer=dict(Counter(answer["reviewer"] for answer in answers).most_common()),
                asked=asked,
                training_due=self.memory.training_due,
                training=self._training(),
            )

    def answers(self) -> list[Document]:
        """The texts that the memory holds, in their order, with their entities as the memory has them now."""
        with self._mutex:
            held, answered = self._hold(), {text_id(edit.change["document"]["text"]): edit for edit in self._answers()}
            return [
                replace(self._remembered(held[id], text.document, answered.get(id)), id=name)
                for id, text in self._texts.items()
                if id in held
                for name in text.names
            ]

    def export(
        self, path: PathLike[str] | str, format: str | None = None, *, force: bool = False, unfit: Unfit = "refuse"
    ) -> tuple[Problem, ...]:
        """Write the answers, in any format that `nearspan.write` can."""
        return write(self.answers(), path, format, force=force, unfit=unfit)

    def _training(self) -> str:
        if self._retraining is None:
            return ""
        failure = self._retraining.failure
        return "running" if self._retraining.is_running else f"failed: {failure}" if failure else "ready"

    def _id(self, document: Document) -> str:
        """The id of a text of this review."""
        id = text_id(document.text)
        if id not in self._texts:
            raise EditError(f"this is no text of the review: {document!r}")
        return id

    def _hold(self) -> dict[str, int]:
        """The texts that the memory holds, each with the number of its sentence."""
        self.memory.refresh()
        datastore = self.model.datastore
        if datastore is not self._held[0] and datastore is not None:
            texts = (text_id(sentence.text) for sentence in datastore.sentences)
            self._held = datastore, dict(zip(texts, datastore.ids, strict=True))
        return self._held[1]

    def _order(self, waiting: Collection[str], reviewer: str, asked: Collection[str]) -> list[str]:
        """The texts that a reviewer can have, those skipped last."""
        skipped = self._skipped.get(reviewer, {})
        order = self._queue.order({id for id in waiting if id not in asked and id not in skipped}, [*asked, *skipped])
        return [*order, *(id for id in skipped if id in waiting)]

    def _ask(self, id: str, reviewer: str, current: dict[str, Lease]) -> Task | None:
        """A text for a reviewer, with a lease; none for no text."""
        if not id:
            return None
        lease = current[id] = Lease(reviewer, time() + self._lease)
        document = self.model(self._texts[id].document)
        self._read[id] = document.entities
        return Task(id, document, *self._queue.measure(id), lease.until)

    def _answers(self) -> list[Edit]:
        """The answers to these texts that are in the memory."""
        self.memory.refresh()
        ids = set(self._hold().values())
        return [
            edit
            for edit in standing_edits(self.memory.log())
            if "review" in edit.change
            and edit.change["first"] in ids
            and text_id(edit.change["document"]["text"]) in self._texts
        ]

    def _same_answer(self, document: Document, reviewer: str) -> Answer | None:
        """This answer, where it was given before: a connection may have failed before that was said."""
        for edit in self._answers():
            answered, review = read_document(edit.change["document"]), edit.change["review"]
            is_same = answered.text == document.text and answered.entities == document.entities
            if is_same and review["reviewer"] == reviewer:
                return Answer(edit, review["accepted"], False)
        return None

    def _remembered(self, sentence: int, document: Document, edit: Edit | None) -> Document:
        """A text as the memory has it now. Of an answer that nobody has changed, also what the memory cannot hold."""
        view = self.memory.sentence(sentence)
        if edit is not None:
            answered = read_document(edit.change["document"])
            [remembered] = self.model.memory_sentences(answered)
            if SentenceView.of(sentence, remembered).entities == view.entities:
                return answered
        return document.with_entities(view.entities)


def _check_name(reviewer: str) -> None:
    """Refuse a name that nobody can read in a list."""
    if not reviewer.strip() or len(reviewer) > LONGEST_NAME or not reviewer.isprintable():
        raise EditError(f"a reviewer's name has 1 to {LONGEST_NAME} characters that can be printed, not {reviewer!r}")
