"""Encoders small enough to build in a test: one like BERT, one like RoBERTa, one like DeBERTa-v3."""

import string
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

SHAPE = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
WORDS = (
    "ada bob lives stone in oslo rome left new york for the rain fell on a far from paris is she went to lima with "
    "nobody here eve moon was born and like they met ##s ##d ##x ##y ##2 1 2 3 x y ."
)


def bert(folder: Path) -> Path:
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS.split()]
    vocabulary = {name: row for row, name in enumerate(names)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )
    torch.manual_seed(0)
    config = BertConfig(vocab_size=len(names), max_position_embeddings=32, initializer_range=0.5, **SHAPE)
    BertModel(config).save_pretrained(folder)
    wrapped.save_pretrained(folder)
    return folder


def roberta(folder: Path) -> Path:
    from transformers import RobertaConfig, RobertaModel, RobertaTokenizerFast

    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([" " + WORDS.replace("#", ""), " Ada Bob Oslo"], trainer)
    tokenizer.model.save(str(folder))
    torch.manual_seed(0)
    config = RobertaConfig(
        vocab_size=tokenizer.get_vocab_size(),
        max_position_embeddings=34,  # two of them are not for pieces
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        type_vocab_size=1,
        initializer_range=0.5,
        **SHAPE,
    )
    RobertaModel(config).save_pretrained(folder)
    RobertaTokenizerFast.from_pretrained(folder).save_pretrained(folder)
    return folder


def deberta(folder: Path) -> Path:
    """Cased; its pieces are a unigram model's, and its layers know relative positions alone."""
    from transformers import DebertaV2Config, DebertaV2Model, PreTrainedTokenizerFast

    words = [word for word in WORDS.split() if "#" not in word]
    first = dict.fromkeys(f"\u2581{form}" for word in words for form in (word, word.capitalize()))
    names = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "\u2581", *string.ascii_letters, *string.digits, ".", *first]
    tokenizer = Tokenizer(models.Unigram([(name, -1.0) for name in names], unk_id=3))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Strip(), normalizers.NFKC()])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )
    torch.manual_seed(0)
    config = DebertaV2Config(
        vocab_size=len(names),
        max_position_embeddings=32,
        relative_attention=True,
        position_buckets=8,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        pos_att_type=["p2c", "c2p"],
        position_biased_input=False,
        type_vocab_size=0,
        initializer_range=0.5,
        **SHAPE,
    )
    DebertaV2Model(config).save_pretrained(folder)
    wrapped.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders with a pretrained encoder, by kind."""
    return {build.__name__: build(tmp_path_factory.mktemp(build.__name__)) for build in (bert, roberta, deberta)}
