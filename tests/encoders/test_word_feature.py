"""Word features from outside: a part of its own in `[encoder.features.NAME]`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
import torch
from torch import Tensor, nn

import nearspan
from nearspan import registry
from nearspan.encoders import Batch, Encoder, EncoderSettings, Features, WordFeature
from nearspan.errors import ConfigError
from nearspan.model import Model
from nearspan.segment import Sentence
from nearspan.settings import Settings


class EndingSettings(Settings):
    kind: Literal["ending"] = "ending"
    size: int = 3


class Ending(WordFeature):
    """An embedding of a word's last character."""

    Settings: ClassVar[type[Settings]] = EndingSettings

    def __init__(self, settings: EndingSettings, vocabulary: list[str]) -> None:
        super().__init__()
        self.vocabulary, self.size = vocabulary, settings.size
        self.table = nn.Embedding(len(vocabulary) + 1, settings.size)

    @classmethod
    def from_corpus(cls, settings: Any, train: Sequence[Sentence], others: Sequence[Sentence]) -> Ending:
        return cls(settings, sorted({token[-1] for sentence in train for token in sentence.tokens}))

    @classmethod
    def from_vocabulary(cls, settings: Any, vocabulary: Any) -> Ending:
        return cls(settings, vocabulary)

    def prepare(self, sentences: Sequence[Sentence]) -> Features:
        index = {ending: row for row, ending in enumerate(self.vocabulary, start=1)}
        rows = [index.get(token[-1], 0) for sentence in sentences for token in sentence.tokens]
        return {"rows": torch.tensor(rows)}

    def forward(self, batch: Batch, features: Features) -> Tensor:
        vectors: Tensor = self.table(features["rows"][batch.rows])
        return vectors


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry._parts, "word_feature", {**registry.parts("word_feature"), "ending": Ending})


def sentences(*texts: str) -> list[Sentence]:
    return [sentence for text in texts for sentence in nearspan.segment.split(nearspan.Document(text))]


def test_further_features_stand_beside_the_others() -> None:
    settings = EncoderSettings(characters={"kind": "cnn", "filters": 5}, features={"last": {"kind": "ending"}})  # type: ignore[arg-type]
    encoder = Encoder.from_corpus(settings, sentences("Ada lives"))
    encoded = encoder(encoder.prepare(sentences("Ada sings")).batch(torch.tensor([0])))
    assert encoder.size == 5 + 3
    ending = encoder.features["feature_last"]
    torch.testing.assert_close(encoded.features["feature_last"][0], ending.table.weight[[1, 2]])  # type: ignore[union-attr]
    torch.testing.assert_close(encoded.states, torch.cat(list(encoded.features.values()), dim=-1))


def test_every_feature_is_asked_for_its_pretrained_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ending, "pretrained_parameters", lambda self: list(self.parameters()))
    recipe = nearspan.recipe("classifier").override(["encoder.features.last.kind=ending"])
    network = Model.from_corpus(recipe, sentences("Ada lives"), ["PERSON"]).network
    [weight] = network.pretrained_parameters()
    assert weight is network.encoder.features["feature_last"].table.weight  # type: ignore[union-attr]


def test_one_further_feature_is_enough_to_read() -> None:
    encoder = Encoder.from_corpus(EncoderSettings(features={"last": {"kind": "ending"}}), sentences("Ada lives"))  # type: ignore[arg-type]
    encoded = encoder(encoder.prepare(sentences("Ada lives")).batch(torch.tensor([0])))
    torch.testing.assert_close(encoder.sentence_vectors(encoded), encoded.states.mean(1))


def test_it_is_trained_saved_and_loaded(tiny: Any, documents: Any, tmp_path: Path) -> None:
    recipe = tiny("classifier", "encoder.features.last.kind=ending", "encoder.features.last.size=2")
    run = nearspan.train(recipe, documents, out=tmp_path / "m", seed=1)
    ending = run.model.network.encoder.features["feature_last"]
    loaded = nearspan.load(tmp_path / "m")
    again = loaded.network.encoder.features["feature_last"]
    assert again.vocabulary == ending.vocabulary
    torch.testing.assert_close(again.table.weight, ending.table.weight)
    text = documents[0].text
    assert loaded(text).entities == run.model(text).entities


def test_a_second_pretrained_encoder_has_a_folder_of_its_own(encoders: dict[str, Path], tmp_path: Path) -> None:
    names = {kind: {"kind": "transformer", "name": str(folder), "overlap": 4} for kind, folder in encoders.items()}
    settings = EncoderSettings(transformer=names["bert"], features={"second": names["roberta"]})  # type: ignore[arg-type]
    encoder = Encoder.from_corpus(settings, sentences("Ada lives"))
    encoder.save(tmp_path, {}.__setitem__)
    loaded = Encoder.from_disk(settings, tmp_path, {}.__getitem__)
    loaded.load_state_dict(encoder.state_dict())
    states = [
        module(module.prepare(sentences("Ada lives in Oslo")).batch(torch.tensor([0]))).states
        for module in (encoder.eval(), loaded.eval())
    ]
    assert states[0].shape == (1, 4, 32)
    torch.testing.assert_close(*states)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("encoder.features.last.kind=endings", "ending"),
        ("encoder.features.last.size=2", "kind"),
        ("encoder.features.Last.kind=ending", "pattern"),
    ],
)
def test_wrong_settings_are_refused(tiny: Any, setting: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        tiny("classifier", setting)


def test_none_leaves_a_feature_out(tiny: Any) -> None:
    recipe = tiny("classifier", "encoder.features.last.kind=ending").override(["encoder.features.last=none"])
    assert recipe == tiny("classifier")
