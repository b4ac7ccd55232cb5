"""The loop: what is asked, in which order, and what an answer leaves in the memory."""

import json
import shutil
from pathlib import Path

import pytest

import nearspan
from nearspan.document import Document, Entity
from nearspan.errors import AnsweredError, ConfigError, EditError
from nearspan.review import Review
from nearspan.review.leases import LEASES

TEXTS = ("Zed lives in Oslo", "Bob Stone met Eve Moon in Lima", "The wind fell on 3 May", "Ada Stone left Paris")


@pytest.fixture
def folder(folders: dict[str, Path], tmp_path: Path) -> Path:
    return shutil.copytree(folders["instance"], tmp_path / "model")


@pytest.fixture
def review(folder: Path) -> Review:
    return nearspan.load(folder, "cpu").review(TEXTS)


def open_again(review: Review, texts=TEXTS) -> Review:
    """The same review in another process."""
    return nearspan.load(review.memory.folder, "cpu").review(texts)


def expire(review: Review) -> None:
    """Let the time of all reviewers be over."""
    path = review.memory.folder / LEASES
    path.write_text(json.dumps({text: [who, 1.0] for text, (who, _) in json.loads(path.read_text()).items()}))


def test_every_text_is_asked_once_and_its_answer_is_in_the_memory_before_the_next(review: Review):
    asked = []
    while task := review.next():
        asked.append(task.document.text)
        assert len(review.memory.sentences(text=task.document.text)) == 0
        review.answer(task.document)
        [held] = review.memory.sentences(text=task.document.text)
        assert held.entities == task.document.entities
    assert sorted(asked) == sorted(TEXTS)
    assert str(review.progress()) == "4 of 4 texts answered, 4 of them as the model had read them"


def test_a_text_stays_with_its_reviewer_until_it_is_answered(review: Review):
    first = review.next("ada")
    assert review.next("ada").id == first.id
    review.answer(first.document, "ada")
    assert review.next("ada").id != first.id


def test_a_correction_is_what_the_model_reads_from_then_on(review: Review):
    document = nearspan.markup("Zed lives in [Oslo](PERSON)")
    answer = review.answer(document)
    assert not answer.accepted
    assert review.model("Zed lives in Oslo").entities == document.entities
    assert review.progress().accepted == 0


def test_what_the_memory_holds_is_not_asked_and_copies_are_one_text(folder: Path):
    review = nearspan.load(folder, "cpu").review(["Nobody lives here", "Zed lives in Oslo", "Zed lives in Oslo"])
    assert len(review) == 2
    assert review.progress().known == 1
    review.answer(review.next().document)
    assert review.next() is None
    assert [document.id for document in review.answers()] == ["text-1", "text-2", "text-3"]


def test_a_document_is_asked_a_sentence_at_a_time_and_answers_bear_its_name(folder: Path):
    review = nearspan.load(folder, "cpu").review([Document("Zed left. He met Ada.", id="letter")])
    assert {review.next(who).document.text for who in ("ada", "bob")} == {"Zed left.", "He met Ada."}
    review.answer(Document("He met Ada.", (Entity.of(7, 10, "PERSON"),)))
    assert [document.id for document in review.answers()] == ["letter:1"]
    assert review.memory.forget("letter").kind == "forget"
    assert review.answers() == []


def test_two_reviewers_never_get_the_same_text_in_any_process(review: Review):
    other = open_again(review)
    asked = [review.next("ada").id, review.next("bob").id, other.next("eve").id, other.next("dan").id]
    assert len(set(asked)) == 4
    assert other.next("fay") is None
    assert other.progress().asked == dict(zip(("ada", "bob", "eve", "dan"), asked, strict=True))


def test_a_text_whose_time_is_over_goes_to_others_and_the_first_answer_counts(review: Review):
    document = review.next("ada").document
    expire(review)
    others = [review.next(who).document for who in ("bob", "eve", "dan", "fay")]
    assert document in others
    assert review.answer(document, "ada").is_late
    with pytest.raises(AnsweredError, match=r"ada has answered this text .* your answer is not in the memory"):
        review.answer(document, "bob")
    assert review.progress().by_reviewer == {"ada": 1}


def test_an_answer_in_time_is_not_late(review: Review):
    assert not review.answer(review.next("ada").document, "ada").is_late


def test_a_damaged_list_of_leases_is_begun_anew(review: Review):
    first = review.next("ada")
    (review.memory.folder / LEASES).write_text("{")
    assert review.next("bob") is not None
    review.answer(first.document, "ada")
    assert review.progress().by_reviewer == {"ada": 1}


def test_a_skipped_text_comes_back_last_and_goes_to_others(review: Review):
    first = review.next("ada")
    review.skip(first.document, "ada")
    rest = []
    for _ in range(3):
        rest.append(review.next("ada"))
        review.skip(rest[-1].document, "ada")
    assert first.id not in {task.id for task in rest}
    assert review.next("ada").id == first.id
    review.skip(first.document, "ada")
    assert first.id in {review.next(who).id for who in ("bob", "eve", "dan", "fay")}


def test_undo_takes_back_a_reviewers_own_last_answer_and_asks_it_again(review: Review):
    mine = review.next("ada")
    review.answer(mine.document, "ada")
    review.answer(review.next("bob").document, "bob")
    assert review.undo("ada").id == mine.id == review.next("ada").id
    assert review.progress().by_reviewer == {"bob": 1}
    review.answer(mine.document, "ada")
    assert review.undo("ada").id == mine.id
    with pytest.raises(EditError, match="ada has answered none of these texts"):
        review.undo("ada")


def test_the_undo_of_the_last_edit_is_an_undo_in_the_journal(review: Review):
    review.answer(review.next().document)
    review.undo()
    assert [edit.kind for edit in review.memory.log()] == ["add", "undo"]


def test_a_review_goes_on_where_it_was_in_another_process(review: Review):
    answered = review.next("ada").document
    review.answer(answered, "ada")
    again = open_again(review)
    assert again.progress() == review.progress()
    assert [document.text for document in again.answers()] == [answered.text]


def test_an_answer_is_exported_as_it_was_given_and_as_it_was_changed_since(review: Review, tmp_path: Path):
    wide = "The very long name of this house in the old town of Oslo is Zed"
    review = open_again(review, [wide, "Zed lives in Oslo"])
    entity = Entity.of(0, 52, "PLACE")
    assert entity.span.text(wide).count(" ") > review.model.network.max_width
    review.answer(Document(wide, (entity,)))
    review.answer(nearspan.markup("[Zed](PERSON) lives in [Oslo](PLACE)"))
    assert review.answers()[0].entities == (entity,)
    [held] = review.memory.sentences(text="Zed lives")
    review.memory.relabel(held.id, held.entities[0].span, "")
    assert [entity.text for entity in review.answers()[1].entities] == ["Oslo"]
    review.export(tmp_path / "answers.jsonl")
    assert nearspan.read(tmp_path / "answers.jsonl").documents == tuple(review.answers())


def test_near_duplicates_do_not_follow_each_other(folder: Path):
    texts = [f"Zed Stone met Eve {name} in Lima" for name in ("Moon", "Stone", "Bob")]
    review = nearspan.load(folder, "cpu").review([*texts, "The wind fell on 3 May", "Nobody left New York"])
    asked = [review.next(who).document.text for who in ("ada", "bob")]
    assert len(set(asked) & set(texts)) < 2


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda review: review.next(" "), EditError, "a reviewer's name has 1 to 100 characters"),
        (lambda review: review.answer(Document("Unknown")), EditError, "this is no text of the review"),
        (lambda review: review.model.review("one text"), TypeError, "give it a list"),
        (lambda review: review.model.review(TEXTS, lease=0), ConfigError, "`lease` is for how many seconds"),
    ],
)
def test_what_is_refused(review: Review, make, error, message):
    with pytest.raises(error, match=message):
        make(review)
