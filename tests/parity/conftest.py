"""A pretrained encoder small enough to build in a test."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors


@pytest.fixture(scope="session")
def wordpiece_bert() -> Callable[[Path, Sequence[str], dict[str, Any]], Path]:
    """Writes a BERT of some shape, with random weights and these pieces, to a folder."""

    def build(path: Path, pieces: Sequence[str], shape: dict[str, Any]) -> Path:
        names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *pieces]
        tokenizer = Tokenizer(models.WordPiece({name: row for row, name in enumerate(names)}, unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
        transformers.PreTrainedTokenizerFast(
            tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
        ).save_pretrained(path)
        torch.manual_seed(0)
        config = transformers.BertConfig(**{**shape, "vocab_size": len(names), "max_position_embeddings": 100})
        transformers.BertModel(config).save_pretrained(path)
        return path

    return build
