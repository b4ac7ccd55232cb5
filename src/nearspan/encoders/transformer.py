"""Any Hugging Face encoder as word features: words pooled from pieces, long input in windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn

from nearspan.encoders.inputs import Batch, Features
from nearspan.errors import ModelError, ResourceError
from nearspan.settings import Settings
from nearspan.text import Sentence
from nearspan.text.windows import owners, windows

WINDOWS_AT_ONCE = 64


class TransformerSettings(Settings):
    """A pretrained encoder, by folder or by hub id."""

    name: str
    frozen: bool = True  # frozen states are computed once for a corpus
    pooling: Literal["first", "mean"] = "first"
    window: int = Field(default=0, ge=0)  # pieces the encoder reads at once; 0: as many as it can
    overlap: int = Field(default=64, ge=0)  # pieces that neighbouring windows share
    learning_rate: float = Field(default=2e-5, gt=0)  # of its weights, where it is fine-tuned


@dataclass(frozen=True)
class Pieces:
    """One sentence's pieces: windows of ids with special tokens, and where each word's pieces are read."""

    windows: list[NDArray[np.int64]]
    places: NDArray[np.int64]  # [pieces read, 2]: window and position, word after word
    counts: NDArray[np.int64]  # [words] how many of them each word has


class Transformer(nn.Module):
    """Word features [B, T, size] from a pretrained encoder's last layer."""

    def __init__(self, settings: TransformerSettings, encoder: Any, tokenizer: Any) -> None:
        super().__init__()
        if not tokenizer.is_fast:
            raise ResourceError(f"the tokenizer of {settings.name!r} has no fast version, which offsets need")
        self.settings = settings
        self.tokenizer = tokenizer
        self.encoder = encoder
        self.size = int(encoder.config.hidden_size)
        self.encoder.requires_grad_(not settings.frozen)
        if getattr(encoder, "pooler", None) is not None:
            encoder.pooler.requires_grad_(False)  # its output is not used
        self.specials = _specials(tokenizer)
        readable = min(tokenizer.model_max_length, getattr(encoder.config, "max_position_embeddings", 512), 100_000)
        if encoder.config.model_type in ("roberta", "xlm-roberta", "camembert", "mpnet"):
            readable = min(readable, encoder.config.max_position_embeddings - 2)  # positions begin after the padding's
        self.window = min(settings.window or readable, readable) - sum(map(len, self.specials))
        if self.window <= settings.overlap:
            raise ResourceError(
                f"encoder.transformer.window leaves {self.window} pieces, "
                f"not more than the overlap of {settings.overlap}"
            )

    @classmethod
    def learn(cls, settings: TransformerSettings, train: Sequence[Sentence], others: Sequence[Sentence]) -> Transformer:  # noqa: ARG003
        """Load the pretrained encoder; nothing is learned from the corpus."""
        return cls(settings, *_load(settings.name))

    def save(self, folder: Path) -> None:
        """Write the encoder's configuration and tokenizer; the weights go with the model's."""
        self.encoder.config.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)

    @classmethod
    def restore(cls, settings: TransformerSettings, folder: Path) -> Transformer:
        """The encoder as `save` wrote it, with weights still to be filled in."""
        from transformers import AutoConfig, AutoModel, AutoTokenizer

        only = {"local_files_only": True, "trust_remote_code": False}
        try:
            config = AutoConfig.from_pretrained(folder, **only)
            encoder = AutoModel.from_config(config, trust_remote_code=False)
            tokenizer = AutoTokenizer.from_pretrained(folder, use_fast=True, **only)
        except Exception as error:  # transformers and tokenizers raise what they like
            raise ModelError(f"the encoder in {folder} is damaged: {_first_line(error)}") from error
        return cls(settings, encoder, tokenizer)

    def train(self, mode: bool = True) -> Transformer:
        """A frozen encoder stays in evaluation mode."""
        super().train(mode)
        if self.settings.frozen:
            self.encoder.eval()
        return self

    def prepare(self, sentences: Sequence[Sentence]) -> Features:
        """Frozen: the states of all words [R, size]. Fine-tuned: the pieces, read batch by batch."""
        pieces = [self._pieces(sentence.tokens) for sentence in sentences]
        if not self.settings.frozen:
            return {"pieces": pieces}
        states = torch.empty(sum(len(sentence) for sentence in sentences), self.size, dtype=torch.float16)
        firsts = np.cumsum([0, *(len(sentence) for sentence in sentences)])
        order = sorted(range(len(pieces)), key=lambda i: len(pieces[i].windows[0]))
        with torch.inference_mode():
            for start in range(0, len(order), WINDOWS_AT_ONCE):
                some = order[start : start + WINDOWS_AT_ONCE]
                found = self._read([pieces[i] for i in some]).half().cpu()
                for i, rows in zip(some, found.split([len(sentences[i]) for i in some]), strict=True):
                    states[firsts[i] : firsts[i] + len(rows)] = rows
        return {"states": states}

    def forward(self, batch: Batch, features: Features) -> Tensor:
        """Word features of the batch [B, T, size]."""
        if self.settings.frozen:
            states: Tensor = features["states"][batch.rows]
            return states.float()
        flat = self._read([features["pieces"][i] for i in batch.ids.tolist()])  # [sum of lengths, size]
        padded = flat.new_zeros(*batch.rows.shape, self.size)
        padded[batch.mask] = flat
        return padded

    def _pieces(self, tokens: list[str]) -> Pieces:
        coded = self.tokenizer(
            tokens, is_split_into_words=True, add_special_tokens=False, truncation=False, verbose=False
        )
        ids: list[int] = coded["input_ids"]
        of_word: list[list[int]] = [[] for _ in tokens]
        for position, word in enumerate(coded.word_ids()):
            of_word[word].append(position)
        if not all(of_word):  # characters the tokenizer drops: read the word as unknown
            ids, of_word = _with_unknown(ids, of_word, self.tokenizer.unk_token_id)
        spans = windows(len(ids), self.window, self.settings.overlap)
        before, after = self.specials
        place: list[tuple[int, int]] = []
        for number, ((start, _), (first, stop)) in enumerate(zip(spans, owners(spans), strict=True)):
            place.extend((number, position - start + len(before)) for position in range(first, stop))
        read = [positions[:1] if self.settings.pooling == "first" else positions for positions in of_word]
        return Pieces(
            [np.array([*before, *ids[start:stop], *after]) for start, stop in spans],
            np.array([place[position] for positions in read for position in positions]),
            np.array([len(positions) for positions in read]),
        )

    def _read(self, chosen: Sequence[Pieces]) -> Tensor:
        """States of all words of some sentences, one after the other [words, size]."""
        device = next(self.encoder.parameters()).device
        rows = [window for pieces in chosen for window in pieces.windows]
        longest = max(map(len, rows))
        ids = np.full((len(rows), longest), self.tokenizer.pad_token_id or 0)
        for row, window in zip(ids, rows, strict=True):
            row[: len(window)] = window
        seen = np.arange(longest) < np.array([len(row) for row in rows])[:, None]
        states = torch.cat(
            [
                self.encoder(input_ids=some.to(device), attention_mask=mask.to(device)).last_hidden_state
                for some, mask in zip(
                    torch.from_numpy(ids).split(WINDOWS_AT_ONCE),
                    torch.from_numpy(seen).long().split(WINDOWS_AT_ONCE),
                    strict=True,
                )
            ]
        ).flatten(0, 1)  # [windows * longest, size]
        firsts = np.cumsum([0, *(len(pieces.windows) for pieces in chosen)])
        flat = np.concatenate(
            [
                (first + one.places[:, 0]) * longest + one.places[:, 1]
                for first, one in zip(firsts, chosen, strict=False)
            ]
        )
        found: Tensor = states[torch.from_numpy(flat).to(device)]
        if self.settings.pooling == "first":
            return found
        counts = torch.from_numpy(np.concatenate([one.counts for one in chosen])).to(device)
        owner = torch.repeat_interleave(torch.arange(len(counts), device=device), counts, output_size=len(flat))
        return found.new_zeros(len(counts), self.size).index_add(0, owner, found) / counts[:, None]


def _load(name: str) -> tuple[Any, Any]:
    from transformers import AutoModel, AutoTokenizer

    try:
        encoder = AutoModel.from_pretrained(name, trust_remote_code=False).float()
        tokenizer = AutoTokenizer.from_pretrained(name, use_fast=True, trust_remote_code=False)
        if getattr(tokenizer, "add_prefix_space", None) is False:  # RoBERTa: a word has its blank in its first piece
            tokenizer = AutoTokenizer.from_pretrained(
                name, use_fast=True, trust_remote_code=False, add_prefix_space=True
            )
        return encoder, tokenizer
    except Exception as error:  # transformers and tokenizers raise what they like
        raise ResourceError(
            f"cannot load the encoder {name!r}: {_first_line(error)} "
            "Give a folder with config.json, weights and tokenizer, or the id of a model on the hub."
        ) from error


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _specials(tokenizer: Any) -> tuple[list[int], list[int]]:
    """The special tokens that stand before and after a text."""
    bare, full = tokenizer("a", add_special_tokens=False)["input_ids"], tokenizer("a")["input_ids"]
    first = next(i for i in range(len(full)) if full[i : i + len(bare)] == bare)
    return full[:first], full[first + len(bare) :]


def _with_unknown(ids: list[int], of_word: list[list[int]], unknown: int) -> tuple[list[int], list[list[int]]]:
    out: list[int] = []
    places: list[list[int]] = []
    for positions in of_word:
        places.append(list(range(len(out), len(out) + max(len(positions), 1))))
        out.extend([ids[position] for position in positions] or [unknown])
    return out, places
