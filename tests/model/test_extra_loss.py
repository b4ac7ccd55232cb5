"""A loss from outside: named by a recipe, trained with the head, saved, and checked like ours."""

from pathlib import Path
from typing import ClassVar, Literal

import pytest
import torch
from torch import nn

import nearspan
from nearspan import registry
from nearspan.errors import ConfigError, ModelError
from nearspan.losses import Loss
from nearspan.model import Model
from nearspan.model.network import LabelledBatch
from nearspan.segment import split
from nearspan.settings import Settings
from nearspan.training.data import TrainingData


class LengthSettings(Settings):
    kind: Literal["length"] = "length"
    weight: float = 0.5


class Length(Loss):
    """Penalises long span vectors, by a scale that is learned."""

    Settings: ClassVar[type[Settings]] = LengthSettings

    def __init__(self, settings, inputs) -> None:
        super().__init__(settings, inputs)
        self.scale = nn.Parameter(torch.ones(inputs.span_size))

    def forward(self, query, targets):
        return self.settings.weight * (query.vectors * self.scale).square().sum() + 0 * targets.sum()


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry._parts, "loss", dict(registry.parts("loss")))
    nearspan.register("loss", Length)


def loss_of(recipe, documents) -> float:
    torch.manual_seed(0)
    data = TrainingData.of(documents, recipe, split)
    model = Model.from_corpus(recipe, data.sentences, data.labels)
    corpus = model.network.encoder.prepare(data.sentences)
    labels = model.network.suggester.span_labels(torch.tensor(data.lengths), data.numbered_entities())
    labelled = LabelledBatch(corpus.batch(torch.arange(4)), labels)
    return float(model.network.eval()(labelled).detach())


def test_it_is_added_to_the_loss_by_its_weight(tiny, documents):
    none = loss_of(tiny("classifier"), documents)
    half, whole = (
        loss_of(tiny("classifier", "losses.extra.short.kind=length", f"losses.extra.short.weight={weight}"), documents)
        for weight in (0.5, 1.0)
    )
    assert none < half < whole
    assert whole - none == pytest.approx(2 * (half - none), rel=1e-4)


def test_it_is_trained_and_saved_with_its_weights(tiny, documents, tmp_path: Path):
    recipe = tiny("classifier", "losses.extra.short.kind=length")
    run = nearspan.train(recipe, documents, documents, out=tmp_path / "m", device="cpu")
    (trained,) = run.model.network.losses
    assert not torch.equal(trained.scale, torch.ones(8))
    loaded = nearspan.load(tmp_path / "m", device="cpu")
    assert torch.equal(loaded.network.losses[0].scale, trained.scale)
    assert loaded(documents[0].text).entities == run.model(documents[0].text).entities


def test_its_settings_are_checked(tiny):
    with pytest.raises(ConfigError, match="did you mean 'weight'"):
        tiny("classifier", "losses.extra.short.kind=length", "losses.extra.short.wieght=1")
    with pytest.raises(ConfigError, match="there is no 'lenght'; did you mean 'length'\\?"):
        tiny("classifier", "losses.extra.short.kind=lenght")


def test_a_head_that_reads_words_has_no_use_for_it(tiny, documents):
    recipe = tiny("classifier", "head.kind=crf", "fragment_linker=none", "losses.extra.short.kind=length")
    with pytest.raises(ConfigError, match=r"set losses\.extra\.short=none"):
        loss_of(recipe, documents)
    with pytest.raises(ConfigError, match=r"set losses\.extra\.short=none"):
        loss_of(tiny("classifier", "suggester.kind=given", "losses.extra.short.kind=length"), documents)


def test_it_can_be_left_out_again(tiny):
    recipe = tiny("classifier", "losses.extra.short.kind=length")
    assert recipe.override(["losses.extra.short=none"]).losses == tiny("classifier").losses


def test_one_that_is_not_added_up_is_named(tiny, documents, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Length, "forward", lambda self, query, targets: query.vectors.sum(1))
    with pytest.raises(ModelError, match=r"the loss Length gives \[\d+\] numbers where one is expected"):
        loss_of(tiny("classifier", "losses.extra.short.kind=length"), documents)
