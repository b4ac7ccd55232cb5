import logging
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from nearspan.document import Document
from nearspan.memory import Edit
from nearspan.server import Service, create_app
from nearspan.server.inbox import Change, Inbox
from nearspan.server.limits import Limits
from nearspan.server.worker import Worker

from .conftest import TOKEN, connect

CONFIG = (
    '<View><Labels name="label" toName="text"><Label value="PERSON"/><Label value="PLACE"/></Labels>'
    '<Text name="text" value="$text"/></View>'
)
PROJECT = {"id": 3, "title": "people", "label_config": CONFIG}


@pytest.fixture
def app(service: Service):
    return create_app(service, TOKEN, tools=["label-studio"], annotation_weight="enough")


@pytest.fixture
def studio(app) -> Iterator[TestClient]:
    """As Label Studio connects: the token is a password in the address."""
    with connect(app) as client:
        client.auth = ("nearspan", TOKEN)
        yield client


def task_of(text: str, number: int = 17) -> dict:
    return {"id": number, "data": {"text": text}, "project": 3, "annotations": [], "predictions": []}


def region(text: str, entity: str, label: str) -> dict:
    start = text.index(entity)
    value = {"start": start, "end": start + len(entity), "text": entity, "labels": [label]}
    return {"id": entity, "from_name": "label", "to_name": "text", "type": "labels", "value": value}


def save(client, text: str, *entities: tuple[str, str], action: str = "ANNOTATION_CREATED", id: int = 52, **more):
    annotation = {"id": id, "task": 17, "was_cancelled": False, **more}
    annotation["result"] = [region(text, *entity) for entity in entities]
    body = {"action": action, "annotation": annotation, "task": task_of(text), "project": PROJECT}
    answer = client.post("/label-studio/webhook", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def predict(client, *texts: str) -> dict:
    tasks = [task_of(text, number) for number, text in enumerate(texts)]
    answer = client.post(
        "/label-studio/predict",
        json={"tasks": tasks, "project": "3.1700000000", "label_config": CONFIG, "params": {"context": None}},
    )
    assert answer.status_code == 200, answer.text
    return answer.json()


def entities(prediction: dict) -> set[tuple[str, str]]:
    return {(each["value"]["text"], each["value"]["labels"][0]) for each in prediction["result"]}


def remembered(client, text: str) -> list[dict]:
    return client.get("/memory", params={"text": text}).json()["sentences"]


def set_up(client, config: str = CONFIG):
    body = {"project": "3.1700000000", "schema": config, "hostname": "http://localhost:8080", "extra_params": None}
    return client.post("/label-studio/setup", json=body)


def test_it_connects_with_the_token_as_a_password_or_as_a_bearer(app):
    with connect(app) as client:
        assert client.get("/label-studio/health").status_code == 401
        assert client.get("/label-studio/health", auth=("nearspan", "wrong")).status_code == 401
        assert client.get("/label-studio/health", auth=("anybody", TOKEN)).json() == {"status": "UP"}
        assert client.get("/label-studio/health", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
        assert client.post("/label-studio/webhook", json={"action": "ANNOTATION_CREATED"}).status_code == 401


def test_a_server_that_was_not_asked_to_speaks_no_such_protocol(service):
    with TestClient(create_app(service, TOKEN), "http://localhost") as client:
        assert client.get("/label-studio/health", auth=("nearspan", TOKEN)).status_code == 404


def test_a_prediction_has_scores_evidence_and_a_version(studio):
    answer = predict(studio, "Ada lives in Oslo", "Nobody lives here")
    first, second = answer["results"]
    assert entities(first) == {("Ada", "PERSON"), ("Oslo", "PLACE")}
    assert first["score"] == min(each["score"] for each in first["result"])
    ada = first["result"][0]
    assert (ada["from_name"], ada["to_name"], ada["type"]) == ("label", "text", "labels")
    assert "Ada lives in Oslo (d0)" in ada["meta"]["text"][0]
    assert (second["result"], second["score"]) == ([], None)
    assert first["model_version"] == answer["model_version"] == set_up(studio).json()["model_version"]


def test_a_task_without_the_text_is_predicted_as_nothing(studio):
    body = {"tasks": [{"id": 1, "data": {"image": "x"}}], "label_config": CONFIG}
    assert studio.post("/label-studio/predict", json=body).json()["results"][0]["result"] == []


def test_what_is_saved_is_predicted_next_and_the_version_is_another(studio):
    text = "Zoe went to Quito"
    before = predict(studio, text)
    answer = save(studio, text, ("Zoe", "PERSON"), ("Quito", "PLACE"))
    assert "label-studio/3/17/52" in answer["edits"][0]
    after = predict(studio, text)
    assert entities(after["results"][0]) == {("Zoe", "PERSON"), ("Quito", "PLACE")}
    assert after["model_version"] != before["model_version"]


def test_an_annotation_counts_as_often_as_the_server_was_told(service):
    with connect(create_app(service, TOKEN, tools=["label-studio"], annotation_weight=3.0)) as client:
        client.auth = ("nearspan", TOKEN)
        save(client, "Zoe went to Quito", ("Zoe", "PERSON"))
        [sentence] = remembered(client, "Zoe")
        assert (sentence["weight"], sentence["entity_weight"]) == (1, 3)


def wait_for_training(service: Service) -> None:
    service._retraining.wait(300)


def test_the_model_is_trained_after_so_many_annotations_and_gone_on_with(service):
    text = "Zoe went to Quito"
    with connect(create_app(service, TOKEN, tools=["label-studio"], train_every=2)) as client:
        client.auth = ("nearspan", TOKEN)
        save(client, text, ("Zoe", "PERSON"))
        assert not service.is_training
        save(client, "Bob saw Lima", ("Bob", "PERSON"), id=53)  # in the place of the first: a task is remembered once
        assert service.is_training
        before = predict(client, text)["model_version"]
        wait_for_training(service)
        save(client, text, ("Quito", "PLACE"), id=54)  # the first thing that the new model hears of
        after = predict(client, text)["model_version"]
        assert before.split(".")[0] != after.split(".")[0]
        assert [edit.kind for edit in service.memory.log()] == ["train", "forget", "add"]
        [sentence] = remembered(client, text)
        assert (sentence["document"], sentence["entity_weight"]) == ("label-studio/3/17/54", 8)


def test_annotations_are_counted_anew_where_a_review_went_on_with_the_trained_model(service, monkeypatch):
    edits, trainings = [], []
    monkeypatch.setattr(service.memory, "log", lambda: list(edits))
    monkeypatch.setattr(service, "train", lambda: trainings.append(len(edits)))
    inbox = Inbox(service, Worker(Limits(), service), train_every=2)
    for kinds in (["add", "add"], [], ["add", "add"]):  # in between the memory is that of the trained model
        edits[:] = [Edit(number, "", kind, "", {}) for number, kind in enumerate(kinds, 1)]
        list(inbox.apply())
    assert trainings == [2, 2]


def test_what_is_saved_while_the_model_is_trained_is_in_the_new_one(service):
    with connect(create_app(service, TOKEN, tools=["label-studio"])) as client:
        client.auth = ("nearspan", TOKEN)
        save(client, "Zoe went to Quito", ("Zoe", "PERSON"))
        body = {"action": "START_TRAINING", "project": PROJECT}
        assert client.post("/label-studio/webhook", json=body).status_code == 200
        assert client.post("/label-studio/train", json={}).status_code == 409  # it is being trained already
        wait_for_training(service)
        service._memory.add(Document("Bob saw Lima", (), "meanwhile"), 1, entity_weight=3)
        predict(client, "Bob saw Lima")
        assert [edit.kind for edit in service.memory.log()] == ["train", "add"]
        assert remembered(client, "Bob saw")[0]["entity_weight"] == 3
        assert remembered(client, "Zoe went")[0]["document"] == "label-studio/3/17/52"


def test_a_training_that_fails_leaves_the_model_as_it_is(service, caplog):
    with connect(create_app(service, TOKEN, tools=["label-studio"])) as client:
        client.auth = ("nearspan", TOKEN)
        before = predict(client, "Ada lives in Oslo")
        assert client.post("/label-studio/train", json={}).status_code == 200
        wait_for_training(service)
        assert predict(client, "Ada lives in Oslo") == before
        assert "there is nothing to train on" in caplog.text


def test_an_update_replaces_what_was_saved_and_the_same_again_changes_nothing(studio):
    text = "Zoe went to Quito"
    save(studio, text, ("Zoe", "PLACE"))
    save(studio, text, ("Zoe", "PERSON"), action="ANNOTATION_UPDATED")
    [sentence] = remembered(studio, text)
    assert [(entity["text"], entity["label"]) for entity in sentence["entities"]] == [("Zoe", "PERSON")]
    assert save(studio, text, ("Zoe", "PERSON"), action="ANNOTATION_UPDATED")["edits"] == []


def test_what_carries_over_is_the_same_when_it_is_saved_again(studio):
    text = "Zoe lives in Zed"
    save(studio, text, ("Zed", "PLACE"))
    [sentence] = remembered(studio, text)
    assert sentence["carried"]
    assert save(studio, text, ("Zed", "PLACE"), action="ANNOTATION_UPDATED")["edits"] == []


def test_another_annotators_version_of_a_task_replaces_the_first(studio):
    text = "Zoe went to Quito"
    save(studio, text, ("Zoe", "PLACE"))
    save(studio, text, ("Zoe", "PERSON"), id=53)
    assert [sentence["document"] for sentence in remembered(studio, text)] == ["label-studio/3/17/53"]


@pytest.mark.parametrize(
    "event",
    [
        {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 52}], "project": PROJECT},
        {"action": "TASKS_DELETED", "tasks": [{"id": 17}], "project": PROJECT},
    ],
)
def test_what_is_deleted_is_forgotten(studio, event):
    before = predict(studio, "Zoe went to Quito")["results"][0]["result"]
    save(studio, "Zoe went to Quito", ("Zoe", "PERSON"), ("Quito", "PLACE"))
    assert studio.post("/label-studio/webhook", json=event).json()["edits"]
    assert remembered(studio, "Zoe") == []
    assert predict(studio, "Zoe went to Quito")["results"][0]["result"] == before


def test_deleting_another_annotation_forgets_nothing(studio):
    save(studio, "Zoe went to Quito", ("Zoe", "PERSON"))
    studio.post("/label-studio/webhook", json={"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 2}]})
    assert remembered(studio, "Zoe")


def test_a_skipped_task_is_not_remembered(studio):
    save(studio, "Zoe went to Quito", was_cancelled=True)
    assert remembered(studio, "Zoe") == []


def test_several_annotations_come_at_once(studio):
    texts = {1: "Zoe went to Quito", 2: "Kim left"}
    event = {
        "action": "ANNOTATIONS_CREATED",
        "annotation": [{"id": 50 + number, "task": number, "result": []} for number in texts],
        "task": [task_of(text, number) for number, text in texts.items()],
        "project": PROJECT,
    }
    assert len(studio.post("/label-studio/webhook", json=event).json()["edits"]) == 2


@pytest.mark.parametrize("action", ["PROJECT_UPDATED", "TASKS_CREATED", "ANNOTATIONS_DELETED"])
def test_other_events_change_nothing(studio, action):
    answer = studio.post("/label-studio/webhook", json={"action": action, "project": PROJECT})
    assert answer.json() == {"edits": [], "problems": []}


def test_an_annotation_without_its_task_is_refused(studio):
    body = {"action": "ANNOTATION_CREATED", "annotation": {"id": 1, "task": 2, "result": []}, "project": PROJECT}
    answer = studio.post("/label-studio/webhook", json=body)
    assert answer.status_code == 422
    assert "send its payload" in answer.json()["error"]


def test_set_up_says_where_labels_differ_and_the_log_says_it_once(studio, caplog):
    config = CONFIG.replace("PLACE", "DATE")
    with caplog.at_level(logging.WARNING):
        messages = set_up(studio, config).json()["messages"]
        set_up(studio, config)
    assert ["no label PLACE" in messages[0], "no label DATE" in messages[1]] == [True, True]
    assert caplog.text.count("no label DATE") == 1
    assert set_up(studio).json()["messages"] == []


def save_new_label(client, label: str = "DATE") -> dict:
    """Save an annotation of a project that has a label of its own."""
    text = "Zoe left in May"
    config = CONFIG.replace("PLACE", label)
    annotation = {"id": 52, "task": 17, "result": [region(text, "Zoe", "PERSON"), region(text, "May", label)]}
    body = {"action": "ANNOTATION_CREATED", "annotation": annotation, "task": task_of(text)}
    return client.post("/label-studio/webhook", json=body | {"project": PROJECT | {"label_config": config}}).json()


def test_a_label_that_only_the_project_has_is_one_of_the_models_once_it_is_saved(studio, service):
    answer = save_new_label(studio)
    assert answer["problems"] == []
    assert service.labels == ["PERSON", "PLACE", "DATE"]
    body = {"tasks": [task_of("Zoe left in May")], "label_config": CONFIG.replace("PLACE", "DATE")}
    prediction = studio.post("/label-studio/predict", json=body).json()["results"][0]
    assert ("May", "DATE") in entities(prediction)


def test_the_model_is_trained_with_the_new_labels_too(service):
    with connect(create_app(service, TOKEN, tools=["label-studio"], train_every=1)) as client:
        client.auth = ("nearspan", TOKEN)
        save_new_label(client)
        wait_for_training(service)
        predict(client, "Zoe left in May")
        assert service._model.trained_labels == ["PERSON", "PLACE", "DATE"]


def test_a_project_of_new_labels_alone_is_taken_and_said(studio, caplog):
    answer = set_up(studio, CONFIG.replace("PLACE", "DATE").replace("PERSON", "ROLE"))
    assert answer.status_code == 200
    assert "the model has no label DATE, ROLE yet" in answer.json()["messages"][1]


def test_set_up_refuses_labels_of_which_the_model_can_have_none(studio, service, monkeypatch):
    monkeypatch.setattr(service._model.network.head, "open_labels", False)
    answer = set_up(studio, CONFIG.replace("PLACE", "DATE").replace("PERSON", "ROLE"))
    assert answer.status_code == 422
    assert "DATE, ROLE" in answer.json()["error"]


def test_a_model_without_a_memory_can_remember_no_new_label(service, monkeypatch):
    assert service.may_remember("DATE")
    monkeypatch.setattr(service._model, "datastore", None)
    assert not service.may_remember("DATE")


def test_a_label_that_the_model_cannot_have_is_said_and_the_rest_is_remembered(studio, service, monkeypatch, caplog):
    monkeypatch.setattr(service._model.network.head, "open_labels", False)
    assert "DATE" in save_new_label(studio)["problems"][0]
    assert "DATE" in caplog.text
    assert [entity["text"] for entity in remembered(studio, "Zoe left")[0]["entities"]] == ["Zoe"]


def test_a_label_that_the_project_has_not_is_said_and_the_rest_is_remembered(studio, caplog):
    text = "Zoe went to Quito"
    problems = save(studio, text, ("Zoe", "PERSON"), ("Quito", "DATE"))["problems"]
    assert "DATE" in problems[0]
    assert "DATE" in caplog.text
    assert [entity["text"] for entity in remembered(studio, text)[0]["entities"]] == ["Zoe"]


def test_what_was_saved_is_not_lost_where_nobody_waits(service):
    inbox = Inbox(service, Worker(Limits()))
    body = {"id": 52, "task": 17, "result": []}
    from nearspan.server.label_studio import WebhookIn, read_changes

    event = WebhookIn(action="ANNOTATION_CREATED", annotation=body, task=task_of("Zoe left"), project=PROJECT)
    inbox._changes.extend(read_changes(event, service.may_remember))
    inbox.finish()
    assert [sentence.text for sentence in service.memory.sentences(document="label-studio/3/17/52")] == ["Zoe left"]


def test_a_change_that_fails_keeps_no_other_waiting(service):
    def fail():
        raise OSError("no space left")

    inbox = Inbox(service, Worker(Limits()))
    broken = Change("broken", lambda _: False, fail)
    inbox._changes.append(broken)
    inbox.finish()
    assert "OSError" in broken.error


def test_a_result_that_is_no_list_has_no_regions(studio: TestClient):
    body = {"action": "ANNOTATION_CREATED", "annotation": {"id": 52, "task": 17, "result": 5}}
    answer = studio.post("/label-studio/webhook", json=body | {"task": task_of("Ada"), "project": PROJECT})
    assert answer.status_code == 200
