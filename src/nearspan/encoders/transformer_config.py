"""What a pretrained encoder's configuration may say: the settings of its family, and nothing that loads code.

transformers takes names of kernels, classes and further models from a configuration, and would fetch and run them. So a
configuration is read as values of known names, and the encoder is built from these alone.
"""

import inspect
from collections.abc import Mapping
from typing import Any

from nearspan.errors import ResourceError

# Families of text encoders that are built from their settings alone; others fetch kernels or further models.
MODEL_TYPES = """
albert bert big_bird camembert convbert data2vec-text deberta deberta-v2 distilbert electra ernie eurobert gemma
gemma2 gemma3_text gpt2 gte ibert llama longformer megatron-bert mistral mobilebert modernbert mpnet nomic_bert
nystromformer qwen2 qwen3 rembert roberta roberta-prelayernorm roformer splinter squeezebert xlm-roberta
xlm-roberta-xl xmod
""".split()

# Read by a family's layers, but no argument of its configuration.
UNDECLARED = {
    "deberta": "pooler_hidden_size talking_head".split(),
    "deberta-v2": """
        attention_head_size conv_act conv_groups conv_kernel_size norm_rel_ebd pooler_hidden_size position_buckets
        share_att_key
        """.split(),
}

# Arguments of all families in some versions of transformers, and in others of none.
SHARED = """
add_cross_attention bos_token_id chunk_size_feed_forward cls_token_id eos_token_id is_decoder pad_token_id sep_token_id
tie_word_embeddings use_cache
""".split()

# Arguments that are about something else than an encoder's layers, or choose what is run.
REFUSED = """
architectures attn_implementation auto_map dtype experts_implementation id2label is_encoder_decoder label2id
name_or_path output_attentions output_hidden_states problem_type quantization_config return_dict tokenizer_class
torch_dtype torchscript transformers_version
""".split()

RETIRED = {"position_embedding_type": "absolute"}  # newer versions know this value alone, and not the argument


def known_settings(model_type: str) -> set[str]:
    """The names of all settings that an encoder of a family may have."""
    accepted = inspect.signature(_config_class(model_type).__init__).parameters.values()
    named = {parameter.name for parameter in accepted if parameter.kind is not parameter.VAR_KEYWORD} - {"self"}
    return {*named, *SHARED, *UNDECLARED.get(model_type, ())}.difference(REFUSED)


def config_values(config: Any) -> dict[str, Any]:
    """A configuration as JSON: the settings of its family, without whatever else a publisher has put into it."""
    known = known_settings(config.model_type)
    values = {name: value for name, value in config.to_dict().items() if name in known}
    return {"model_type": config.model_type, **values}


def build_config(values: Mapping[str, Any]) -> Any:
    """The configuration with these values; an error that names those which no encoder of the family has."""
    settings = dict(values)
    model_type = settings.pop("model_type", None)
    known = known_settings(model_type)
    settings = {name: value for name, value in settings.items() if name in known or RETIRED.get(name, ...) != value}
    if unknown := sorted(settings.keys() - known):
        raise ResourceError(f"its configuration says what no encoder of type {model_type} knows: {', '.join(unknown)}")
    return _config_class(model_type)(**settings)


def attention_of(config: Any) -> str:
    """The attention to compute with, by the name of one that transformers itself has."""
    from transformers import MODEL_MAPPING

    model: Any = MODEL_MAPPING[type(config)]
    return "sdpa" if model._supports_sdpa else "eager"


def build_encoder(config: Any) -> Any:
    """An encoder with weights still to be filled in."""
    from transformers import AutoModel

    return AutoModel.from_config(config, attn_implementation=attention_of(config), trust_remote_code=False)


def _config_class(model_type: Any) -> Any:
    import transformers

    if not isinstance(model_type, str) or model_type not in MODEL_TYPES:
        raise ResourceError(f"encoders of type {model_type!r} cannot be used; those that can: {', '.join(MODEL_TYPES)}")
    if model_type not in transformers.CONFIG_MAPPING:
        raise ResourceError(
            f"transformers {transformers.__version__} has no encoders of type {model_type!r}: install a later version"
        )
    return transformers.CONFIG_MAPPING[model_type]
