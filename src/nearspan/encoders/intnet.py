"""IntNet: characters of a word, read by a funnel of convolutions with dense connections (Xin et al., 2018)."""

from typing import Any, ClassVar, Literal

import torch
from pydantic import Field, field_validator
from torch import Tensor, nn

from nearspan.encoders.character_cnn import PADDING, CharacterFeature
from nearspan.registry import register
from nearspan.settings import Settings

WINDOWS = (3, 5)  # characters that the filters of a layer see: Luo et al. (2020) take these for all layers


class IntNetSettings(Settings):
    """IntNet as Luo et al. (2020) set it."""

    kind: Literal["intnet"] = "intnet"
    size: int = Field(default=32, ge=1, le=10_000)  # width of a character's vector
    filters: int = Field(default=32, ge=1, le=10_000)  # of the first layer, for each window
    inner: int = Field(default=16, ge=1, le=10_000)  # of all other layers, for each window
    layers: int = Field(default=7, ge=1, le=1_000)  # L, odd: the first one and (L - 1) / 2 blocks of two
    longest: int = Field(default=40, ge=2, le=10_000)  # of a longer word this many are read, half at each end
    dropout: float = Field(default=0.5, ge=0, lt=1)

    @field_validator("layers")
    @classmethod
    def _odd(cls, layers: int) -> int:
        if layers % 2 == 0:
            raise ValueError("layers must be odd: one, and two for each block")
        return layers


class IntNet(CharacterFeature):
    """Each block narrows the states of all layers before it (1 x 1), convolves that, and adds the result to them.

    The maximum over a word's positions is taken of everything: size = filters for each window, and `inner` for each
    window and block. What lies behind a word's end is 0 for every layer, so that padding never matters.
    """

    Settings: ClassVar[type[Settings]] = IntNetSettings

    def __init__(self, settings: IntNetSettings, vocabulary: dict[str, Any]) -> None:
        super().__init__(settings, vocabulary)
        blocks = (settings.layers - 1) // 2
        self.first = _convolutions(settings.size, settings.filters)
        wide, more = len(WINDOWS) * settings.filters, len(WINDOWS) * settings.inner
        self.narrow = nn.ModuleList(nn.Conv1d(wide + block * more, settings.inner, 1) for block in range(blocks))
        self.blocks = nn.ModuleList(_convolutions(settings.inner, settings.inner) for _ in range(blocks))
        self.size = wide + blocks * more
        self.reset_parameters()

    def convolve(self, characters: Tensor) -> Tensor:
        """Spellings [U, C] to vectors [U, size]."""
        real = (characters != PADDING)[:, None]  # [U, 1, C]
        letters = self.dropout(self.table(characters)).transpose(1, 2)  # [U, letter, C]
        states = _apply_filters(self.first, letters, real)
        for narrow, block in zip(self.narrow, self.blocks, strict=True):
            narrowed = narrow(states).relu() * real
            states = torch.cat([states, _apply_filters(block, narrowed, real)], dim=1)
        vectors: Tensor = states.amax(2)  # after ReLU, the 0 of padding is the least
        return vectors


def _convolutions(inputs: int, filters: int) -> nn.ModuleList:
    return nn.ModuleList(nn.Conv1d(inputs, filters, window, padding="same") for window in WINDOWS)


def _apply_filters(convolutions: nn.Module, states: Tensor, real: Tensor) -> Tensor:
    """The states of all filters of a layer [U, filters, C], 0 on padding."""
    return torch.cat([convolution(states) for convolution in convolutions.children()], dim=1).relu() * real


register("word_feature", IntNet)
