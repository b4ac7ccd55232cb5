import pytest

import nearspan

TEXT = "Zoe lives in Oslo"
EDITS = [
    ("POST", "/memory", {"text": "Zoe", "entities": []}),
    ("POST", "/memory/corrections", {"text": TEXT, "fragments": [[0, 3]], "label": "PERSON"}),
    ("POST", "/memory/corrections/preview", {"text": TEXT, "fragments": [[0, 3]], "label": "PERSON"}),
    ("POST", "/memory/undo", None),
    ("PUT", "/memory/0/label", {"fragments": [[0, 3]], "label": None}),
    ("DELETE", "/memory/0", None),
    ("DELETE", "/memory?document=d0", None),
]
NO_EDITS = ("/memory/undo", "/memory/corrections/preview")  # where nothing was edited before


def labels_by_text(client, text: str) -> dict[str, str]:
    (document,) = client.post("/annotate", json={"text": text}).json()["documents"]
    return {entity["text"]: entity["label"] for entity in document["entities"]}


@pytest.mark.parametrize(("method", "path", "body"), EDITS)
@pytest.mark.parametrize("header", [None, "Bearer wrong", "Bearer ", "Basic sesame", "Bearer sésame"])
def test_edits_need_the_token(client, method, path, body, header):
    headers = {"Authorization": header.encode()} if header else {}
    answer = client.request(method, path, json=body, headers=headers)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert client.get("/memory/log").json()["total"] == 0


@pytest.mark.parametrize(("method", "path", "body"), [edit for edit in EDITS if edit[1] not in NO_EDITS])
def test_every_edit_is_made_and_undone(editor, method, path, body):
    before = editor.get("/memory?limit=100").json()
    answer = editor.request(method, path, json=body)
    assert answer.status_code == 200, answer.text
    assert editor.get("/memory?limit=100").json() != before
    assert editor.post("/memory/undo").json()["kind"] == "undo"
    assert editor.get("/memory?limit=100").json() == before


def test_a_correction_changes_the_text_and_undo_brings_it_back(editor):
    before = labels_by_text(editor, "Ada lives in Oslo")
    body = {"text": "It rained. Ada lives in Oslo", "fragments": [[24, 28]], "label": "PERSON"}
    correction = editor.post("/memory/corrections", json=body).json()
    assert correction["edit"]["kind"] == "relabel"  # the memory holds this sentence
    after = labels_by_text(editor, "Ada lives in Oslo")
    assert (before["Oslo"], correction["label"], after["Oslo"]) == ("PLACE", "PERSON", "PERSON")
    editor.post("/memory/undo")
    assert labels_by_text(editor, "Ada lives in Oslo") == before


def test_a_preview_of_a_correction_makes_none(editor):
    body = {"text": "It rained. Ada lives in Oslo", "fragments": [[24, 28]], "label": "PERSON"}
    before = labels_by_text(editor, "Ada lives in Oslo")
    preview = editor.post("/memory/corrections/preview", json=body).json()
    assert (preview["edit"]["kind"], preview["edit"]["number"], preview["held_out"]) == ("relabel", 1, 11)
    assert preview["mended"] + preview["broken"] + preview["other"] == len(preview["changes"])
    assert preview["harms"] is (preview["broken"] > preview["mended"])
    assert editor.get("/memory/log").json()["total"] == 0
    assert labels_by_text(editor, "Ada lives in Oslo") == before
    body["label"] = None
    assert editor.post("/memory/corrections/preview", json=body).json()["edit"]["summary"].count("to no entity")


def test_a_preview_of_what_is_so_already_says_so(editor):
    body = {"text": "Ada lives in Oslo", "fragments": [[0, 3]], "label": "PERSON"}
    answer = editor.post("/memory/corrections/preview", json=body)
    assert (answer.status_code, "already" in answer.json()["error"]) == (409, True)


def test_a_corrected_sentence_says_how_often_its_words_count_here_and_elsewhere(editor):
    body = {"text": "Zoe lives in Zed", "fragments": [[13, 16]], "label": "PLACE"}
    editor.post("/memory/corrections", json=body)
    [sentence] = editor.get("/memory?document=corrections").json()["sentences"]
    [carried] = sentence["carried"]
    assert (carried["start"], carried["end"]) == (13, 16)
    assert carried["weight"] >= carried["elsewhere"] >= 0


def test_the_log_says_when_training_is_due(editor, monkeypatch):
    monkeypatch.setattr("nearspan.memory.receipts.FEWEST", 1)
    assert editor.get("/memory/log").json()["training_due"] == ""
    editor.post("/memory", json={"text": "Zoe lives in Zed", "entities": [{"start": 13, "end": 16, "label": "PLACE"}]})
    log = editor.get("/memory/log").json()
    assert log["training_due"].startswith("train again: 1 of 13 sentences")
    assert log["edits"][0]["receipt"][-1] == log["training_due"]


def test_what_cannot_be_edited_says_why(editor):
    for method, path, body, word in [
        ("DELETE", "/memory/999", None, "no sentence 999"),
        ("DELETE", "/memory?document=none", None, "nothing from 'none'"),
        ("POST", "/memory/undo", None, "no edit to undo"),
        (
            "POST",
            "/memory/corrections",
            {"text": "Ada lives in Oslo", "fragments": [[0, 3]], "label": "PERSON"},
            "already",
        ),
    ]:
        answer = editor.request(method, path, json=body)
        assert answer.status_code == 409
        assert word in answer.json()["error"]


def test_remove_takes_both_ends_of_a_span_or_none(editor):
    assert editor.delete("/memory/0?start=1").status_code == 422
    assert editor.delete("/memory/0?start=3&end=1").status_code == 422
    assert editor.delete("/memory/0?start=0&start=4&end=3").status_code == 422
    broken = editor.delete("/memory/0?start=0&end=3&start=13&end=17")
    assert "links no fragments" in broken.json()["error"]
    assert editor.delete("/memory/0?start=0&end=3").json()["kind"] == "remove"


def test_the_map_knows_of_edits(editor):
    before = editor.get("/map").json()["entities"]
    editor.delete("/memory/0")
    assert editor.get("/map").json()["entities"] == before - 2


def test_errors_are_scored_with_the_memory_as_it_is(editor):
    before = editor.get("/errors").json()
    body = {"text": "Ada lives in Oslo", "fragments": [[0, 3]], "label": "PLACE"}
    editor.post("/memory/corrections", json=body)
    after = editor.get("/errors").json()
    assert (before["scored"], after["scored"]) == (1, 1)
    assert after["scores"]["f1"] < before["scores"]["f1"]
    editor.post("/memory/undo")
    assert editor.get("/errors").json() == before


def test_the_token_can_be_tried(editor):
    assert editor.get("/memory/access").json() == {"edits": True}
    editor.headers["Authorization"] = "Bearer wrong"
    assert editor.get("/memory/access").status_code == 401


def test_another_process_may_edit_the_folder(client, folder):
    nearspan.load(folder, "cpu").memory.remove(0)
    assert client.get("/memory").json()["sentences"][0]["id"] == 1


def test_the_log_lists_the_last_edit_first(editor):
    editor.delete("/memory/0")
    editor.delete("/memory/1")
    log = editor.get("/memory/log?limit=1").json()
    assert (log["total"], [edit["number"] for edit in log["edits"]], log["undoable"]) == (2, [2], 2)
    editor.post("/memory/undo")
    assert editor.get("/memory/log").json()["undoable"] == 1
    editor.post("/memory/undo")
    assert editor.get("/memory/log").json()["undoable"] is None


def test_what_is_added_or_relabelled_may_have_a_weight(editor):
    body = {"text": "Zed left", "entities": [{"fragments": [[0, 3]], "label": "PERSON"}], "id": "mine"}
    assert editor.post("/memory", json=body | {"weight": 7}).json()["summary"].endswith("weight 7")
    [sentence] = editor.get("/memory?document=mine").json()["sentences"]
    assert (sentence["weight"], sentence["span_weights"]) == (7, [])
    path = f"/memory/{sentence['id']}/label"
    assert editor.put(path, json={"fragments": [[0, 3]], "label": "PLACE"}).status_code == 200
    assert editor.get("/memory?document=mine").json()["sentences"][0]["weight"] == 1
    for weight in (0, -1, 1_000_001, "much", None):
        assert editor.post("/memory", json=body | {"weight": weight}).status_code == 422


def test_a_document_is_remembered_as_it_was_annotated(editor):
    [document] = editor.post("/annotate", json={"text": TEXT}).json()["documents"]
    body = document | {"id": "mine", "words": [[0, 3], [4, 9], [10, 12], [13, 17]], "sentences": [[0, 17]]}
    assert editor.post("/memory", json=body).status_code == 200
    [sentence] = editor.get("/memory?document=mine").json()["sentences"]
    assert sentence["entities"] == [entity | {"score": None} for entity in document["entities"]]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"entities": [{"start": 0, "end": 18, "label": "PERSON"}]}, "ends after the text's 17"),
        ({"entities": [{"start": 1, "end": 4, "label": "PERSON", "text": "Zoe"}]}, "code points"),
        ({"entities": [{"label": "PERSON"}]}, "entities.0: a span needs fragments"),
        ({"words": [[0, 30]]}, "words must be"),
        ({"words": [[0, 0], [0, 3]]}, "words must be of one character"),
        ({"words": [[0, True]]}, "words.0.1: "),
        ({"sentences": [[4, 17], [0, 3]]}, "sentences must be"),
    ],
)
def test_a_document_that_is_not_sound_is_refused(editor, change, word):
    answer = editor.post("/memory", json={"text": TEXT} | change)
    assert (answer.status_code, word in answer.json()["error"]) == (422, True), answer.text
    assert editor.get("/memory/log").json()["total"] == 0
