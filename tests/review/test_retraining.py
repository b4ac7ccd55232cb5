"""Training again while a review goes on."""

import shutil
from pathlib import Path

import pytest

import nearspan
from nearspan.errors import EditError
from nearspan.review import Review, finish_swap, retraining

TEXTS = ("Zed lives in Oslo", "Bob Stone met Eve Moon in Lima", "The wind fell on 3 May", "Ada Stone left Paris")


@pytest.fixture
def review(folders: dict[str, Path], tmp_path: Path) -> Review:
    folder = shutil.copytree(folders["instance"], tmp_path / "model")
    return nearspan.load(folder, "cpu").review(TEXTS)


def test_a_model_is_trained_meanwhile_and_swapped_in_with_all_answers(review: Review):
    folder, old = review.memory.folder, review.model
    first = review.next("ada").document
    review.answer(first, "ada")
    review.train()
    assert review.progress().training == "running"
    with pytest.raises(EditError, match="being trained already"):
        review.train()
    assert not review.swap()
    meanwhile = review.next("bob").document.with_entities(())
    held_by_ada = review.next("ada").id
    review._retraining.wait(300)
    review.answer(meanwhile, "bob")  # after the training has read the memory
    assert review.progress().training == "ready"
    assert review.swap(lambda model: model.set_threshold(0.1))
    assert review.model is not old
    assert review.model.thresholds
    assert {each.text for each in review.answers()} == {first.text, meanwhile.text}
    progress = review.progress()
    assert (progress.known, progress.by_reviewer, progress.training) == (1, {"bob": 1}, "")
    assert progress.asked == {"ada": held_by_ada}
    assert review.memory.log()[0].kind == "train"
    again = nearspan.load(folder, "cpu").review(TEXTS)
    assert again.progress() == progress
    assert nearspan.load(folder.with_name("model.before"), "cpu").labels == old.labels
    assert not folder.with_name("model.next").exists()


def test_a_training_that_fails_says_why_and_the_review_goes_on(review: Review):
    review.train()
    review._retraining.wait(300)
    assert review.progress().training.startswith("failed: there is nothing to train on")
    assert not review.swap()
    review.answer(review.next().document)
    review.close()
    assert review.progress().training == ""


@pytest.mark.parametrize("step", ["carry_edits", "rename"])
def test_where_a_trained_model_cannot_take_over_the_review_goes_on_with_the_old_one(review: Review, monkeypatch, step):
    folder, old = review.memory.folder, review.model
    first = review.next().document
    review.answer(first)
    review.train()
    review._retraining.wait(300)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(retraining, "carry_edits", fail) if step == "carry_edits" else patched.setattr(
            Path, "rename", lambda path, to, rename=Path.rename: fail() if path.suffix == ".next" else rename(path, to)
        )
        assert not review.swap()
    assert not review.swap()
    assert review.progress().training == "failed: its model cannot take over: [Errno 28] No space left on device"
    assert review.model is old
    review.answer(review.next().document)
    review.close()
    assert review.progress().answered == 2
    assert first.text in {each.text for each in nearspan.load(folder, "cpu").review(TEXTS).answers()}


def test_a_swap_that_a_crash_has_interrupted_is_finished(review: Review):
    folder = review.memory.folder
    finish_swap(folder)  # nothing is to be done
    shutil.copytree(folder, folder.with_name("model.next"))
    folder.rename(folder.with_name("model.before"))
    finish_swap(folder)
    assert len(nearspan.load(folder, "cpu").review(TEXTS)) == 4
    assert not folder.with_name("model.next").exists()
