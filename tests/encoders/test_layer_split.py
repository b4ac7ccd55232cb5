"""A pretrained encoder whose lowest layers stay as they are."""

import pytest
import torch

import nearspan
from nearspan.encoders import Encoder, EncoderSettings
from nearspan.encoders.layer_split import SPLIT_FAMILIES, LayerSplit
from nearspan.encoders.transformer import TransformerSettings
from nearspan.encoders.transformer_config import build_config, build_encoder
from nearspan.errors import ConfigError
from nearspan.segment import split

SHAPE = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 16}
OTHER_NAMES = {"distilbert": {"dim": 16, "n_layers": 3, "n_heads": 2, "hidden_dim": 16}}
RELATIVE = {"deberta-v2": {"relative_attention": True, "position_buckets": 4, "pos_att_type": ["p2c", "c2p"]}}


@pytest.mark.parametrize("kind", SPLIT_FAMILIES)
@torch.no_grad()
def test_what_the_upper_layers_make_of_the_lower_ones_is_what_the_encoder_gives(kind: str):
    torch.manual_seed(0)
    shape = OTHER_NAMES.get(kind, SHAPE) | RELATIVE.get(kind, {})
    config = build_config({"model_type": kind, "vocab_size": 20, "pad_token_id": 1, **shape})
    config.initializer_range = 0.5
    encoder = build_encoder(config).eval()
    halves = LayerSplit.of(encoder, 2)
    ids = torch.tensor([[3, 4, 5, 6, 7], [3, 8, 7, 1, 1]])
    mask = (ids != 1).long()
    lower = halves.lower(input_ids=ids, attention_mask=mask).last_hidden_state
    upper = halves.upper(inputs_embeds=lower, attention_mask=mask).last_hidden_state
    whole = encoder(input_ids=ids, attention_mask=mask).last_hidden_state
    torch.testing.assert_close(upper[mask.bool()], whole[mask.bool()])
    assert (lower - whole).abs().max() > 0.1


def built(folder, **settings) -> Encoder:
    chosen = TransformerSettings(name=str(folder), overlap=4, frozen=False, **settings)
    return Encoder.from_corpus(EncoderSettings(transformer=chosen), [], []).eval()


@pytest.mark.parametrize(("window", "context"), [(0, 0), (8, 0), (0, 20)])
@torch.no_grad()
def test_words_have_the_states_of_the_whole_encoder(encoders, documents, window: int, context: int):
    sentences = [sentence for document in documents for sentence in split(document)]
    states = []
    for frozen_layers in (0, 1):
        encoder = built(encoders["bert"], frozen_layers=frozen_layers, window=window, context=context, pooling="mean")
        corpus = encoder.prepare(sentences)
        assert ("lower" in corpus.features["transformer"]) == bool(frozen_layers)
        states.append(encoder(corpus.batch(torch.arange(len(sentences)))).states)
    torch.testing.assert_close(*states, atol=5e-3, rtol=1e-3)  # frozen states are kept in 16 bits


def test_training_changes_the_upper_layers_alone(encoders, tiny, documents, tmp_path):
    from transformers import AutoModel

    transformer = f'encoder.transformer={{name="{encoders["bert"]}", overlap=4, frozen=false, frozen_layers=1}}'
    chosen = tiny("instance", transformer, "encoder.vectors=none", "training.epochs=1")
    model = nearspan.train(chosen, documents, out=tmp_path / "out", device="cpu").model
    before = AutoModel.from_pretrained(encoders["bert"]).state_dict()
    after = model.network.encoder.features["transformer"].encoder.state_dict()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed
    assert all(name.startswith("encoder.layer.1.") for name in changed)
    assert list(nearspan.load(tmp_path / "out", device="cpu").pipe(documents)) == list(model.pipe(documents))


def test_the_lower_layers_have_no_dropout_while_the_upper_ones_learn(encoders):
    transformer = built(encoders["bert"], frozen_layers=1).train().transformer
    lower, upper = transformer.encoder.encoder.layer
    assert not any(module.training for module in lower.modules())
    assert all(module.training for module in upper.modules())


def test_all_layers_frozen_one_by_one_are_refused(encoders):
    with pytest.raises(ConfigError, match=r"frozen_layers is 2, and the encoder has 2 layers"):
        built(encoders["bert"], frozen_layers=2)


def test_a_family_whose_layers_cannot_be_split_says_so():
    config = build_config({"model_type": "electra", "vocab_size": 20, "embedding_size": 16, **SHAPE})
    with pytest.raises(ConfigError, match="type 'electra' cannot be split"):
        LayerSplit.of(build_encoder(config), 1)
