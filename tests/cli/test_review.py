"""`nearspan review`: lines that a reviewer types."""

import shutil
from pathlib import Path

import pytest

import nearspan
from nearspan.cli import dialogue

TEXTS = "Zed met Ada in Oslo.\n\nBob Stone left Oslo for Oslo.\n"


@pytest.fixture
def review(nearspan_command, folders, tmp_path: Path):
    shutil.copytree(folders["instance"], tmp_path / "model")

    def run(*lines: str, text: str = TEXTS, options=(), code: int = 0):
        (tmp_path / "texts.txt").write_text(text)
        stdin = "".join(f"{line}\n" for line in lines).encode()
        ran = nearspan_command("review", tmp_path / "model", tmp_path / "texts.txt", *options, stdin=stdin)
        assert ran.code == code, ran.err
        return ran

    return run


@pytest.fixture
def answers(tmp_path: Path):
    """Texts with the entities that the memory has of them."""

    def read() -> dict[str, list[tuple[str, str]]]:
        sentences = nearspan.load(tmp_path / "model", "cpu").memory.sentences(document="texts")
        return {each.text: [(e.span.text(each.text), e.label) for e in each.entities] for each in sentences}

    return read


def test_enter_accepts_what_is_shown_and_the_memory_has_it(review, answers):
    out = review("", "").out
    assert len(answers()) == 2
    assert "2 of 2 texts answered, 2 of them as the model had read them" in out
    assert "To go on" not in out


def test_entities_are_changed_removed_and_added(review, answers):
    out = review("Bob Stone = pl", "Oslo#2=PLACE", "Oslo = per", "-2", "", text="Bob Stone left Oslo for Oslo.").out
    assert answers() == {"Bob Stone left Oslo for Oslo.": [("Bob Stone", "PLACE"), ("Oslo", "PLACE")]}
    assert "«Bob Stone»⟨PLACE⟩ left Oslo for «Oslo»⟨PLACE⟩." in out
    assert "1 of 1 texts answered, 0 of them as the model had read them" in out


def test_an_entity_takes_the_place_of_those_that_share_its_words_and_r_brings_all_back(review, answers):
    review("Bob = PERSON", "Bob Stone = PLACE", "", text="Bob Stone left.")
    assert answers() == {"Bob Stone left.": [("Bob Stone", "PLACE")]}
    shown = review("left = PLACE", "r", "q", text="Ada left.").out.split("Enter: right")
    assert "«left»⟨PLACE⟩" in shown[1]
    assert "«left»⟨PLACE⟩" not in shown[2]


def test_why_a_training_has_failed_is_said_once(capsys, folders, tmp_path: Path, monkeypatch):
    model = nearspan.load(shutil.copytree(folders["instance"], tmp_path / "model"), "cpu")
    review = model.review(TEXTS.splitlines())
    monkeypatch.setattr(review, "_training", lambda: "failed: there is nothing to train on")
    lines = iter(["", ""])
    monkeypatch.setattr(dialogue, "_read_line", lambda: next(lines, None))
    dialogue.Dialogue(review, "ada", lambda model: model).run()
    assert capsys.readouterr().out.count("the training has failed: there is nothing to train on") == 1
    assert review.progress().answered == 2


def test_the_end_of_the_lines_ends_it_and_it_goes_on_where_it_was(review, answers):
    out = review("").out
    assert "1 of 2 texts answered" in out
    assert "To go on: nearspan review" in out
    assert "1 of 2 texts answered" in review().out
    review("")
    assert len(answers()) == 2


def test_a_skipped_text_comes_last_and_an_answer_is_undone(review, answers):
    shown = review("s", "", "q").out.split("Enter: right")
    [answered] = answers()
    assert "Bob" in shown[0] or "Zed" in shown[0]
    assert ("Bob" in shown[0]) == ("Zed" in answered) == ("Bob" in shown[2])
    assert "0 of 2 texts answered" in review("u", "q").out
    assert answers() == {}


def test_answers_are_written_at_the_end(review, tmp_path: Path):
    path = tmp_path / "answers.conll"
    assert f"2 answers written to {path}" in review("", "", options=("--out", path)).out
    assert len(nearspan.read(path)) == 2
    assert "exists already" in review(options=("--out", path), code=2).err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("9 = PLACE", "there is no entity"),
        ("Rome = PLACE", "the words 'Rome' do not stand in this text"),
        ("left = p", "which label is 'p': PERSON, PLACE?"),
        ("hello", "'hello' says nothing that can be done"),
        ("?", "2 = PLACE"),
        ("t", "the model is trained in the background"),
        ("u", "reviewer has answered none of these texts"),
    ],
)
def test_what_cannot_be_done_is_said_and_the_text_stays(review, answers, line: str, message: str):
    out = review(line, "q").out
    assert message in out
    assert answers() == {}


def test_options_of_the_output_need_it(review):
    assert "--out" in review(options=("--to", "conll"), code=2).err
