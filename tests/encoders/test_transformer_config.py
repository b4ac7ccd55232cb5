"""A pretrained encoder's configuration: in a model folder it is data, and names nothing that is loaded."""

import json
import shutil
import socket
import tomllib
from pathlib import Path

import pytest
import tomli_w
import torch
from safetensors.torch import load_file

import nearspan
from nearspan.encoders.encoder import Encoder, EncoderSettings
from nearspan.encoders.transformer import TransformerSettings
from nearspan.encoders.transformer_config import MODEL_TYPES, build_config, build_encoder, config_values
from nearspan.errors import ModelError, ResourceError
from nearspan.io.model_folder import file_digest

KERNEL = "attacker/kernel"
FOREIGN = {
    "attn_implementation": KERNEL,
    "_attn_implementation": KERNEL,
    "_attn_implementation_internal": KERNEL,
    "experts_implementation": KERNEL,
    "auto_map": {"AutoConfig": "mine.Config", "AutoModel": "attacker/encoder--mine.Model"},
    "quantization_config": {"quant_method": "bitsandbytes", "load_in_8bit": True},
    "trust_remote_code": True,
    "text_config": {"model_type": "bert", "attn_implementation": KERNEL},
    "per_layer_config": {"0": {"attn_implementation": KERNEL}},
    "dtype": "float16",
}


@pytest.fixture(scope="module")
def saved(encoders, tiny, documents, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "out"
    settings = (f'encoder.transformer={{name="{encoders["bert"]}", overlap=4}}', "encoder.vectors=none")
    nearspan.train(tiny("classifier", *settings, "training.epochs=1"), documents, out=folder, device="cpu")
    return folder


@pytest.fixture
def no_network(monkeypatch) -> None:
    def refuse(*given, **named):
        raise AssertionError(f"asked the network for {given}")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)


def copy_model(saved: Path, folder: Path, **files: object) -> Path:
    """A copy of a model in which these JSON files of the encoder say this, with digests that are right."""
    shutil.copytree(saved, folder)
    config = tomllib.loads((folder / "config.toml").read_text())
    for name, content in files.items():
        path = folder / "encoder" / f"{name}.json"
        path.write_text(json.dumps(content))
        config["model"]["files"][f"encoder/{path.name}"] = file_digest(path)
    (folder / "config.toml").write_text(tomli_w.dumps(config))
    return folder


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("name", FOREIGN)
def test_a_folder_that_chooses_what_is_run_is_refused_by_the_name_of_the_setting(saved, tmp_path: Path, name: str):
    config = json.loads((saved / "encoder/config.json").read_text()) | {name: FOREIGN[name]}
    with pytest.raises(ModelError, match=rf"what no encoder of type bert knows: {name}$"):
        nearspan.load(copy_model(saved, tmp_path / "m", config=config), device="cpu")


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("kind", ["mine", "mamba", "vision-encoder-decoder", "../bert", None, ["bert"]])
def test_a_folder_with_an_encoder_of_an_unknown_type_is_refused(saved, tmp_path: Path, kind: object):
    config = json.loads((saved / "encoder/config.json").read_text()) | {"model_type": kind}
    with pytest.raises(ModelError, match=r"encoders of type .* cannot be used; those that can: albert, bert"):
        nearspan.load(copy_model(saved, tmp_path / "m", config=config), device="cpu")


@pytest.mark.usefixtures("no_network")
def test_a_tokenizer_is_data_and_what_else_is_said_of_it_is_not_read(saved, tmp_path: Path):
    tokenizer = {
        "auto_map": {"AutoTokenizer": ["attacker/encoder--mine.Slow", "attacker/encoder--mine.Fast"]},
        "tokenizer_class": "Mine",
        "tokenizer_file": "/etc/passwd",
        "chat_template": "{{ 1/0 }}",
    }
    folder = copy_model(saved, tmp_path / "m", tokenizer_config=tokenizer, added_tokens={"zorro": 1_000_000})
    model = nearspan.load(folder, device="cpu")
    assert list(model.pipe(["Ada met zorro"])) == list(nearspan.load(saved, device="cpu").pipe(["Ada met zorro"]))


@pytest.mark.parametrize("ids", [{"unknown": 9_999}, {"padding": -1}, {"unknown": "1"}, {"longest": None}])
def test_pieces_that_there_are_none_of_are_seen(saved, tmp_path: Path, ids: dict[str, object]):
    pieces = json.loads((saved / "encoder/pieces.json").read_text()) | ids
    with pytest.raises(ModelError, match="the encoder in"):
        nearspan.load(copy_model(saved, tmp_path / "m", pieces=pieces), device="cpu")


def test_the_folder_of_an_encoder_holds_what_is_read_and_nothing_else(saved: Path):
    assert sorted(file.name for file in (saved / "encoder").iterdir()) == [
        "config.json",
        "pieces.json",
        "tokenizer.json",
    ]
    config = json.loads((saved / "encoder/config.json").read_text())
    assert config["hidden_size"] == 16
    assert not {"architectures", "transformers_version", "dtype", "torch_dtype", "_name_or_path"} & config.keys()


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("model_type", MODEL_TYPES)
def test_every_type_is_built_from_its_settings_alone_with_an_attention_of_transformers(model_type: str):
    from transformers import CONFIG_MAPPING

    if model_type not in CONFIG_MAPPING:
        pytest.skip("this version of transformers has no such encoders")
    config = build_config(config_values(CONFIG_MAPPING[model_type]()))
    assert not getattr(config, "sub_configs", {})
    with torch.device("meta"):
        encoder = build_encoder(config)
    assert encoder.config._attn_implementation in ("sdpa", "eager")
    assert encoder.config.hidden_size > 0


def test_what_layers_read_beside_the_declared_settings_is_kept(encoders):
    from transformers import AutoConfig

    published = AutoConfig.from_pretrained(encoders["deberta"])
    config = build_config(config_values(published))
    for name in ("position_buckets", "norm_rel_ebd", "share_att_key", "pos_att_type", "pooler_hidden_size"):
        assert getattr(config, name) == getattr(published, name)


def test_a_setting_that_newer_versions_have_dropped_is_read_where_it_says_what_they_do(encoders):
    values = config_values(build_config({"model_type": "bert", "hidden_size": 32}))
    assert build_config(values | {"position_embedding_type": "absolute"}).hidden_size == 32


def from_folder(folder: Path) -> Encoder:
    settings = TransformerSettings(name=str(folder), overlap=4)
    return Encoder.from_corpus(EncoderSettings(transformer=settings), [], [])


@pytest.mark.usefixtures("no_network")
def test_an_encoder_to_train_with_does_not_choose_its_attention(encoders, tmp_path: Path):
    folder = shutil.copytree(encoders["bert"], tmp_path / "encoder")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"attn_implementation": KERNEL}))
    transformer = from_folder(folder).transformer
    assert transformer.encoder.config._attn_implementation == "sdpa"


@pytest.mark.usefixtures("no_network")
def test_pickled_weights_are_not_read_and_the_error_says_what_to_do(encoders, tmp_path: Path):
    folder = shutil.copytree(encoders["bert"], tmp_path / "encoder")
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(ResourceError, match=r"no weights as safetensors.* convert one that you trust"):
        from_folder(folder)
