"""The training loop: the same run twice, what it refuses, and what it leaves behind."""

import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

import nearspan
from nearspan.encoders import Batch, Encoder
from nearspan.errors import ConfigError, CorpusError, ModelError, NearspanError

RECIPES = ("instance", "classifier")


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


@pytest.mark.parametrize("name", RECIPES)
def test_one_seed_gives_one_model_bit_for_bit(tiny, documents, tmp_path: Path, name: str):
    for out, seed in (("a", 1), ("b", 1), ("c", 2)):
        nearspan.train(tiny(name), documents, documents[:3], out=tmp_path / out, seed=seed, device="cpu")
    assert weights(tmp_path / "a") == weights(tmp_path / "b")
    assert weights(tmp_path / "a") != weights(tmp_path / "c")
    for file in ("memory.safetensors", "memory.jsonl", "vocabularies/vectors.json", "config.toml"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


@pytest.mark.parametrize("name", RECIPES)
def test_training_without_development_data_keeps_the_last_epoch(tiny, documents, tmp_path: Path, name: str):
    run = nearspan.train(tiny(name, "training.epochs=3"), documents, out=tmp_path / "m", device="cpu")
    assert (run.best_epoch, run.epochs, run.dev, run.test) == (3, 3, None, None)
    assert "f1" not in json.loads((tmp_path / "m" / "metrics.jsonl").read_text().splitlines()[0])
    assert "Not evaluated" in (tmp_path / "m" / "README.md").read_text()


def test_the_saved_model_is_the_one_that_was_returned(tiny, documents, tmp_path: Path):
    for name in RECIPES:
        run = nearspan.train(tiny(name, "training.epochs=4"), documents, documents, out=tmp_path / name, device="cpu")
        loaded = nearspan.load(tmp_path / name, device="cpu")
        assert list(run.model.pipe(documents)) == list(loaded.pipe(documents))
        assert nearspan.evaluate(loaded, documents).scores == run.dev.scores


def test_the_best_development_epoch_is_kept(tiny, documents, tmp_path: Path):
    recipe = tiny("classifier", "training.epochs=12", "training.learning_rate=0.03")
    run = nearspan.train(recipe, documents, documents, documents[:4], out=tmp_path / "m", device="cpu")
    rows = [json.loads(line) for line in (tmp_path / "m" / "metrics.jsonl").read_text().splitlines()]
    assert [row["epoch"] for row in rows] == list(range(1, 13))
    best = max(rows, key=lambda row: row["f1"])
    assert run.best_epoch == best["epoch"]
    assert repr(run).startswith(
        f"Run(classifier, best epoch {best['epoch']} of 12, dev F1 {100 * best['f1']:.2f}, test F1"
    )
    assert run.dev.scores.f1 == pytest.approx(best["f1"])
    result = json.loads((tmp_path / "m" / "result.json").read_text())
    assert result["dev"]["f1"] == pytest.approx(best["f1"])
    assert result["test"]["coverage"]["documents"] == 4
    assert result["seed"] == 0


def test_patience_ends_a_run_that_gets_no_better(tiny, documents, tmp_path: Path):
    hopeless = [nearspan.markup("[Ada](OTHER) left")]
    recipe = tiny("classifier", "training.epochs=50", "training.patience=3")
    run = nearspan.train(recipe, documents, hopeless, out=tmp_path / "m", device="cpu")
    assert (run.best_epoch, run.epochs) == (1, 4)


def test_patience_counts_nothing_without_development_data(tiny, documents, tmp_path: Path):
    recipe = tiny("classifier", "training.epochs=4", "training.patience=1")
    assert nearspan.train(recipe, documents, out=tmp_path / "m", device="cpu").epochs == 4


def test_a_folder_with_a_model_or_a_run_is_refused(tiny, documents, tmp_path: Path):
    nearspan.train(tiny("classifier"), documents, out=tmp_path / "m", device="cpu")
    before = weights(tmp_path / "m")
    with pytest.raises(NearspanError, match=r"already holds a model or a run: .* `resume`"):
        nearspan.train(tiny("classifier"), documents, out=tmp_path / "m", seed=5, device="cpu")
    (tmp_path / "m" / "config.toml").unlink()
    with pytest.raises(NearspanError, match="already holds a model or a run"):
        nearspan.train(tiny("classifier"), documents, out=tmp_path / "m", seed=5, device="cpu")
    assert weights(tmp_path / "m") == before


@pytest.mark.parametrize(
    "name", ["README.md", "result.json", "model.safetensors", "memory.jsonl", "journal.jsonl", "metrics.jsonl"]
)
def test_files_of_others_are_not_written_over(tiny, documents, tmp_path: Path, name: str):
    (tmp_path / name).write_text("mine")
    with pytest.raises(NearspanError, match=rf"already holds a model or a run: there is {name}\. Give another `out`$"):
        nearspan.train(tiny("classifier"), documents, out=tmp_path, device="cpu")
    assert (tmp_path / name).read_text() == "mine"


def test_other_files_in_the_folder_are_left_alone(tiny, documents, tmp_path: Path):
    (tmp_path / "notes.txt").write_text("mine")
    nearspan.train(tiny("classifier"), documents, out=tmp_path, device="cpu")
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_file_in_the_way_is_a_clear_error(tiny, documents, tmp_path: Path):
    (tmp_path / "m").write_text("a file")
    with pytest.raises(NearspanError, match="cannot make the folder"):
        nearspan.train(tiny("classifier"), documents, out=tmp_path / "m", device="cpu")


@pytest.mark.parametrize("name", RECIPES)
def test_a_loss_that_is_no_number_is_a_clear_error(tiny, documents, tmp_path: Path, name: str):
    recipe = tiny(name, "training.learning_rate=1e30", "training.epochs=20")
    with pytest.raises(NearspanError, match=r"the loss is (nan|inf) in epoch \d+: lower training.learning_rate"):
        nearspan.train(recipe, documents, documents, out=tmp_path / "m", device="cpu")
    assert not (tmp_path / "m" / "config.toml").exists()


@pytest.mark.parametrize("batch", [0, 50])
def test_the_instance_head_needs_more_sentences_than_a_batch(tiny, documents, tmp_path: Path, batch: int):
    with pytest.raises(ConfigError, match=r"there are 12: set training\.batch to a number from 1 to 11"):
        nearspan.train(tiny("instance", f"training.batch={batch}"), documents, out=tmp_path / "m", device="cpu")


def test_the_instance_head_needs_more_than_one_sentence(tiny, documents, tmp_path: Path):
    with pytest.raises(CorpusError, match="add sentences"):
        nearspan.train(tiny("instance", "training.batch=1"), documents[:1], out=tmp_path, device="cpu")


@pytest.mark.parametrize("resume", [False, True])
def test_a_folder_whose_name_is_too_long_is_a_clear_error(tiny, documents, resume: bool):
    with pytest.raises(NearspanError, match="cannot make the folder"):
        nearspan.train(tiny("classifier"), documents, out="x" * 300, device="cpu", resume=resume)


def test_one_sentence_is_enough_for_a_classifier(tiny, documents, tmp_path: Path):
    nearspan.train(tiny("classifier"), documents[:1], out=tmp_path / "m", device="cpu")


@pytest.mark.parametrize(
    "texts", [[], [""], ["Nobody is here"], ["[a b c d e f g h](LONG)"]], ids=["none", "empty", "bare", "unreachable"]
)
def test_no_entity_to_learn_is_a_clear_error(tiny, tmp_path: Path, texts: list[str]):
    documents = [nearspan.markup(text) for text in texts]
    with pytest.raises(NearspanError, match="holds no entity that this recipe can learn"):
        nearspan.train(tiny("classifier"), documents, out=tmp_path / "m", device="cpu")
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("changes", [[], ["suggester.kind=given"]], ids=["all spans", "given spans"])
@pytest.mark.parametrize("name", RECIPES)
def test_a_label_named_like_no_entity_is_refused(tiny, documents, tmp_path: Path, name: str, changes: list[str]):
    train = [*documents, nearspan.markup("[Ada](null) left")]
    with pytest.raises(CorpusError, match=r"a label 'null'.*rename it"):
        nearspan.train(tiny(name, *changes), train, out=tmp_path / "m", device="cpu")
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("split", ["train", "dev", "test"])
@pytest.mark.parametrize(
    "document",
    [
        nearspan.Document("Ada \ud800 left", id="odd"),
        nearspan.Document("Ada left", id="odd\udfff"),
        nearspan.Document("Ada left", id="odd", entities=(nearspan.Entity(nearspan.Span.of(0, 3), "PER\ud800"),)),
    ],
    ids=["text", "id", "label"],
)
def test_what_no_file_can_hold_is_refused_before_training(tiny, documents, tmp_path: Path, split, document):
    splits = {"train": documents, "dev": documents, "test": documents}
    splits[split] = [*documents, document]
    with pytest.raises(CorpusError, match=rf"document 13 of {split} \('odd.*'\) holds the lone surrogate U\+D"):
        nearspan.train(tiny("classifier"), **splits, out=tmp_path / "m", device="cpu")
    assert not (tmp_path / "m").exists()


def test_documents_may_come_from_generators(tiny, documents, tmp_path: Path):
    def each():
        return (document for document in documents)

    run = nearspan.train(tiny("classifier"), each(), each(), each(), out=tmp_path / "m", device="cpu")
    again = nearspan.train(tiny("classifier"), documents, documents, documents, out=tmp_path / "n", device="cpu")
    assert run.dev.scores == again.dev.scores == nearspan.evaluate(run.model, each()).scores
    assert run.test.coverage == again.test.coverage
    assert weights(tmp_path / "m") == weights(tmp_path / "n")


def test_documents_may_be_paths_and_corpora(tiny, documents, tmp_path: Path):
    path = tmp_path / "data.jsonl"
    nearspan.write(documents, path)
    nearspan.train(tiny("classifier"), path, nearspan.read(path), str(path), out=tmp_path / "m", device="cpu")
    nearspan.train(tiny("classifier"), documents, documents, documents, out=tmp_path / "n", device="cpu")
    assert weights(tmp_path / "m") == weights(tmp_path / "n")


def test_a_folder_that_could_not_be_read_again_is_refused(tiny, documents, tmp_path: Path):
    with pytest.raises(NearspanError, match="is not UTF-8, and no model could be read there"):
        nearspan.train(tiny("classifier"), documents, out=f"{tmp_path}/m\udcff", device="cpu")
    assert not list(tmp_path.iterdir())


def test_a_run_that_wrote_nothing_leaves_no_folder(tiny, documents, tmp_path: Path):
    for out in ("new", "old"):
        (tmp_path / "old").mkdir(exist_ok=True)
        with pytest.raises(NearspanError):
            nearspan.train(tiny("classifier", "encoder.bilstm=none"), documents, out=tmp_path / out, device="cpu")
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert not list((tmp_path / "old").iterdir())


def test_empty_documents_among_others_do_no_harm(tiny, documents, tmp_path: Path):
    empty = nearspan.Document("  ")
    run = nearspan.train(
        tiny("instance"), [empty, *documents, empty], [empty, documents[0]], [empty], out=tmp_path / "m", device="cpu"
    )
    assert run.test.scores.f1 == 0


def test_nested_data_is_decoded_nested(tiny, tmp_path: Path):
    documents = [nearspan.markup("[University of [Oslo](PLACE)](ORG) won"), nearspan.markup("[Ada](PERSON) won")]
    run = nearspan.train(tiny("classifier"), documents, out=tmp_path / "a", device="cpu")
    assert run.model.overlap == "nested"
    run = nearspan.train(tiny("classifier", "decoding.overlap=flat"), documents, out=tmp_path / "b", device="cpu")
    assert run.model.overlap == nearspan.load(tmp_path / "b", device="cpu").overlap == "flat"


def test_a_sentence_of_thousands_of_words_is_trained_on_in_windows(tiny, documents, tmp_path: Path):
    long = nearspan.markup("the rain fell and " * 300 + "[Ada](PERSON) " + "left " * 900)
    run = nearspan.train(tiny("instance", "training.epochs=1"), [*documents, long], out=tmp_path / "m", device="cpu")
    assert len(run.model.datastore.sentences) == len(documents) + 3
    assert run.dev is None


def test_a_device_that_is_not_there_is_a_clear_error(tiny, documents, tmp_path: Path):
    import torch

    with pytest.raises(ConfigError, match="`device` nonsense"):
        nearspan.train(tiny("classifier"), documents, out=tmp_path / "m", device="nonsense")
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(ConfigError, match="`device` cuda"):
        nearspan.train(tiny("classifier"), documents, out=tmp_path / "m", device="cuda")


def test_a_full_disk_is_a_clear_error(tiny, documents, tmp_path: Path, full_disk):
    with full_disk(2000), pytest.raises(ModelError, match=r"cannot (write a checkpoint|save the model) to"):
        nearspan.train(tiny("classifier"), documents, out=tmp_path / "m", device="cpu")
    assert not (tmp_path / "m" / "config.toml").exists()


@pytest.mark.parametrize("limit", [10, 100, 500])
def test_a_disk_that_takes_no_metrics_is_a_clear_error(tiny, documents, tmp_path: Path, full_disk, limit: int):
    with full_disk(limit), pytest.raises(NearspanError):
        nearspan.train(tiny("classifier"), documents, out=tmp_path / "m", device="cpu")


@pytest.fixture
def norms() -> Iterator[list[float]]:
    """The norm of the gradient at every step that an optimizer takes."""
    lengths: list[float] = []

    def measure(optimizer, *_) -> None:
        gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        lengths.append(float(torch.cat([gradient.flatten() for gradient in gradients]).norm()))

    hook = register_optimizer_step_pre_hook(measure)
    yield lengths
    hook.remove()


def test_a_clip_of_0_is_none(tiny, documents, tmp_path: Path):
    for out, clip in (("none", 0), ("loose", 1e6)):
        recipe = tiny("classifier", "training.optimizer=sgd", "training.learning_rate=0.1", f"training.clip={clip}")
        nearspan.train(recipe, documents, out=tmp_path / out, device="cpu")
    assert weights(tmp_path / "none") == weights(tmp_path / "loose")


def test_no_step_follows_a_gradient_that_is_longer_than_the_clip(tiny, documents, tmp_path: Path, norms: list[float]):
    for out, clip in (("loose", 1e6), ("tight", 0.01)):
        recipe = tiny("classifier", "training.optimizer=sgd", "training.learning_rate=0.1", f"training.clip={clip}")
        nearspan.train(recipe, documents, out=tmp_path / out, device="cpu")
    steps = len(norms) // 2
    assert min(norms[:steps]) > 0.1
    assert norms[steps:] == pytest.approx([0.01] * steps, rel=1e-3)
    assert weights(tmp_path / "loose") != weights(tmp_path / "tight")


def test_dropout_is_on_again_after_an_epoch_was_scored(tiny, documents, tmp_path, monkeypatch: pytest.MonkeyPatch):
    modes: list[bool] = []
    read = Encoder.forward

    def watch(encoder: Encoder, batch: Batch):
        if torch.is_grad_enabled():
            modes.append(encoder.training)
        return read(encoder, batch)

    monkeypatch.setattr(Encoder, "forward", watch)
    nearspan.train(tiny("instance", "training.epochs=3"), documents, documents, out=tmp_path / "m", device="cpu")
    assert modes == [True] * 3 * math.ceil(len(documents) / 4)


def test_an_epochs_batches_hold_sentences_of_like_length(tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    documents = [nearspan.markup("[Ada](PERSON)" + " left" * (7 * number % 40)) for number in range(40)]
    padding: list[int] = []
    read = Encoder.forward

    def watch(encoder: Encoder, batch: Batch):
        if encoder.training:
            padding.append(int((~batch.mask).sum()))
        return read(encoder, batch)

    monkeypatch.setattr(Encoder, "forward", watch)
    nearspan.train(tiny("classifier", "training.epochs=1"), documents, out=tmp_path / "m", device="cpu")
    assert padding == [0 + 1 + 2 + 3] * 10  # 40 lengths in batches of 4
