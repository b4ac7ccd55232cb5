"""Any Hugging Face encoder as word features: words pooled from pieces, long input in windows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn

from nearspan.document import Fragment
from nearspan.encoders.batches import Batch, Features
from nearspan.encoders.layer_split import LayerSplit
from nearspan.encoders.pretrained import load_pretrained
from nearspan.encoders.transformer_config import build_config, build_encoder, config_values
from nearspan.encoders.unpadded import UnpaddedEncoder
from nearspan.encoders.word_feature import WordFeature
from nearspan.encoders.word_pieces import PieceTokenizer, encode_pieces, load_tokenizer, unit_pieces
from nearspan.errors import ModelError, ResourceError, first_line, is_memory_full
from nearspan.precision import Precision, convert
from nearspan.progress import progress
from nearspan.registry import register
from nearspan.segment import Sentence
from nearspan.segment.windows import balanced_runs, owners, windows
from nearspan.settings import Settings

CONFIG = "config.json"  # of the encoder, in its folder
WINDOWS_AT_ONCE = 64


class TransformerSettings(Settings):
    """A pretrained encoder, by the name of a packaged one, by folder or by hub id."""

    kind: Literal["transformer"] = "transformer"
    name: str
    layers: int = Field(default=0, ge=0, le=1_000)  # how many are kept, the lowest ones; 0: all
    frozen: bool = True  # frozen states are computed once for a corpus
    frozen_layers: int = Field(default=0, ge=0, le=1_000)  # the lowest ones, which are not fine-tuned with the others
    pooling: Literal["first", "mean"] = "first"
    window: int = Field(default=0, ge=0, le=1_000_000)  # pieces the encoder reads at once; 0: as many as it can
    overlap: int = Field(default=64, ge=0, le=1_000_000)  # pieces that neighbouring windows share
    context: int = Field(default=0, ge=0, le=1_000_000)  # pieces of sentences that are read together; 0: one sentence
    dropout: float | None = Field(default=None, ge=0, lt=1)  # in its layers; left out: as it was pretrained
    learning_rate: float = Field(default=2e-5, gt=0, allow_inf_nan=False)  # of its weights, where it is fine-tuned


@dataclass(frozen=True)
class Passage:
    """Pieces that are read together: windows of ids with special tokens, and the place of each piece in them."""

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
    """Word features [B, T, size] from a pretrained encoder's last layer, or from all of them (`all_layers`)."""

    Settings: ClassVar[type[Settings]] = TransformerSettings

    def __init__(self, settings: TransformerSettings, encoder: Any, tokenizer: PieceTokenizer) -> None:
        super().__init__()
        self.settings = settings
        self.tokenizer = tokenizer
        self.encoder = encoder
        self.all_layers = False
        self.size = int(encoder.config.hidden_size)
        self.encoder.requires_grad_(not settings.frozen)
        if getattr(encoder, "pooler", None) is not None:
            encoder.pooler.requires_grad_(False)  # its output is not used
        tuned = settings.frozen_layers and not settings.frozen
        self.split = LayerSplit.of(encoder, settings.frozen_layers) if tuned else None
        self.runtime: Any = None  # what reads instead of the encoder where nothing is learned
        self.set_precision("float32")
        self.specials = tokenizer.specials
        readable = min(tokenizer.longest, getattr(encoder.config, "max_position_embeddings", 512))
        if encoder.config.model_type in ("roberta", "xlm-roberta", "camembert", "mpnet"):
            readable = min(readable, encoder.config.max_position_embeddings - 2)  # positions begin after the padding's
        self.window = min(settings.window or readable, readable) - sum(map(len, self.specials))
        if self.window <= settings.overlap:
            raise ResourceError(
                f"encoder.transformer.window leaves {self.window} pieces, not more than the overlap of "
                f"{settings.overlap}: raise the one or lower encoder.transformer.overlap"
            )

    @classmethod
    def from_corpus(
        cls, settings: TransformerSettings, train: Sequence[Sentence], others: Sequence[Sentence]
    ) -> Transformer:
        """Load the pretrained encoder; nothing is learned from the corpus."""
        del train, others
        encoder = load_pretrained(settings.name, settings.layers, settings.dropout)
        return cls(settings, encoder, load_tokenizer(settings.name))

    def save(self, folder: Path) -> None:
        """Write the encoder's configuration and tokenizer; the weights go with the model's."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / CONFIG).write_text(json.dumps(config_values(self.encoder.config), indent=1), encoding="utf-8")
            self.tokenizer.save(folder)
        except Exception as error:  # transformers and tokenizers raise what they like
            raise ModelError(f"the encoder cannot be saved to {folder}: {first_line(error)}") from error

    @classmethod
    def from_disk(cls, settings: TransformerSettings, folder: Path, read_vocabulary: Callable[[], Any]) -> Transformer:
        """The encoder as `save` wrote it, with weights still to be filled in."""
        del read_vocabulary
        try:
            encoder = build_encoder(build_config(json.loads((folder / CONFIG).read_text(encoding="utf-8"))))
            tokenizer = PieceTokenizer.from_disk(folder)
        except Exception as error:  # transformers and tokenizers raise what they like
            if is_memory_full(error):
                raise
            raise ModelError(f"the encoder in {folder} cannot be loaded: {first_line(error)}") from error
        return cls(settings, encoder, tokenizer)

    def train(self, mode: bool = True) -> Transformer:
        """What is frozen stays in evaluation mode."""
        super().train(mode)
        if self.settings.frozen:
            self.encoder.eval()
        elif self.split is not None:
            self.split.keep_lower_still()
        return self

    def prepare(self, sentences: Sequence[Sentence]) -> Features:
        """The pieces, read batch by batch; where only one frozen layer is read, the states of all words [R, size].

        Where the lowest layers are frozen, their states of all pieces [P, size].
        """
        passages, pieces = self._passages(sentences)
        features: Features = {"passages": passages, "pieces": pieces}
        if self.split is not None and not self.all_layers and self.runtime is None:
            return features | self._lower_states(passages)
        if not self.settings.frozen or self.all_layers:
            return features
        states = torch.empty(sum(map(len, sentences)), self.size, dtype=torch.float16)
        firsts = np.cumsum([0, *map(len, sentences)])
        order = sorted(range(len(pieces)), key=lambda i: (passages[pieces[i].passage].longest, pieces[i].passage))
        with torch.inference_mode():
            for chosen in _parts_of(order, "encoding sentences"):
                longest = max(len(sentences[i]) for i in chosen)
                (words,) = self._read(features, chosen, longest)  # [B, T, size]
                for i, rows in zip(chosen, words.half().cpu(), strict=True):
                    states[firsts[i] : firsts[i] + len(sentences[i])] = rows[: len(sentences[i])]
        return {**features, "states": states}

    def forward(self, batch: Batch, features: Features) -> list[Tensor]:
        """Word features of the batch [B, T, size]: of the last layer, or of all from the embeddings on."""
        if "states" in features:
            states: Tensor = features["states"][batch.rows]
            return [states.float()]
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.settings.frozen):
            return self._read(features, batch.ids.tolist(), batch.rows.shape[1])

    def set_precision(self, precision: Precision) -> None:
        """Predict in a precision from now on, with a copy of the weights unless it is float32."""
        reads_flat = self.runtime is None and (precision == "float32" or self.device.type == "cpu")
        unpadded = UnpaddedEncoder.of(self.encoder, precision) if reads_flat else None
        encoder = unpadded.encoder if unpadded is not None else self.runtime or convert(self.encoder, precision)
        self.reader = (encoder, unpadded)  # what reads where nothing is learned

    def read_with(self, runtime: Callable[..., Any]) -> None:
        """Let something else, called as the encoder is, compute what it does where nothing is learned."""
        self.runtime = runtime
        self.set_precision("float32")

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        weight: Tensor = next(self.encoder.parameters())
        return weight.device

    def pretrained_parameters(self) -> list[nn.Parameter]:
        """All its weights."""
        return list(self.parameters())

    def _passages(self, sentences: Sequence[Sentence]) -> tuple[list[Passage], list[Pieces]]:
        """What is read together, and each sentence's part in it."""
        passages: list[Passage] = []
        pieces: list[Pieces] = []
        numbers: dict[int, int] = {}  # of passages, by the ids of their lists of pieces
        parts = self._parts(sentences)  # held, so that an id is one list's all the while
        for part in parts:
            if id(part.ids) not in numbers:
                numbers[id(part.ids)] = len(passages)
                passages.append(self._passage(part.ids))
            read = [positions[:1] if self.settings.pooling == "first" else positions for positions in part.of_word]
            flat = np.array([part.start + position for positions in read for position in positions])
            counts = np.array([len(positions) for positions in read])
            pieces.append(Pieces(numbers[id(part.ids)], flat, counts))
        return passages, pieces

    def _parts(self, sentences: Sequence[Sentence]) -> list[_PassagePart]:
        """Each sentence's part in what it is read together with: its document's sentences, or itself alone."""
        around = {id(sentence.around): sentence.around for sentence in sentences} if self.settings.context else {}
        documents = {number: list(siblings) for number, siblings in around.items() if siblings is not None}
        read = [
            documents[id(sentence.around)][sentence.index] if id(sentence.around) in documents else sentence
            for sentence in sentences
        ]
        distinct = list(dict.fromkeys(chain(*documents.values(), read)))
        codes = zip(distinct, encode_pieces(distinct, self.tokenizer), strict=True)
        alone = {sentence: _PassagePart(pieces.ids, unit_pieces(sentence, pieces), 0) for sentence, pieces in codes}
        parts = dict(alone)
        for document in documents.values():
            for first, stop in balanced_runs(
                [len(alone[sentence].ids) for sentence in document], self.settings.context
            ):
                ids = [piece for sentence in document[first:stop] for piece in alone[sentence].ids]
                start = 0
                for sentence in document[first:stop]:
                    parts[sentence] = _PassagePart(ids, alone[sentence].of_word, start)
                    start += len(alone[sentence].ids)
        return [parts[sentence] for sentence in read]

    def _passage(self, ids: list[int]) -> Passage:
        spans = windows(len(ids), self.window, self.settings.overlap)
        before, after = self.specials
        places = [
            (number, position - start + len(before))
            for number, ((start, _), (first, stop)) in enumerate(zip(spans, owners(spans), strict=True))
            for position in range(first, stop)
        ]
        return Passage([np.array([*before, *ids[start:stop], *after]) for start, stop in spans], np.array(places))

    def _read(self, features: Features, chosen: Sequence[int], longest: int) -> list[Tensor]:
        """States of the words of the chosen sentences [B, longest, size], of the last layer or of all."""
        sentences: list[Pieces] = [features["pieces"][i] for i in chosen]
        numbers = list(dict.fromkeys(sentence.passage for sentence in sentences))
        passages: list[Passage] = [features["passages"][number] for number in numbers]
        if "lower" in features:
            states = self._run_upper(features, [row for number in numbers for row in features["rows"][number]])
            flat_states, starts = _flatten(states)
        else:
            flat_states, starts = self._run_flat([window for passage in passages for window in passage.windows])
        first = dict(zip(numbers, np.cumsum([0, *(len(passage.windows) for passage in passages)]), strict=False))
        places = [
            features["passages"][sentence.passage].places[sentence.read] + [first[sentence.passage], 0]
            for sentence in sentences
        ]
        flat = np.concatenate([starts[place[:, 0]] + place[:, 1] for place in places])
        counts = np.zeros((len(sentences), longest), dtype=np.int64)
        for row, sentence in zip(counts, sentences, strict=True):
            row[: len(sentence.counts)] = sentence.counts
        word = np.repeat(np.arange(counts.size), counts.reshape(-1))
        index = torch.from_numpy(np.stack([flat, word])).to(flat_states.device, non_blocking=True)
        divisors = torch.from_numpy(counts.reshape(-1)).clamp(min=1).to(flat_states.device, non_blocking=True)
        pieces = flat_states.index_select(0, index[0])
        words = pieces.new_zeros(counts.size, *pieces.shape[1:]).index_add(0, index[1], pieces)
        means = words / divisors[:, None, None]
        return list(means.view(*counts.shape, *pieces.shape[1:]).unbind(2))

    def _lower_states(self, passages: list[Passage]) -> Features:
        """The frozen layers' states of all pieces [P, size], and of each passage its windows' rows (first, stop)."""
        windows = [window for passage in passages for window in passage.windows]
        stops = np.cumsum([len(window) for window in windows])
        spans = iter([(int(stop) - len(window), int(stop)) for window, stop in zip(windows, stops, strict=True)])
        rows = [[next(spans) for _ in passage.windows] for passage in passages]
        flat = [span for passage in rows for span in passage]
        states = torch.empty(int(stops[-1]) if windows else 0, self.size, dtype=torch.float16)
        order = sorted(range(len(windows)), key=lambda number: len(windows[number]))
        assert self.split is not None
        with torch.inference_mode():
            for chosen in _parts_of(order, "encoding windows"):
                read = self._run([windows[number] for number in chosen], self.split.lower)[:, :, 0].half().cpu()
                for number, pieces in zip(chosen, read, strict=True):
                    first, stop = flat[number]
                    states[first:stop] = pieces[: stop - first]
        return {"lower": states, "rows": rows}

    def _run_upper(self, features: Features, spans: list[Fragment]) -> Tensor:
        """The states [windows, pieces, 1, size] that the upper layers make of the lower ones' at some rows."""
        assert self.split is not None
        lower: Tensor = features["lower"]
        first, stop = torch.tensor(spans).to(lower.device, non_blocking=True).unbind(1)
        steps = torch.arange(max(stop - first for first, stop in spans), device=lower.device)
        seen = steps < (stop - first)[:, None]  # [windows, pieces]
        inputs = lower[(first[:, None] + steps) * seen].float()
        parts = [
            self.split.upper(inputs_embeds=states, attention_mask=mask.long()).last_hidden_state
            for states, mask in zip(inputs.split(WINDOWS_AT_ONCE), seen.split(WINDOWS_AT_ONCE), strict=True)
        ]
        return torch.cat(parts)[:, :, None]

    def _run_flat(self, rows: list[NDArray[np.int64]]) -> tuple[Tensor, NDArray[np.int64]]:
        """The states [places, layers, size] for windows of ids, and the row at which each window begins."""
        if torch.is_grad_enabled() or self.encoder.training:
            return _flatten(self._run(rows))
        encoder, unpadded = self.reader
        if unpadded is not None and self.device.type == "cpu":
            states, starts = unpadded(rows, self.all_layers)
            return states.float(), starts
        order = sorted(range(len(rows)), key=lambda number: len(rows[number]))
        starts, parts, first = np.empty(len(rows), dtype=np.int64), [], 0
        for chosen in (order[begin : begin + WINDOWS_AT_ONCE] for begin in range(0, len(order), WINDOWS_AT_ONCE)):
            states, starts_of_part = _flatten(self._run([rows[number] for number in chosen], encoder))
            starts[chosen] = first + starts_of_part
            parts.append(states.float())
            first += len(states)
        return torch.cat(parts), starts

    def _run(self, rows: list[NDArray[np.int64]], encoder: Any = None) -> Tensor:
        """The states [windows, pieces, layers, size] of an encoder, else of the whole one, for windows of ids."""
        device = self.device
        sizes = np.array([len(row) for row in rows])
        ids = np.full((len(rows), sizes.max()), self.tokenizer.padding)
        seen = np.arange(sizes.max()) < sizes[:, None]
        ids[seen] = np.concatenate(rows)
        parts = []
        inputs = (torch.from_numpy(ids), torch.from_numpy(seen).long())
        for window_ids, mask in zip(*(tensor.split(WINDOWS_AT_ONCE) for tensor in inputs), strict=True):
            out = (encoder or self.encoder)(
                input_ids=window_ids.to(device, non_blocking=True),
                attention_mask=mask.to(device, non_blocking=True),
                output_hidden_states=self.all_layers,
            )
            parts.append(torch.stack(out.hidden_states if self.all_layers else [out.last_hidden_state], dim=2))
        return torch.cat(parts)


def _flatten(states: Tensor) -> tuple[Tensor, NDArray[np.int64]]:
    """States [windows, pieces, layers, size] with all windows one after the other, and where each begins."""
    windows, pieces = states.shape[:2]
    return states.flatten(0, 1), np.arange(windows) * pieces


def _parts_of(order: Sequence[int], what: str) -> Iterator[Sequence[int]]:
    """What is read at once of all that is read, and how far that is."""
    with progress() as advance:
        for start in range(0, len(order), WINDOWS_AT_ONCE):
            part = order[start : start + WINDOWS_AT_ONCE]
            yield part
            advance(what, len(part), len(order))


@dataclass(frozen=True)
class _PassagePart:
    """A sentence's part in what is read together."""

    ids: list[int]  # all the pieces that are read together
    of_word: list[list[int]]  # the positions of each word's pieces, counted from the sentence's first piece
    start: int  # where that piece is


register("word_feature", Transformer)
