"""Any Hugging Face encoder as word features: words pooled from pieces, long input in windows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn

from nearspan.encoders.batches import Batch, Features
from nearspan.encoders.word_feature import WordFeature
from nearspan.encoders.word_pieces import coded, load_tokenizer, shares, unloadable
from nearspan.errors import ModelError, ResourceError, first_line
from nearspan.registry import register
from nearspan.segment import Sentence
from nearspan.segment.windows import balanced_runs, owners, windows
from nearspan.settings import Settings

WINDOWS_AT_ONCE = 64
DROPOUTS = ("hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "attention_dropout")  # a family's names

LAYERED = ("layer_types", "attention_window")  # what some families say of each layer


class TransformerSettings(Settings):
    """A pretrained encoder, by folder or by hub id."""

    kind: Literal["transformer"] = "transformer"
    name: str
    layers: int = Field(default=0, ge=0, le=1_000)  # how many are kept, the lowest ones; 0: all
    frozen: bool = True  # frozen states are computed once for a corpus
    pooling: Literal["first", "mean"] = "first"
    window: int = Field(default=0, ge=0, le=1_000_000)  # pieces the encoder reads at once; 0: as many as it can
    overlap: int = Field(default=64, ge=0, le=1_000_000)  # pieces that neighbouring windows share
    context: int = Field(default=0, ge=0, le=1_000_000)  # pieces of sentences that are read together; 0: one sentence
    dropout: float | None = Field(default=None, ge=0, lt=1)  # in its layers; left out: as it was pretrained
    learning_rate: float = Field(default=2e-5, gt=0, allow_inf_nan=False)  # of its weights, where it is fine-tuned


@dataclass(frozen=True)
class Passage:
    """Pieces that are read together: windows of ids with special tokens, and where each piece is read in them."""

    windows: list[NDArray[np.int64]]
    places: NDArray[np.int64]  # [pieces, 2]: window and position

    @property
    def longest(self) -> int:
        """Pieces in its longest window."""
        return max(map(len, self.windows))


@dataclass(frozen=True)
class Pieces:
    """One sentence's pieces: those of each word (or unit) that are read, by their place in a passage."""

    passage: int
    read: NDArray[np.int64]  # [pieces read] in the passage, word after word
    counts: NDArray[np.int64]  # [words] how many of them each word has


class Transformer(WordFeature):
    """Word features [B, T, size] from a pretrained encoder's last layer, or from all of them (`layered`)."""

    Settings: ClassVar[type[Settings]] = TransformerSettings

    def __init__(self, settings: TransformerSettings, encoder: Any, tokenizer: Any) -> None:
        super().__init__()
        self.settings = settings
        self.tokenizer = tokenizer
        self.encoder = encoder
        self.layered = False
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
    def from_corpus(
        cls, settings: TransformerSettings, train: Sequence[Sentence], others: Sequence[Sentence]
    ) -> Transformer:
        """Load the pretrained encoder; nothing is learned from the corpus."""
        return cls(settings, *_load(settings))

    def save(self, folder: Path) -> None:
        """Write the encoder's configuration and tokenizer; the weights go with the model's."""
        try:
            self.encoder.config.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)
        except Exception as error:  # transformers and tokenizers raise what they like
            raise ModelError(f"the encoder cannot be saved to {folder}: {first_line(error)}") from error

    @classmethod
    def from_disk(cls, settings: TransformerSettings, folder: Path, read_vocabulary: Callable[[], Any]) -> Transformer:
        """The encoder as `save` wrote it, with weights still to be filled in."""
        del read_vocabulary
        from transformers import AutoConfig, AutoModel, AutoTokenizer

        only = {"local_files_only": True, "trust_remote_code": False}
        try:
            config = AutoConfig.from_pretrained(folder, **only)
            encoder = AutoModel.from_config(config, trust_remote_code=False).float()  # whatever it was published in
            tokenizer = AutoTokenizer.from_pretrained(folder, use_fast=True, **only)
        except Exception as error:  # transformers and tokenizers raise what they like
            raise ModelError(f"the encoder in {folder} is damaged: {first_line(error)}") from error
        return cls(settings, encoder, tokenizer)

    def train(self, mode: bool = True) -> Transformer:
        """A frozen encoder stays in evaluation mode."""
        super().train(mode)
        if self.settings.frozen:
            self.encoder.eval()
        return self

    def prepare(self, sentences: Sequence[Sentence]) -> Features:
        """The pieces, read batch by batch; where one frozen layer is asked for, the states of all words [R, size]."""
        passages, pieces = self._passages(sentences)
        features: Features = {"passages": passages, "pieces": pieces}
        if not self.settings.frozen or self.layered:
            return features
        states = torch.empty(sum(map(len, sentences)), self.size, dtype=torch.float16)
        firsts = np.cumsum([0, *map(len, sentences)])
        order = sorted(range(len(pieces)), key=lambda i: (passages[pieces[i].passage].longest, pieces[i].passage))
        with torch.inference_mode():
            for start in range(0, len(order), WINDOWS_AT_ONCE):
                some = order[start : start + WINDOWS_AT_ONCE]
                longest = max(len(sentences[i]) for i in some)
                (found,) = self._read(features, some, longest)  # [B, T, size]
                for i, rows in zip(some, found.half().cpu(), strict=True):
                    states[firsts[i] : firsts[i] + len(sentences[i])] = rows[: len(sentences[i])]
        return {**features, "states": states}

    def forward(self, batch: Batch, features: Features) -> Tensor:
        """Word features of the batch [B, T, size], of the last layer."""
        return self.layers(batch, features)[-1]

    def layers(self, batch: Batch, features: Features) -> list[Tensor]:
        """Word features of the batch [B, T, size]: of the last layer, or of all from the embeddings on."""
        if "states" in features:
            states: Tensor = features["states"][batch.rows]
            return [states.float()]
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.settings.frozen):
            return self._read(features, batch.ids.tolist(), batch.rows.shape[1])

    def pretrained_parameters(self) -> list[nn.Parameter]:
        """All its weights."""
        return list(self.parameters())

    def _passages(self, sentences: Sequence[Sentence]) -> tuple[list[Passage], list[Pieces]]:
        """What is read together, and each sentence's part in it."""
        passages: list[Passage] = []
        pieces: list[Pieces] = []
        numbers: dict[int, int] = {}  # of what is read together
        found = self._shares(sentences)  # held, so that an id is one list's all the while
        for share in found:
            if id(share.ids) not in numbers:
                numbers[id(share.ids)] = len(passages)
                passages.append(self._passage(share.ids))
            read = [own[:1] if self.settings.pooling == "first" else own for own in share.of_word]
            flat = np.array([share.start + position for own in read for position in own])
            pieces.append(Pieces(numbers[id(share.ids)], flat, np.array([len(own) for own in read])))
        return passages, pieces

    def _shares(self, sentences: Sequence[Sentence]) -> list[_Share]:
        """Each sentence's part in what it is read together with: its document's sentences, or itself alone."""
        documents = {id(one.around): one.around for one in sentences} if self.settings.context else {}
        siblings = [one for document in documents.values() for one in document]
        own = self._coded(list(dict.fromkeys([*siblings, *sentences])))
        found = {sentence: _Share(ids, of_word, 0) for sentence, (ids, of_word) in own.items()}
        for document in documents.values():
            for first, stop in balanced_runs([len(own[one][0]) for one in document], self.settings.context):
                together = [piece for one in document[first:stop] for piece in own[one][0]]
                start = 0
                for one in document[first:stop]:
                    found[one] = _Share(together, own[one][1], start)
                    start += len(own[one][0])
        return [found[sentence] for sentence in sentences]

    def _coded(self, sentences: Sequence[Sentence]) -> dict[Sentence, tuple[list[int], list[list[int]]]]:
        """Sentences' piece ids, and the positions of those that each of their words (or units) has."""
        found = coded(sentences, self.tokenizer)
        return {
            sentence: (pieces.ids, shares(sentence, pieces)) for sentence, pieces in zip(sentences, found, strict=True)
        }

    def _passage(self, ids: list[int]) -> Passage:
        spans = windows(len(ids), self.window, self.settings.overlap)
        before, after = self.specials
        place = [
            (number, position - start + len(before))
            for number, ((start, _), (first, stop)) in enumerate(zip(spans, owners(spans), strict=True))
            for position in range(first, stop)
        ]
        return Passage([np.array([*before, *ids[start:stop], *after]) for start, stop in spans], np.array(place))

    def _read(self, features: Features, chosen: Sequence[int], longest: int) -> list[Tensor]:
        """States of the words of some sentences [B, longest, size], of the last layer or of all."""
        own: list[Pieces] = [features["pieces"][i] for i in chosen]
        numbers = list(dict.fromkeys(one.passage for one in own))
        read: list[Passage] = [features["passages"][number] for number in numbers]
        rows = [window for passage in read for window in passage.windows]
        states = self._run(rows)  # [windows, pieces, layers, size]
        first = dict(zip(numbers, np.cumsum([0, *(len(passage.windows) for passage in read)]), strict=False))
        places = [features["passages"][one.passage].places[one.read] + [first[one.passage], 0] for one in own]
        flat = np.concatenate([place[:, 0] * states.shape[1] + place[:, 1] for place in places])
        counts = np.zeros((len(own), longest), dtype=np.int64)
        for row, one in zip(counts, own, strict=True):
            row[: len(one.counts)] = one.counts
        owner = np.repeat(np.arange(counts.size), counts.reshape(-1))
        index = torch.from_numpy(np.stack([flat, owner])).to(states.device, non_blocking=True)
        share = torch.from_numpy(counts.reshape(-1)).clamp(min=1).to(states.device, non_blocking=True)
        found = states.flatten(0, 1).index_select(0, index[0])
        words = found.new_zeros(counts.size, *found.shape[1:]).index_add(0, index[1], found) / share[:, None, None]
        return list(words.view(*counts.shape, *found.shape[1:]).unbind(2))

    def _run(self, rows: list[NDArray[np.int64]]) -> Tensor:
        """The encoder's states [windows, pieces, layers, size] for windows of ids."""
        device = next(self.encoder.parameters()).device
        sizes = np.array([len(row) for row in rows])
        ids = np.full((len(rows), sizes.max()), self.tokenizer.pad_token_id or 0)
        seen = np.arange(sizes.max()) < sizes[:, None]
        ids[seen] = np.concatenate(rows)
        parts = []
        for some, mask in zip(
            torch.from_numpy(ids).split(WINDOWS_AT_ONCE),
            torch.from_numpy(seen).long().split(WINDOWS_AT_ONCE),
            strict=True,
        ):
            out = self.encoder(
                input_ids=some.to(device, non_blocking=True),
                attention_mask=mask.to(device, non_blocking=True),
                output_hidden_states=self.layered,
            )
            parts.append(torch.stack(out.hidden_states if self.layered else [out.last_hidden_state], dim=2))
        return torch.cat(parts)


@dataclass(frozen=True)
class _Share:
    """A sentence's part in what is read together."""

    ids: list[int]  # all the pieces that are read together
    of_word: list[list[int]]  # the sentence's own, counted from its first
    start: int  # where that one is


def _load(settings: TransformerSettings) -> tuple[Any, Any]:
    from transformers import AutoModel

    config = _config(settings)
    asked = {"trust_remote_code": False, "output_loading_info": True}
    try:
        with _unreported():
            encoder, told = AutoModel.from_pretrained(settings.name, config=config, **asked)
    except Exception as error:  # transformers raises what it likes
        raise unloadable(settings.name, error) from error
    lacking = sorted(key for key in told["missing_keys"] if not key.startswith("pooler."))  # that one is not used
    if lacking:
        raise ResourceError(
            f"the encoder {settings.name!r} lacks {len(lacking)} weights that its config.json asks for: {lacking[0]}"
            f"{', ...' if lacking[1:] else ''}. Give a folder whose weights and config.json belong together."
        )
    return encoder.float(), load_tokenizer(settings.name)


def _config(settings: TransformerSettings) -> Any:
    """The encoder's own configuration, with the layers and the dropout that were asked for."""
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(settings.name, trust_remote_code=False)
        own = getattr(config, "num_hidden_layers", 0)
        if 0 < settings.layers < own:
            config.num_hidden_layers = settings.layers
            for key in LAYERED:
                if isinstance(each := getattr(config, key, None), list):
                    setattr(config, key, each[: settings.layers])
        for key in DROPOUTS if settings.dropout is not None else ():
            if hasattr(config, key):
                setattr(config, key, settings.dropout)
    except Exception as error:  # transformers raises what it likes
        raise unloadable(settings.name, error) from error
    if settings.layers > own:
        raise ResourceError(
            f"the encoder {settings.name!r} has {own} layers; encoder.transformer.layers asks for {settings.layers}"
        )
    return config


@contextmanager
def _unreported() -> Iterator[None]:
    """Without transformers' report on the weights of heads, which are not used."""
    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)


def _specials(tokenizer: Any) -> tuple[list[int], list[int]]:
    """The special tokens that stand before and after a text."""
    bare, full = tokenizer("a", add_special_tokens=False)["input_ids"], tokenizer("a")["input_ids"]
    first = next(i for i in range(len(full)) if full[i : i + len(bare)] == bare)
    return full[:first], full[first + len(bare) :]


register("word_feature", Transformer)
