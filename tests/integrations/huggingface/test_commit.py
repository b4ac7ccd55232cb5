"""Models published on a hub on loopback: what goes there, and what stays."""

import logging

import pytest
from huggingface_hub import ModelCard

import nearspan
from nearspan.errors import ModelError

TEXT = "Ada lives in Oslo"
MEMORY = {"memory.jsonl", "memory.safetensors", "memory.json", "journal.jsonl"}


def test_a_published_model_can_be_loaded_and_predicts_the_same(hub, classifier):
    address = classifier.push_to_hub("ada/ner")
    assert address.startswith(f"{hub.url}/ada/ner/commit/")
    model = nearspan.load("ada/ner", "cpu")
    assert model(TEXT).to_dict() == classifier(TEXT).to_dict()


def test_the_memory_stays_here_unless_it_is_asked_for(hub, classifier):
    classifier.push_to_hub("ada/ner")
    files = hub.repositories["ada/ner"]
    assert {"config.toml", "model.safetensors", "README.md", "vocabularies/labels.json"} <= files.keys()
    assert not MEMORY & files.keys()
    assert not any(b"lives in" in content for content in files.values())
    assert nearspan.load("ada/ner", "cpu").datastore is None


def test_a_memory_is_published_with_a_warning_as_its_edits_have_left_it(hub, folders, tmp_path, caplog):
    model = nearspan.load(folders["instance"], "cpu")
    model.save(tmp_path / "mine")
    model.memory.add("[Vienna](PLACE) is cold", weight=1)
    model.memory.remove(0)
    with caplog.at_level(logging.WARNING):
        model.push_to_hub("ada/ner", memory=True)
    assert "the memory holds 12 sentences of training text" in caplog.text
    files = hub.repositories["ada/ner"]
    assert files.keys() >= MEMORY
    assert b"Vienna is cold" in files["memory.jsonl"]
    assert b"Ada lives" not in files["memory.jsonl"]
    assert files["journal.jsonl"] == b""  # what was removed is gone
    loaded = nearspan.load("ada/ner", "cpu")
    assert loaded(TEXT).to_dict() == model(TEXT).to_dict()
    assert loaded.explain(TEXT)[0].strength == "exact"


def test_a_head_that_needs_its_memory_is_not_published_without(hub, instance):
    with pytest.raises(ModelError, match="'instances', predicts from its memory and cannot be published without"):
        instance.push_to_hub("ada/ner")
    assert hub.asked == []


def test_an_interpolated_model_is_published_with_a_warning(hub, classifier, caplog):
    classifier.interpolate(0.5).push_to_hub("ada/ner")
    assert "what is published predicts without it" in caplog.text
    assert nearspan.load("ada/ner", "cpu").datastore_weight == 0


def test_what_an_earlier_push_has_left_is_removed(hub, classifier):
    classifier.push_to_hub("ada/ner", memory=True)
    hub.repositories["ada/ner"]["notes.txt"] = b"not ours"
    assert hub.repositories["ada/ner"].keys() >= MEMORY
    classifier.push_to_hub("ada/ner")
    assert not MEMORY & hub.repositories["ada/ner"].keys()
    assert hub.repositories["ada/ner"]["notes.txt"] == b"not ours"


def test_records_of_the_training_stay_here(hub, classifier):
    assert (classifier.path / "result.json").exists()
    classifier.push_to_hub("ada/ner", memory=True)
    assert not {"result.json", "metrics.jsonl"} & hub.repositories["ada/ner"].keys()


def test_a_repository_is_as_private_as_asked_or_nothing_is_published(hub, classifier):
    classifier.push_to_hub("ada/ner", private=True)
    assert hub.private["ada/ner"]
    hub.private["ada/ner"] = False
    before = dict(hub.repositories["ada/ner"])
    with pytest.raises(ModelError, match="ada/ner is there already and public"):
        classifier.push_to_hub("ada/ner", private=True, memory=True)
    assert hub.repositories["ada/ner"] == before


def test_a_memory_that_is_not_there_cannot_be_published(hub, folders):
    model = nearspan.load(folders["classifier"], "cpu", memory=False)
    with pytest.raises(ModelError, match="this model has none"):
        model.push_to_hub("ada/ner", memory=True)


@pytest.mark.parametrize("name", ["ner", "ada/ner@v1", "a/b/c", ""])
def test_a_name_that_the_hub_cannot_have_is_refused(hub, classifier, name):
    with pytest.raises(ModelError, match="a name such as user/model"):
        classifier.push_to_hub(name)


def test_a_hub_that_refuses_says_why(hub, classifier, monkeypatch):
    monkeypatch.setattr(type(hub), "repositories", None, raising=False)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", f"{hub.url}/nowhere")
    with pytest.raises(ModelError, match=r"ada/ner cannot be published: .*hf auth login"):
        classifier.push_to_hub("ada/ner")


def test_the_command_publishes_and_prints_the_address(hub, folders, nearspan_command):
    ran = nearspan_command("push", folders["instance"], "ada/ner", "--memory", "--private")
    assert (ran.code, ran.out.strip()) == (0, f"{hub.url}/ada/ner/commit/{hub.commit('ada/ner')}"), ran.err
    assert "the memory holds 12 sentences of training text" in ran.err
    assert hub.private["ada/ner"]


def test_the_command_names_its_option(hub, folders, nearspan_command):
    ran = nearspan_command("push", folders["instance"], "ada/ner")
    assert ran.code == 2
    assert "set --memory where the training text may be shared" in ran.err


class TestCard:
    def card(self, hub, name="ada/ner") -> ModelCard:
        return ModelCard(hub.repositories[name]["README.md"].decode())

    def test_it_has_the_recorded_scores(self, hub, classifier):
        classifier.push_to_hub("ada/ner")
        data = self.card(hub).data
        assert (data.library_name, data.pipeline_tag, data.license) == ("nearspan", "token-classification", None)
        assert data.tags == ["nearspan", "named-entity-recognition", "token-classification"]
        scores = {(result.dataset_split, result.metric_type): result.metric_value for result in data.eval_results}
        assert scores == {("dev", "f1"): 1.0, ("dev", "precision"): 1.0, ("dev", "recall"): 1.0}

    def test_its_example_runs(self, hub, classifier, capsys):
        classifier.push_to_hub("ada/ner")
        text = self.card(hub).text
        assert "The memory of training sentences was left out" in text
        assert "memory.jsonl" not in text
        exec(text.split("```python\n")[1].split("```")[0].replace("Some text.", TEXT), {})
        assert "Entity(PLACE 13-17 'Oslo'" in capsys.readouterr().out

    def test_with_a_memory_its_example_asks_for_evidence(self, hub, instance, capsys):
        instance.push_to_hub("ada/ner", memory=True)
        text = self.card(hub).text
        assert "holds the training sentences themselves" in text
        exec(text.split("```python\n")[1].split("```")[0].replace("Some text.", TEXT), {})
        assert "Ada PERSON {'PERSON': [Neighbour(" in capsys.readouterr().out

    def test_it_says_that_a_memory_was_edited_since(self, hub, instance, tmp_path):
        instance.save(tmp_path / "m")
        instance.push_to_hub("ada/ner", memory=True)
        assert "was edited" not in self.card(hub).text
        instance.memory.add("[Vienna](PLACE) is cold", weight=1)
        instance.push_to_hub("ada/ner", memory=True)
        assert "The memory was edited after the scores were recorded." in self.card(hub).text

    def test_what_it_says_already_is_kept(self, hub, classifier, tmp_path):
        classifier.save(tmp_path / "m", "---\nlicense: mit\ntags: [mine]\n---\n# Mine\n")
        classifier.push_to_hub("ada/ner")
        card = self.card(hub)
        assert (card.data.license, card.data.tags[:2], card.text.strip()) == ("mit", ["mine", "nearspan"], "# Mine")

    @pytest.mark.parametrize(
        ("file", "content", "message"),
        [
            ("README.md", "---\nonly text\n---\n", "the metadata of README.md cannot be read"),
            ("result.json", "{", "result.json is damaged"),
        ],
    )
    def test_a_damaged_record_is_named(self, hub, classifier, tmp_path, file, content, message):
        classifier.save(tmp_path / "m")
        (tmp_path / "m" / file).write_text(content)
        with pytest.raises(ModelError, match=message):
            classifier.push_to_hub("ada/ner")
        assert hub.asked == []

    def test_a_model_without_a_card_gets_one(self, hub, classifier, tmp_path):
        classifier.save(tmp_path / "m")
        classifier.push_to_hub("ada/ner")
        assert "- Labels: PERSON, PLACE" in self.card(hub).text
        assert 'nearspan.load("ada/ner")' in self.card(hub).text
