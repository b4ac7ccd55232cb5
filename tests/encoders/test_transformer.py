"""Pretrained encoders: words from pieces, long input in windows, saved and loaded with the model."""

from pathlib import Path

import pytest
import torch

import nearspan
from nearspan.encoders.encoder import Encoder, EncoderSettings
from nearspan.encoders.transformer import TransformerSettings
from nearspan.errors import ModelError, ResourceError
from nearspan.text import Sentence

KINDS = ("bert", "roberta")
SHORT = (["Ada", "lives", "in", "Oslosxy", "."], ["rain"], ["Bobs", "met", "She", "x2"])


def sentence(tokens: list[str]) -> Sentence:
    text, words, at = " ".join(tokens), [], 0
    for token in tokens:
        words.append((at, at + len(token)))
        at += len(token) + 1
    document = nearspan.Document(text, words=tuple(words))
    return Sentence(document, 0, document.words)


def built(folder: Path, **settings) -> Encoder:
    settings = {"overlap": 4, **settings}
    chosen = TransformerSettings(name=str(folder), **settings)
    return Encoder.learn(EncoderSettings(transformer=chosen), [], []).eval()


@torch.no_grad()
def features(encoder: Encoder, *sentences_: list[str]) -> list[torch.Tensor]:
    """[words, size] for each sentence."""
    prepared = encoder.prepare([sentence(tokens) for tokens in sentences_])
    batch = prepared.batch(torch.arange(len(sentences_)))
    return [row[: len(tokens)] for row, tokens in zip(encoder(batch).states, sentences_, strict=True)]


@torch.no_grad()
def naive(folder: Path, tokens: list[str], pooling: str) -> torch.Tensor:
    """One sentence, one word at a time: the pieces of a word are those it has in running text."""
    from transformers import AutoModel, AutoTokenizer

    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    ids, places = [tokenizer.cls_token_id], []
    for token in tokens:
        pieces = tokenizer.convert_tokens_to_ids(tokenizer.tokenize(" " + token)) or [tokenizer.unk_token_id]
        places.append(range(len(ids), len(ids) + len(pieces)))
        ids.extend(pieces)
    ids.append(tokenizer.sep_token_id)
    states = model(input_ids=torch.tensor([ids])).last_hidden_state[0]
    return torch.stack([states[p.start] if pooling == "first" else states[list(p)].mean(0) for p in places])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pooling", ["first", "mean"])
@pytest.mark.parametrize("frozen", [True, False])
def test_words_are_pooled_from_the_pieces_they_have_in_running_text(encoders, kind: str, pooling: str, frozen: bool):
    found = features(built(encoders[kind], pooling=pooling, frozen=frozen), *SHORT)
    for tokens, states in zip(SHORT, found, strict=True):
        expected = naive(encoders[kind], tokens, pooling)
        torch.testing.assert_close(states, expected, atol=5e-3 if frozen else 1e-5, rtol=1e-3)


@pytest.mark.parametrize("pooling", ["first", "mean"])
def test_a_word_that_the_tokenizer_drops_is_read_as_unknown(encoders, pooling: str):
    encoder = built(encoders["bert"], frozen=False, pooling=pooling)
    for tokens in (["Ada", "\u200d", "livesxy"], ["\u200d"], ["\u200d", "\u200d", "Ada"]):
        [states] = features(encoder, tokens)
        torch.testing.assert_close(states, naive(encoders["bert"], tokens, pooling), atol=1e-5, rtol=1e-3)
        [unknown] = features(encoder, ["[UNK]" if token == "\u200d" else token for token in tokens])
        torch.testing.assert_close(states, unknown, atol=1e-5, rtol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("frozen", [True, False])
@pytest.mark.parametrize("pooling", ["first", "mean"])
def test_long_input_is_read_in_windows_and_no_word_is_lost(encoders, kind: str, frozen: bool, pooling: str):
    encoder = built(encoders[kind], window=16, frozen=frozen, pooling=pooling)
    words = ["ada", "lives", "in", "oslo", "xy2", "and", "rain", "fell"] * 6
    for count in (1, 13, 14, 15, 16, 17, 31, 48):
        [states] = features(encoder, words[:count])
        assert states.shape == (count, 16)
        assert states.isfinite().all()
        assert (states.abs().sum(1) > 0).all()


def test_every_window_reads_its_own_words(encoders):
    """With single-piece words a window is a plain slice, so each word's state can be said beforehand."""
    encoder = built(encoders["bert"], window=16, frozen=False)  # 14 pieces beside [CLS] and [SEP], 4 shared
    words = ["ada", "lives", "in", "oslo", "and", "rain", "fell"] * 5  # 35 words: windows 0-14, 10-24, 20-34, 30-35
    [states] = features(encoder, words)
    slices = [(0, 14, 0, 12), (10, 24, 12, 22), (20, 34, 22, 32), (30, 35, 32, 35)]
    for start, stop, first, last in slices:
        expected = naive(encoders["bert"], words[start:stop], "first")[first - start : last - start]
        torch.testing.assert_close(states[first:last], expected, atol=1e-5, rtol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_the_longest_window_fits_the_encoder(encoders, kind: str):
    """Without a window setting as many pieces are read as the encoder has positions."""
    [states] = features(built(encoders[kind]), ["ada", "in", "oslo"] * 30)
    assert states.shape == (90, 16)
    assert built(encoders[kind]).embedders["transformer"].window == 30


def test_one_word_of_very_many_pieces_is_read_over_windows(encoders):
    [states] = features(built(encoders["roberta"], window=16, pooling="mean"), ["ada", "zq" * 60, "oslo"])
    assert states.shape == (3, 16)
    assert states.isfinite().all()


def test_a_window_must_be_wider_than_the_overlap(encoders):
    with pytest.raises(ResourceError, match="not more than the overlap of 14"):
        built(encoders["bert"], window=16, overlap=14)


@pytest.mark.parametrize("kind", KINDS)
def test_frozen_and_tuned_features_are_equal_before_training(encoders, kind: str):
    frozen = features(built(encoders[kind]), *SHORT)
    tuned = features(built(encoders[kind], frozen=False), *SHORT)
    for one, other in zip(frozen, tuned, strict=True):
        torch.testing.assert_close(one, other, atol=5e-3, rtol=1e-3)  # frozen states are kept in 16 bits


def test_no_sentences_at_all(encoders):
    for frozen in (True, False):
        assert len(built(encoders["bert"], frozen=frozen).prepare([])) == 0


@pytest.mark.parametrize("content", ["nothing", "other", "garbage", "weights", "tokenizer"])
def test_what_is_no_encoder_is_a_resource_error(encoders, tmp_path: Path, content: str):
    folder = tmp_path / "folder"
    if content == "other":
        folder.mkdir()
        (folder / "notes.txt").write_text("x")
    elif content != "nothing":
        folder.mkdir()
        for file in encoders["bert"].iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
        spoilt = {"garbage": "config.json", "weights": "model.safetensors", "tokenizer": "tokenizer.json"}[content]
        (folder / spoilt).write_text("{garbage")
    with pytest.raises(ResourceError, match="cannot load the encoder"):
        built(folder)


def recipe(tiny, folder: Path, kind: str, *settings: str):
    return tiny(
        kind,
        f'encoder.transformer={{name="{folder}", overlap=4}}',
        "encoder.words=none",
        "training.epochs=1",
        *settings,
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("frozen", [True, False])
def test_training_changes_a_tuned_encoder_and_no_frozen_one(encoders, tiny, documents, tmp_path, kind, frozen):
    from transformers import AutoModel

    chosen = recipe(tiny, encoders[kind], "instance", f"encoder.transformer.frozen={str(frozen).lower()}")
    model = nearspan.train(chosen, documents, out=tmp_path / "out", device="cpu").model
    before = AutoModel.from_pretrained(encoders[kind]).state_dict()
    after = model.network.encoder.embedders["transformer"].encoder.state_dict()
    same = {name: torch.equal(before[name], after[name]) for name in before}
    if frozen:
        assert all(same.values())
    else:
        assert not same["encoder.layer.0.attention.self.query.weight"]
        assert not same["embeddings.word_embeddings.weight"]


@pytest.mark.parametrize("frozen", [True, False])
def test_a_tuned_encoder_learns_at_a_rate_of_its_own(encoders, tiny, documents, tmp_path, frozen):
    from torch.optim.optimizer import register_optimizer_step_pre_hook

    seen = []
    hook = register_optimizer_step_pre_hook(
        lambda optimizer, *_: seen.append({group["lr"]: group["params"] for group in optimizer.param_groups})
    )
    settings = (f"encoder.transformer.frozen={str(frozen).lower()}", "encoder.transformer.learning_rate=0.00002")
    chosen = recipe(tiny, encoders["bert"], "classifier", *settings, "training.schedule=linear", "training.warmup=0")
    network = nearspan.train(chosen, documents, out=tmp_path / "out", device="cpu").model.network
    hook.remove()
    tuned = [] if frozen else [id(weight) for weight in network.pretrained() if weight.requires_grad]
    rates = [0.001] if frozen else [0.00002, 0.001]
    for step, found in enumerate(seen):
        assert sorted(found) == pytest.approx([peak * (1 - step / len(seen)) for peak in rates])
    assert [id(weight) for weight in seen[0].get(0.00002, [])] == tuned


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("frozen", ["true", "false"])
def test_a_saved_model_predicts_the_same_without_the_pretrained_folder(
    encoders, tiny, documents, tmp_path, kind, frozen
):
    import shutil

    pretrained = shutil.copytree(encoders[kind], tmp_path / "pretrained")
    chosen = recipe(tiny, pretrained, "instance", f"encoder.transformer.frozen={frozen}")
    model = nearspan.train(chosen, documents, out=tmp_path / "out", device="cpu").model
    shutil.rmtree(pretrained)
    loaded = nearspan.load(tmp_path / "out", device="cpu")
    texts = ["Ada lives in Oslo.", "Bob Stone left \u200d Rome"]
    for one, other in zip(model.annotate(texts), loaded.annotate(texts), strict=True):
        assert one == other
        assert [entity.score for entity in one.entities] == [entity.score for entity in other.entities]
    torch.testing.assert_close(
        features(model.network.encoder, *SHORT)[0], features(loaded.network.encoder, *SHORT)[0], atol=0, rtol=0
    )


@pytest.fixture(scope="module")
def saved(encoders, tiny, documents, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "out"
    nearspan.train(recipe(tiny, encoders["bert"], "classifier"), documents, out=folder, device="cpu")
    return folder


@pytest.mark.parametrize("damage", ["gone", "empty", "cut", "garbage", "other"])
def test_a_damaged_encoder_in_a_model_is_a_model_error(saved: Path, tmp_path: Path, damage: str):
    import shutil

    for name in ("config.json", "tokenizer.json"):
        folder = shutil.copytree(saved, tmp_path / name)
        file = folder / "encoder" / name
        whole = file.read_bytes()
        content = {"empty": b"", "cut": whole[: len(whole) // 2], "garbage": b"\xff\x00{", "other": b"[]"}
        if damage == "gone":
            file.unlink()
        else:
            file.write_bytes(content[damage])
        with pytest.raises(ModelError):
            nearspan.load(folder, device="cpu")


def test_code_in_a_model_folder_is_not_run_and_not_asked_for(saved: Path, tmp_path: Path, monkeypatch):
    import json
    import shutil

    folder = shutil.copytree(saved, tmp_path / "model")
    config = json.loads((folder / "encoder" / "config.json").read_text())
    config |= {"model_type": "mine", "auto_map": {"AutoConfig": "mine.Mine", "AutoModel": "mine.Model"}}
    (folder / "encoder" / "config.json").write_text(json.dumps(config))
    (folder / "encoder" / "mine.py").write_text(f"open({str(tmp_path / 'run')!r}, 'w').close()\n")
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    with pytest.raises(ModelError):
        nearspan.load(folder, device="cpu")
    assert not (tmp_path / "run").exists()
