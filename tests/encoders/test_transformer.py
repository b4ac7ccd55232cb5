"""Pretrained encoders: words from pieces, long input in windows, saved and loaded with the model."""

import json
import logging
import shutil
from itertools import accumulate, pairwise
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

import nearspan
from nearspan.encoders.encoder import Encoder, EncoderSettings
from nearspan.encoders.transformer import TransformerSettings
from nearspan.errors import ModelError, NearspanError, ResourceError
from nearspan.segment import Sentence, Siblings

KINDS = ("bert", "roberta", "deberta")
SHORT = (["Ada", "lives", "in", "Oslosxy", "."], ["rain"], ["Bobs", "met", "She", "x2"])


def sentence(tokens: list[str]) -> Sentence:
    text, words, at = " ".join(tokens), [], 0
    for token in tokens:
        words.append((at, at + len(token)))
        at += len(token) + 1
    document = nearspan.Document(text, words=tuple(words))
    return Sentence(document, 0, document.words)


def build_transformer(folder: Path, **settings) -> Encoder:
    settings = {"overlap": 4, **settings}
    chosen = TransformerSettings(name=str(folder), **settings)
    return Encoder.from_corpus(EncoderSettings(transformer=chosen), [], []).eval()


@torch.no_grad()
def features(encoder: Encoder, *sentences_: list[str]) -> list[torch.Tensor]:
    """[words, size] for each sentence."""
    prepared = encoder.prepare([sentence(tokens) for tokens in sentences_])
    batch = prepared.batch(torch.arange(len(sentences_)))
    return [row[: len(tokens)] for row, tokens in zip(encoder(batch).states, sentences_, strict=True)]


@torch.no_grad()
def naive(folder: Path, tokens: list[str], pooling: str, layer: int = -1) -> torch.Tensor:
    """One sentence, one word at a time: the pieces of a word are those it has in running text."""
    from transformers import AutoModel, AutoTokenizer

    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    ids, places = [tokenizer.cls_token_id], []
    for token in tokens:
        pieces = tokenizer.convert_tokens_to_ids(tokenizer.tokenize(" " + token)) or [tokenizer.unk_token_id]
        places.append(range(len(ids), len(ids) + len(pieces)))
        ids.extend(pieces)
    ids.append(tokenizer.sep_token_id)
    states = model(input_ids=torch.tensor([ids]), output_hidden_states=True).hidden_states[layer][0]
    return torch.stack([states[p.start] if pooling == "first" else states[list(p)].mean(0) for p in places])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pooling", ["first", "mean"])
@pytest.mark.parametrize("frozen", [True, False])
def test_words_are_pooled_from_the_pieces_they_have_in_running_text(encoders, kind: str, pooling: str, frozen: bool):
    vectors = features(build_transformer(encoders[kind], pooling=pooling, frozen=frozen), *SHORT)
    for tokens, states in zip(SHORT, vectors, strict=True):
        expected = naive(encoders[kind], tokens, pooling)
        torch.testing.assert_close(states, expected, atol=5e-3 if frozen else 1e-5, rtol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("frozen", [True, False])
def test_a_lower_layer_can_be_read(encoders, kind: str, frozen: bool):
    encoder = build_transformer(encoders[kind], layers=1, frozen=frozen)
    vectors = features(encoder, *SHORT)
    for tokens, states in zip(SHORT, vectors, strict=True):
        expected = naive(encoders[kind], tokens, "first", layer=1)
        torch.testing.assert_close(states, expected, atol=5e-3 if frozen else 1e-5, rtol=1e-3)
        assert (expected - naive(encoders[kind], tokens, "first")).abs().max() > 0.1


@pytest.mark.parametrize("family", ["mpnet", "modernbert", "longformer"])
def test_the_layers_that_are_kept_are_saved_in_other_families_too(
    encoders, tiny, documents, tmp_path: Path, family: str
):
    """MPNet keeps a table beside its layers, ModernBERT names the kind of each, and Longformer its window."""
    from transformers import AutoConfig, AutoModel

    folder = shutil.copytree(encoders["bert"], tmp_path / "pretrained")
    encoder_config = json.loads((folder / "config.json").read_text())
    shape = {
        name: encoder_config[name] for name in ("vocab_size", "hidden_size", "num_attention_heads", "intermediate_size")
    }
    config = AutoConfig.for_model(family, **shape, num_hidden_layers=4, max_position_embeddings=66, pad_token_id=0)
    config.attention_window = [8, 8, 16, 16]
    AutoModel.from_config(config).save_pretrained(folder)
    chosen = recipe(tiny, folder, "instance", "encoder.transformer.layers=3")
    model = nearspan.train(chosen, documents, out=tmp_path / "out", device="cpu").model
    loaded = nearspan.load(tmp_path / "out", device="cpu")
    assert loaded.network.encoder.features["transformer"].encoder.config.num_hidden_layers == 3
    assert list(loaded.pipe(documents)) == list(model.pipe(documents))


def test_more_layers_than_an_encoder_has_are_refused(encoders):
    with pytest.raises(ResourceError, match=r"has 2 layers; encoder\.transformer\.layers asks for 3"):
        build_transformer(encoders["bert"], layers=3)
    build_transformer(encoders["bert"], layers=2)


@pytest.mark.parametrize("pooling", ["first", "mean"])
def test_a_word_that_the_tokenizer_drops_is_read_as_unknown(encoders, pooling: str):
    encoder = build_transformer(encoders["bert"], frozen=False, pooling=pooling)
    for tokens in (["Ada", "\u200d", "livesxy"], ["\u200d"], ["\u200d", "\u200d", "Ada"]):
        [states] = features(encoder, tokens)
        torch.testing.assert_close(states, naive(encoders["bert"], tokens, pooling), atol=1e-5, rtol=1e-3)
        [unknown] = features(encoder, ["[UNK]" if token == "\u200d" else token for token in tokens])
        torch.testing.assert_close(states, unknown, atol=1e-5, rtol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("frozen", [True, False])
@pytest.mark.parametrize("pooling", ["first", "mean"])
def test_long_input_is_read_in_windows_and_no_word_is_lost(encoders, kind: str, frozen: bool, pooling: str):
    encoder = build_transformer(encoders[kind], window=16, frozen=frozen, pooling=pooling)
    words = ["ada", "lives", "in", "oslo", "xy2", "and", "rain", "fell"] * 6
    for count in (1, 13, 14, 15, 16, 17, 31, 48):
        [states] = features(encoder, words[:count])
        assert states.shape == (count, 16)
        assert states.isfinite().all()
        assert (states.abs().sum(1) > 0).all()


def test_every_window_reads_its_own_words(encoders):
    """With single-piece words a window is a plain slice, so each word's state can be said beforehand."""
    encoder = build_transformer(encoders["bert"], window=16, frozen=False)  # 14 pieces beside [CLS] and [SEP], 4 shared
    words = ["ada", "lives", "in", "oslo", "and", "rain", "fell"] * 5  # 35 words: windows 0-14, 10-24, 20-34, 30-35
    [states] = features(encoder, words)
    slices = [(0, 14, 0, 12), (10, 24, 12, 22), (20, 34, 22, 32), (30, 35, 32, 35)]
    for start, stop, first, last in slices:
        expected = naive(encoders["bert"], words[start:stop], "first")[first - start : last - start]
        torch.testing.assert_close(states[first:last], expected, atol=1e-5, rtol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_the_longest_window_fits_the_encoder(encoders, kind: str):
    """Without a window setting as many pieces are read as the encoder has positions."""
    [states] = features(build_transformer(encoders[kind]), ["ada", "in", "oslo"] * 30)
    assert states.shape == (90, 16)
    assert build_transformer(encoders[kind]).features["transformer"].window == 30


def test_one_word_of_very_many_pieces_is_read_over_windows(encoders):
    [states] = features(build_transformer(encoders["roberta"], window=16, pooling="mean"), ["ada", "zq" * 60, "oslo"])
    assert states.shape == (3, 16)
    assert states.isfinite().all()


def test_a_window_must_be_wider_than_the_overlap(encoders):
    with pytest.raises(ResourceError, match="not more than the overlap of 14"):
        build_transformer(encoders["bert"], window=16, overlap=14)


@pytest.mark.parametrize("kind", KINDS)
def test_frozen_and_tuned_features_are_equal_before_training(encoders, kind: str):
    frozen = features(build_transformer(encoders[kind]), *SHORT)
    tuned = features(build_transformer(encoders[kind], frozen=False), *SHORT)
    for left, right in zip(frozen, tuned, strict=True):
        torch.testing.assert_close(left, right, atol=5e-3, rtol=1e-3)  # frozen states are kept in 16 bits


def test_no_sentences_at_all(encoders):
    for frozen in (True, False):
        assert len(build_transformer(encoders["bert"], frozen=frozen).prepare([])) == 0


STORY = (["Ada", "lives", "in", "Oslosxy", "."], ["rain", "fell", "."], ["Bobs", "met", "She", "x2", "."])
OTHER = (["Eve", "left", "Rome", "."], ["They", "went", "to", "Lima", "."])


def sentences_of(*texts: list[str]) -> list[Sentence]:
    """The sentences of one document, each with all of them around."""
    whole = sentence([token for tokens in texts for token in tokens])
    edges = [0, *accumulate(map(len, texts))]
    return list(Siblings(whole.document, [whole.words[first:stop] for first, stop in pairwise(edges)]))


@torch.no_grad()
def states_of(encoder: Encoder, *documents: list[Sentence], ids: list[int] | None = None) -> list[torch.Tensor]:
    """[words, size] for each sentence of the documents, or for those of some numbers."""
    sentences_ = [sentence for document in documents for sentence in document]
    prepared = encoder.prepare(sentences_)
    chosen = list(range(len(sentences_))) if ids is None else ids
    states = encoder(prepared.batch(torch.tensor(chosen))).states
    return [row[: len(sentences_[i])] for i, row in zip(chosen, states, strict=True)]


def alike(states: list[torch.Tensor], expected: list[torch.Tensor], frozen: bool = False) -> None:
    for left, right in zip(states, expected, strict=True):
        torch.testing.assert_close(left, right, atol=5e-3 if frozen else 1e-5, rtol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pooling", ["first", "mean"])
@pytest.mark.parametrize("frozen", [True, False])
def test_in_context_a_sentence_is_read_with_those_around_it(encoders, kind: str, pooling: str, frozen: bool):
    encoder = build_transformer(encoders[kind], pooling=pooling, frozen=frozen, context=30)
    expected = naive(encoders[kind], [token for tokens in STORY for token in tokens], pooling).split([5, 3, 5])
    alike(states_of(encoder, sentences_of(*STORY)), list(expected), frozen)
    alone = naive(encoders[kind], STORY[1], pooling)
    assert (alone - expected[1]).abs().max() > 0.1


def test_what_is_too_much_for_one_context_is_read_in_even_parts(encoders):
    texts = [["ada", "lives", "in", "oslo"], ["rain", "fell", "on", "a"], ["bob", "met", "eve"], ["they", "left", "."]]
    expected = [
        *naive(encoders["bert"], texts[0] + texts[1], "first").split([4, 4]),
        *naive(encoders["bert"], texts[2] + texts[3], "first").split([3, 3]),
    ]
    alike(states_of(build_transformer(encoders["bert"], frozen=False, context=11), sentences_of(*texts)), expected)
    each = [naive(encoders["bert"], tokens, "first") for tokens in texts]
    for context in (1, 4):  # no two of them fit
        alike(states_of(build_transformer(encoders["bert"], frozen=False, context=context), sentences_of(*texts)), each)


@pytest.mark.parametrize("frozen", [True, False])
def test_no_context_comes_from_another_document(encoders, frozen: bool):
    encoder = build_transformer(encoders["roberta"], frozen=frozen, context=30)
    alone = states_of(encoder, sentences_of(*STORY))
    alike(states_of(encoder, sentences_of(*STORY), sentences_of(*OTHER))[:3], alone, frozen)
    alike(states_of(encoder, sentences_of(*OTHER), sentences_of(*STORY))[2:], alone, frozen)
    changed = states_of(encoder, sentences_of(STORY[0], STORY[1], OTHER[0]))
    assert (changed[0] - alone[0]).abs().max() > 0.05  # its own document's it does see


@pytest.mark.parametrize("frozen", [True, False])
def test_a_sentence_has_its_context_whichever_others_are_asked_for(encoders, frozen: bool):
    encoder = build_transformer(encoders["bert"], frozen=frozen, context=30)
    story = sentences_of(*STORY)
    whole = states_of(encoder, story)
    for i, sentence in enumerate(story):
        alike(states_of(encoder, [sentence]), [whole[i]], frozen)
    alike(states_of(encoder, story[::-1]), whole[::-1], frozen)
    alike(
        states_of(encoder, story, sentences_of(*OTHER), ids=[4, 1]),
        states_of(encoder, sentences_of(*OTHER))[1:] + whole[1:2],
        frozen,
    )


def test_a_context_beyond_the_window_goes_through_windows(encoders):
    encoder = build_transformer(
        encoders["bert"], frozen=False, window=16, context=40
    )  # 14 pieces beside [CLS] and [SEP], 4 shared
    words = ["ada", "lives", "in", "oslo", "and", "rain", "fell"] * 5
    states = torch.cat(states_of(encoder, sentences_of(words[:10], words[10:24], words[24:])))
    for start, stop, first, last in [(0, 14, 0, 12), (10, 24, 12, 22), (20, 34, 22, 32), (30, 35, 32, 35)]:
        expected = naive(encoders["bert"], words[start:stop], "first")[first - start : last - start]
        torch.testing.assert_close(states[first:last], expected, atol=1e-5, rtol=1e-3)


def test_batches_keep_the_sentences_that_are_read_together(encoders):
    encoder = build_transformer(encoders["bert"], frozen=False, context=14)
    sentences_ = [*sentences_of(*STORY), *sentences_of(*OTHER)]
    prepared = encoder.prepare(sentences_)
    assert prepared.passages == [[0], [1, 2], [3, 4]]  # 8, 3 + 7 and 4 + 5 pieces
    for batch in (*prepared.training_batches(2), *(batch.ids for batch in prepared.reading_batches())):
        held = set(batch.tolist())
        assert all(held.issuperset(group) or held.isdisjoint(group) for group in prepared.passages)
    assert encoder.prepare([sentences_[4], sentences_[0], sentences_[3]]).passages == [[0, 2], [1]]
    without = build_transformer(encoders["bert"], frozen=False).prepare(sentences_)
    assert without.passages == [[0], [1], [2], [3], [4]]


@pytest.mark.parametrize("frozen", [False, True])
def test_sentences_of_as_many_words_meet_those_of_as_many_pieces(encoders, frozen: bool):
    short, long = ["rain", "fell"], ["oslosxy", "romesxy"]  # two words each, of two and of eight pieces
    prepared = build_transformer(encoders["bert"], frozen=frozen).prepare(
        [sentence(text) for text in (short, long) * 8]
    )
    for batches in (prepared.training_batches(4, torch.Generator().manual_seed(3)), prepared.training_batches(4)):
        alike = [len({i % 2 for i in batch.tolist()}) == 1 for batch in batches]
        assert all(alike) != frozen  # frozen states are not read again: nothing is padded with them


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
        build_transformer(folder)


def without(folder: Path, part: str, target: Path) -> Path:
    """A copy of an encoder whose file lacks the weights whose names begin so."""
    shutil.copytree(folder, target)
    kept = {
        name: tensor for name, tensor in load_file(folder / "model.safetensors").items() if not name.startswith(part)
    }
    save_file(kept, target / "model.safetensors", metadata={"format": "pt"})
    return target


@pytest.mark.parametrize("kind", KINDS)
def test_weights_that_an_encoder_lacks_are_named_and_not_made_up(encoders, tmp_path: Path, kind: str):
    with pytest.raises(ResourceError, match=r"lacks 16 weights .*: encoder\.layer\.1\..*, \.\.\."):
        build_transformer(without(encoders[kind], "encoder.layer.1.", tmp_path / "folder"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_pooler_is_not_needed_and_not_spoken_of(encoders, tmp_path: Path, caplog, monkeypatch, kind: str):
    folder = without(encoders[kind], "pooler.", tmp_path / "folder")
    monkeypatch.setattr(logging.getLogger("transformers"), "handlers", [caplog.handler])
    cut, whole = features(build_transformer(folder), *SHORT), features(build_transformer(encoders[kind]), *SHORT)
    assert all(map(torch.equal, cut, whole))
    assert not caplog.records


def recipe(tiny, folder: Path, kind: str, *settings: str):
    return tiny(
        kind,
        f'encoder.transformer={{name="{folder}", overlap=4}}',
        "encoder.vectors=none",
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
    after = model.network.encoder.features["transformer"].encoder.state_dict()
    same = {name: torch.equal(before[name], after[name]) for name in before}
    if frozen:
        assert all(same.values())
    else:
        query = "query_proj" if kind == "deberta" else "query"
        assert not same[f"encoder.layer.0.attention.self.{query}.weight"]
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
    tuned = [] if frozen else [id(weight) for weight in network.pretrained_parameters() if weight.requires_grad]
    rates = [0.001] if frozen else [0.00002, 0.001]
    for step, states in enumerate(seen):
        assert sorted(states) == pytest.approx([peak * (1 - step / len(seen)) for peak in rates])
    assert [id(weight) for weight in seen[0].get(0.00002, [])] == tuned


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("frozen", "layers"), [("true", 0), ("false", 0), ("true", 1)])
def test_a_saved_model_predicts_the_same_without_the_pretrained_folder(
    encoders, tiny, documents, tmp_path, kind, frozen, layers
):

    pretrained = shutil.copytree(encoders[kind], tmp_path / "pretrained")
    settings = (f"encoder.transformer.frozen={frozen}", f"encoder.transformer.layers={layers}")
    chosen = recipe(tiny, pretrained, "instance", *settings)
    model = nearspan.train(chosen, documents, out=tmp_path / "out", device="cpu").model
    shutil.rmtree(pretrained)
    loaded = nearspan.load(tmp_path / "out", device="cpu")
    texts = ["Ada lives in Oslo.", "Bob Stone left \u200d Rome"]
    for left, right in zip(model.pipe(texts), loaded.pipe(texts), strict=True):
        assert left == right
        assert [entity.score for entity in left.entities] == [entity.score for entity in right.entities]
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


def test_a_file_beside_an_encoders_own_is_not_read_and_not_written_to(saved: Path, tmp_path: Path):
    """It may be a pretrained encoder's, with files of the same names."""

    folder = shutil.copytree(saved, tmp_path / "model")
    (folder / "encoder" / ".cache").mkdir()
    (folder / "encoder" / ".cache" / "hidden").touch()  # what systems leave is nobody's
    stray = folder / "encoder" / "added_tokens.json"
    stray.write_text('{"zorro": 1000000}')
    model = nearspan.load(folder, device="cpu")
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    with pytest.raises(ModelError, match=r"added_tokens\.json is no part of a model.* move it elsewhere"):
        model.save(folder)
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before
    stray.unlink()
    model.save(folder)
    assert nearspan.load(folder, device="cpu").labels == model.labels


def test_training_into_the_folder_of_a_pretrained_encoder_is_refused(encoders, tiny, documents, tmp_path: Path):

    encoder = shutil.copytree(encoders["bert"], tmp_path / "encoder")
    with pytest.raises(NearspanError, match="already holds a model or a run: there is encoder/"):
        nearspan.train(recipe(tiny, encoder, "classifier"), documents, out=tmp_path, device="cpu")


def test_an_encoder_that_cannot_be_saved_is_a_model_error(saved: Path, tmp_path: Path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "encoder").touch()
    with pytest.raises(ModelError, match="cannot save"):
        nearspan.load(saved, device="cpu").save(folder)


def test_code_in_a_model_folder_is_not_run_and_not_asked_for(saved: Path, tmp_path: Path, monkeypatch):
    import tomllib

    import tomli_w

    from nearspan.io.model_folder import file_digest

    folder = shutil.copytree(saved, tmp_path / "model")
    path, code = folder / "encoder" / "config.json", folder / "encoder" / "mine.py"
    config = json.loads(path.read_text())
    config |= {"model_type": "mine", "auto_map": {"AutoConfig": "mine.Mine", "AutoModel": "mine.Model"}}
    path.write_text(json.dumps(config))
    code.write_text(f"open({str(tmp_path / 'run')!r}, 'w').close()\n")
    recipe = tomllib.loads((folder / "config.toml").read_text())  # who can change the one can change the other
    recipe["model"]["files"] |= {f"encoder/{file.name}": file_digest(file) for file in (path, code)}
    (folder / "config.toml").write_text(tomli_w.dumps(recipe))
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    with pytest.raises(ModelError, match="the encoder in"):
        nearspan.load(folder, device="cpu")
    assert not (tmp_path / "run").exists()
