"""`nearspan audit`."""

import json

import pytest

WRONG = '{"text": "Ada lives in Oslo", "id": "odd", "entities": [[0, 3, "PLACE"], [13, 17, "PLACE"]]}\n'


@pytest.fixture
def audit(nearspan_command, folders, tmp_path):
    (tmp_path / "wrong.jsonl").write_text(WRONG, encoding="utf-8")

    def run(*arguments, model: str = "instance"):
        return nearspan_command("audit", folders[model], tmp_path / "wrong.jsonl", *arguments, "--device", "cpu")

    return run


@pytest.mark.parametrize("model", ["instance", "classifier"])
def test_the_terminal_view(audit, model):
    ran = audit(model=model)
    assert ran.code == 0, ran.err
    for part in ("wrong label", "annotated Ada PLACE", "suggested Ada PERSON", "against", "1 label issue"):
        assert part in ran.out
    context = next(line for line in ran.out.splitlines() if line.startswith("  «Ada» lives"))
    assert "#" not in context  # a number there would be that of a sentence of the memory


def test_more_evidence_may_be_asked_for_than_there_is(audit):
    [line] = [json.loads(line) for line in audit("--json", "-n", "1", "-k", "9" * 20).out.splitlines()]
    assert line["against"]


def test_json_lines(audit, tmp_path):
    ran = audit("--json", "-n", "1", "-k", "1")
    [line] = [json.loads(line) for line in ran.out.splitlines()]
    assert (line["kind"], line["document"], line["annotated"]["text"]) == ("wrong label", "odd", "Ada")
    assert len(line["against"]) == 1


def test_files(audit, tmp_path):
    assert audit("--out", tmp_path / "list.jsonl", "--html", tmp_path / "page.html").code == 0
    assert json.loads((tmp_path / "list.jsonl").read_text(encoding="utf-8"))["document"] == "odd"
    assert "wrong label" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_corpus_that_is_not_there(nearspan_command, folders, tmp_path):
    ran = nearspan_command("audit", folders["instance"], tmp_path / "none.jsonl")
    assert ran.code == 2
    assert "none.jsonl" in ran.err
