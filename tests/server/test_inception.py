from collections.abc import Iterator

import pytest
from cassis import load_cas_from_xmi
from fastapi.testclient import TestClient

from nearspan.server import Service, create_app

from ..integrations.cas import LAYER, make_cas
from .conftest import TOKEN, connect

METADATA = {"layer": LAYER, "feature": "label", "projectId": 4, "anchoringMode": "tokens", "crossSentence": False}


@pytest.fixture
def inception(service: Service) -> Iterator[TestClient]:
    with connect(create_app(service, TOKEN, tools=["inception"], annotation_weight="enough")) as client:
        yield client


def send(client, cas, to: str = f"/inception/{TOKEN}/predict", **metadata):
    document = {"xmi": cas.to_xmi(), "documentId": 7, "userId": "kim"}
    documents = {"documents": [document]} if to.endswith("train") else {"document": document}
    body = {"metadata": METADATA | metadata, "typeSystem": cas.typesystem.to_xml(), **documents}
    return client.post(to, json=body)


def predict(client, cas) -> dict[str, str]:
    answer = send(client, cas)
    assert answer.status_code == 200, answer.text
    found = load_cas_from_xmi(answer.json()["document"], cas.typesystem).select(LAYER)
    return {each.get_covered_text(): each.label for each in found if each.inception_internal_predicted}


def train(client, cas) -> list[str]:
    """The documents that the memory has of INCEpTION after this."""
    answer = send(client, cas, f"/inception/{TOKEN}/train")
    assert (answer.status_code, answer.content) == (204, b"")
    sentences = client.get("/memory?limit=100").json()["sentences"]
    return [each["document"] for each in sentences if each["document"].startswith("inception")]


def test_the_address_ends_in_the_token(inception):
    assert send(inception, make_cas(["Ada"]), "/inception/wrong/predict").status_code == 401
    assert send(inception, make_cas(["Ada"]), "/inception/wrong/train").status_code == 401


def test_predictions_come_in_the_cas(inception):
    cas = make_cas(["😀 Ada lives in Oslo"])
    assert predict(inception, cas) == {"Ada": "PERSON", "Oslo": "PLACE"}
    [ada, _] = load_cas_from_xmi(send(inception, cas).json()["document"], cas.typesystem).select(LAYER)
    assert 0 < ada.label_score <= 1
    assert "Ada lives in Oslo (d0)" in ada.label_score_explanation


def test_what_is_trained_is_predicted_next(inception):
    sentence = "Zoe went to Quito"
    names = train(inception, make_cas(["Nobody looked", sentence], ("Zoe", "PERSON"), ("Quito", "PLACE")))
    assert names == ["inception/4/7/kim/14"]
    assert predict(inception, make_cas([sentence])) == {"Zoe": "PERSON", "Quito": "PLACE"}


def test_training_again_changes_only_what_has_changed(inception):
    texts = ["Zoe left", "Kim left"]
    train(inception, make_cas(texts, ("Zoe", "PERSON"), ("Kim", "PLACE")))
    edits = inception.get("/memory/log").json()["total"]
    train(inception, make_cas(texts, ("Zoe", "PERSON"), ("Kim", "PLACE")))
    assert inception.get("/memory/log").json()["total"] == edits
    train(inception, make_cas(texts, ("Zoe", "PERSON"), ("Kim", "PERSON")))
    assert inception.get("/memory/log").json()["total"] == edits + 2  # one forgotten, one added
    assert train(inception, make_cas(texts, ("Kim", "PERSON"))) == ["inception/4/7/kim/9"]


def test_a_label_that_the_model_lacks_is_one_of_its_labels_from_then_on(inception):
    train(inception, make_cas(["Zoe left"], ("Zoe", "ROLE")))
    assert predict(inception, make_cas(["Zoe left"])) == {"Zoe": "ROLE"}


def test_a_sentence_of_labels_that_the_model_cannot_have_is_not_remembered(inception, service, monkeypatch, caplog):
    monkeypatch.setattr(service._model.network.head, "open_labels", False)
    assert train(inception, make_cas(["Zoe left"], ("Zoe", "ROLE"))) == []
    assert "the model cannot have the label ROLE" in caplog.text


@pytest.mark.parametrize("to", ["predict", "train"])
def test_a_feature_that_holds_no_labels_is_refused(inception, to):
    answer = send(inception, make_cas(["Ada"]), f"/inception/{TOKEN}/{to}", feature="count")
    assert answer.status_code == 422
    assert "string feature" in answer.json()["error"]
