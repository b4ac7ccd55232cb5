"""Replicas answer as the service does, and know of every edit; texts that wait are read together."""

import asyncio
import json
import os
import signal
import threading

import pytest

from nearspan.document import Span
from nearspan.errors import ConfigError
from nearspan.processes import ProcessDied
from nearspan.server import Limits, create_app
from nearspan.server.limits import Refusal
from nearspan.server.replica import start_replicas
from nearspan.server.schemas import AnnotateOut, EvidenceOut, ExplainOut
from nearspan.server.worker import Question, Worker, finish

from .conftest import TOKEN, connect

TEXT = "Ada lives in Oslo"
LONG = "Ada lives in Oslo . " * 200


def annotate(*texts: str) -> Question:
    return Question("annotate", (list(texts),), texts)


@pytest.fixture
def replicas(service):
    replicas = start_replicas(service, 2)
    yield replicas
    for replica in replicas:
        replica.close()


def test_replicas_answer_as_the_service_and_know_of_edits(service, replicas):
    questions = [
        (AnnotateOut, annotate(TEXT, "Nobody lives here")),
        (AnnotateOut, annotate(LONG)),
        (ExplainOut, Question("explain", (TEXT, 2, Limits()))),
        (EvidenceOut, Question("neighbours", (TEXT, Span.of(0, 3), "PERSON", 2))),
    ]

    def answers(of) -> list[str]:
        return [finish(of.begin(schema, question)) for schema, question in questions]

    before = answers(service)
    assert [answers(replica) for replica in replicas] == [before] * 2
    service.memory.forget("d0")
    after = answers(service)
    assert after != before
    assert [answers(replica) for replica in replicas] == [after] * 2
    assert replicas[0].annotate_together(AnnotateOut, [[TEXT], [], [TEXT, "Ada"]]) == service.annotate_together(
        AnnotateOut, [[TEXT], [], [TEXT, "Ada"]]
    )

    pieces = replicas[0].begin(AnnotateOut, annotate(LONG))
    next(pieces)
    pieces.close()  # nobody waits for it any more
    with pytest.raises(Refusal) as refusal:
        finish(replicas[0].begin(ExplainOut, Question("explain", (LONG, 2, Limits(explained_entities=1)))))
    assert refusal.value.status_code == 413

    pieces = replicas[0].begin(AnnotateOut, annotate(LONG))
    next(pieces)
    os.kill(replicas[0].child.pid, signal.SIGKILL)
    with pytest.raises(ProcessDied):
        finish(pieces)
    assert answers(replicas[0]) == after  # it was started again


def test_a_server_with_workers_answers_though_one_dies(service, monkeypatch):
    started = []
    monkeypatch.setattr(
        "nearspan.server.app.start_replicas", lambda *arguments: started.extend(start_replicas(*arguments)) or started
    )
    with connect(create_app(service, TOKEN, workers=2)) as client:
        client.headers["Authorization"] = f"Bearer {TOKEN}"
        for replica in started:
            os.kill(replica.child.pid, signal.SIGKILL)
        assert client.post("/annotate", json={"text": TEXT}).json()["documents"][0]["entities"]
        edit = client.post("/memory", json={"text": "Ada", "entities": [{"start": 0, "end": 3, "label": "PLACE"}]})
        assert edit.status_code == 200
        for _ in range(4):
            [entity] = client.post("/annotate", json={"text": "Ada"}).json()["documents"][0]["entities"]
            assert entity["label"] == "PLACE"
    assert all(replica.child._process.poll() is not None for replica in started)


class Answers:
    """Answers that wait for a gate, and what was read together."""

    def __init__(self, fails: str = "") -> None:
        self.gate, self.together, self.fails = threading.Event(), [], fails

    def begin(self, schema, question):
        assert self.gate.wait(60)
        yield from ()
        return self.read([question.texts])[0]

    def annotate_together(self, schema, batch):
        assert self.gate.wait(60)
        return self.read(batch)

    def read(self, batch) -> list[str]:
        self.together.append([text for texts in batch for text in texts])
        if any(self.fails in text for texts in batch for text in texts if self.fails):
            raise ValueError("no such text")
        return [json.dumps(texts) for texts in batch]

    def close(self) -> None:
        pass


def answers_of(*lanes: Answers, texts: list[str]) -> list[object]:
    """What comes of texts that arrive while each lane reads one."""

    async def scenario() -> list[object]:
        worker = Worker(Limits(), None, lanes) if len(lanes) > 1 else Worker(Limits(), lanes[0])
        tasks = []
        for text in texts:
            tasks.append(asyncio.create_task(worker.ask("me", AnnotateOut, annotate(text), len(text))))
            while worker.waiting < len(tasks) or len(worker._running) < min(len(tasks), len(lanes)):
                await asyncio.sleep(0)
        for lane in lanes:
            lane.gate.set()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        worker.close()
        return [json.loads(each.body)[0] if hasattr(each, "body") else str(each) for each in answers]

    return asyncio.run(scenario())


def test_texts_that_wait_are_read_together():
    lane = Answers()
    assert answers_of(lane, texts=["a", "b", "c", "d"]) == ["a", "b", "c", "d"]
    assert lane.together == [["a"], ["b", "c", "d"]]


def test_long_texts_are_read_alone_and_no_more_together_than_keeps_the_next_waiting():
    lane = Answers()
    texts = ["a", "x" * 1_500, "y" * 400, "z" * 3_000, "w" * 400]
    assert answers_of(lane, texts=texts) == texts
    assert [[text[0] for text in each] for each in lane.together] == [["a"], ["y", "w"], ["x"], ["z"]]


def test_one_that_fails_does_not_take_others_with_it():
    lane = Answers(fails="x")
    assert answers_of(lane, texts=["a", "b", "x", "c"]) == ["a", "b", "no such text", "c"]
    assert lane.together == [["a"], ["b", "x", "c"], ["b"], ["x"], ["c"]]


def test_several_lanes_share_what_waits():
    lanes = Answers(), Answers()
    texts = [f"{number}" for number in range(20)]
    assert answers_of(*lanes, texts=texts) == texts
    assert sorted(text for lane in lanes for each in lane.together for text in each) == sorted(texts)
    assert all(lane.together for lane in lanes)


class Dying(Answers):
    """Dies of one text, as often as that is read."""

    def read(self, batch):
        if ["deadly"] in [list(texts) for texts in batch]:
            self.together.append("died")
            raise ProcessDied("a worker process has ended")
        return super().read(batch)


def test_a_text_that_kills_two_workers_is_refused_and_others_are_answered():
    lane = Dying()
    assert answers_of(lane, texts=["a", "b", "deadly"]) == [
        "a",
        "b",
        "503: a worker process has ended, twice: this may need more memory than there is",
    ]
    assert lane.together.count("died") == 2


def test_a_model_that_cannot_be_shared_is_said_to_be_so(service):
    service.model.network.local = lambda: None
    with pytest.raises(ConfigError, match=r"workers=1"):
        create_app(service, TOKEN, workers=2)
