"""Pretrained encoders of Hugging Face as they are published: their configuration and weights, or what they lack."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nearspan.encoders.packaged import encoder_source
from nearspan.encoders.transformer_config import attention_of, build_config, config_values
from nearspan.encoders.word_pieces import loading_error
from nearspan.errors import ResourceError, is_memory_full

DROPOUTS = ("hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "attention_dropout")  # a family's names

PER_LAYER = ("layer_types", "attention_window")  # lists that some families have, with a value for each layer


def load_pretrained(name: str, layers: int = 0, dropout: float | None = None) -> Any:
    """The encoder of a name with its lowest `layers`, all where it is 0, and another `dropout` if one is given."""
    from transformers import AutoModel

    source = encoder_source(name)
    config = _config(name, source, layers, dropout)
    options = {"trust_remote_code": False, "use_safetensors": True, "output_loading_info": True}
    try:
        with _without_load_report(bars=not Path(source).is_dir()):
            attention = attention_of(config)
            encoder, info = AutoModel.from_pretrained(source, config=config, attn_implementation=attention, **options)
    except OSError as error:
        raise _weights_error(name, error) from error
    except Exception as error:  # transformers raises what it likes
        if is_memory_full(error):
            raise
        raise loading_error(name, error) from error
    missing = sorted(key for key in info["missing_keys"] if not key.startswith("pooler."))  # that one is not used
    if missing:
        raise ResourceError(
            f"the encoder {name!r} lacks {len(missing)} weights that its config.json asks for: {missing[0]}"
            f"{', ...' if missing[1:] else ''}. Give a folder whose weights and config.json belong together."
        )
    return encoder.float()


def _weights_error(name: str, error: OSError) -> ResourceError:
    """The error for weights that cannot be found; those of other formats than safetensors are not looked for."""
    if "safetensors" not in str(error):
        return loading_error(name, error)
    return ResourceError(
        f"the encoder {name!r} has no weights as safetensors. Others are pickled and may run code, so they are not "
        "read. Take an encoder that has them, or convert one that you trust, and name the new folder: "
        f"python -c \"from transformers import AutoModel, AutoTokenizer as T; n, f = {name!r}, 'FOLDER'; "
        'AutoModel.from_pretrained(n).save_pretrained(f); T.from_pretrained(n).save_pretrained(f)"'
    )


def _config(name: str, source: str, layers: int, dropout: float | None) -> Any:
    """The encoder's own configuration, with so many layers and that dropout."""
    from transformers import AutoConfig

    try:
        published = AutoConfig.from_pretrained(source, trust_remote_code=False)
        config = build_config(config_values(published))  # as it will be read from the model's folder
        there = getattr(config, "num_hidden_layers", 0)
        if 0 < layers < there:
            config.num_hidden_layers = layers
            for key in PER_LAYER:
                if isinstance(values := getattr(config, key, None), list):
                    setattr(config, key, values[:layers])
        for key in DROPOUTS if dropout is not None else ():
            if hasattr(config, key):
                setattr(config, key, dropout)
    except Exception as error:  # transformers raises what it likes
        raise loading_error(name, error) from error
    if layers > there:
        raise ResourceError(f"the encoder {name!r} has {there} layers; encoder.transformer.layers asks for {layers}")
    return config


@contextmanager
def _without_load_report(bars: bool) -> Iterator[None]:
    """Without transformers' report on the weights of heads, which are not used, and its bars if nothing is fetched."""
    from transformers.utils import logging

    level, had_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    if not bars:
        logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if had_bars:
            logging.enable_progress_bar()
