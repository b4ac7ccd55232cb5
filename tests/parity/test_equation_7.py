"""Equation 7 of Nguyen et al. (2023): both losses on one scale, and training that begins anew after the generators'."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import nearspan
from nearspan.heads import Targets
from nearspan.model import Model
from nearspan.model.network import LabelledBatch
from nearspan.segment import split
from nearspan.spans import enumerate_spans
from nearspan.training.data import TrainingData
from nearspan.training.trainer import Trainer

JOINT = ("representation.kind=endpoint_mean", "bottleneck.size=6", "head.kind=sigmoid")
STEADY = ("encoder.bilstm.dropout=0.0", "encoder.vectors.singletons=0", "representation.dropout=0.0")
GENERATORS = ("size=5", "word_size=4", "hidden=6", "pretraining=1", "gamma=0.5")
TOLD = tuple(f"losses.generators.{setting}" for setting in GENERATORS)


class Synonyms:
    """One city has other names."""

    def of(self, text: str) -> tuple[str, ...]:
        return ("Christiania", "the capital of Norway") if text == "Oslo" else ()


@pytest.mark.parametrize("bottleneck", ["bottleneck.beta=0.1", "bottleneck=none"])
def test_equation_6_is_a_mean_over_spans(tiny, documents, bottleneck: str):
    """Loops over all spans of the batch, long sentences' and short ones' alike: each weighs the same."""
    torch.manual_seed(0)
    recipe = tiny("classifier", *JOINT, *STEADY, bottleneck, "losses.mean_over=spans")
    data = TrainingData.of(documents, recipe, split)
    model = Model.from_corpus(recipe, data.sentences, data.labels)
    network, head = model.network.train(), model.network.head
    labels = network.suggester.span_labels(torch.tensor(data.lengths), data.numbered_entities())
    batch = model.encode(data.sentences).batch(torch.arange(3))
    torch.manual_seed(1)
    loss = network(LabelledBatch(batch, labels), None, 0)
    candidates = enumerate_spans(batch.lengths, 6)
    vectors = network.representation(network.encoder(batch), candidates)
    one_hot = labels.one_hot_targets(batch.ids, candidates, network.labels)

    def head_loss(z: torch.Tensor, span: int) -> torch.Tensor:
        return head.loss(SimpleNamespace(vectors=z[[span]]), Targets(spans=one_hot[[span]]))

    if network.bottleneck is None:
        losses = [head_loss(vectors, span) for span in range(len(candidates))]
    else:
        torch.manual_seed(1)
        distribution = network.bottleneck(vectors)
        draws = network.bottleneck.samples(distribution)
        divergence = distribution.divergence(network.bottleneck.prior)
        losses = [
            sum(head_loss(z, span) for z in draws) / len(draws) + 0.1 * divergence[span]
            for span in range(len(candidates))
        ]
    torch.testing.assert_close(loss, sum(losses) / len(losses))


def test_the_recipe_has_both_losses_on_one_scale():
    assert nearspan.recipe("joint-ib").losses.mean_over == "spans"
    assert nearspan.recipe("dspert").losses.mean_over == "sentences"


def test_the_optimizer_forgets_what_the_generators_learned_alone(tiny, documents, tmp_path: Path, monkeypatch):
    steps_after, epoch = [], Trainer.epoch

    def watch(self, *arguments):
        loss = epoch(self, *arguments)
        steps_after.append({float(state["step"]) for state in self.optimizer.state.values()})
        return loss

    monkeypatch.setattr(Trainer, "epoch", watch)
    recipe = tiny("classifier", *JOINT, *TOLD, "losses.generators.pretraining=2", "training.epochs=4")
    nearspan.train(recipe, documents, documents, out=tmp_path / "m", device="cpu", synonyms=Synonyms())
    per_epoch = 3  # a dozen sentences in batches of four
    assert steps_after == [{per_epoch * count} for count in (1, 2, 1, 2)]


def test_generators_and_the_rest_are_clipped_apart(tiny, documents, tmp_path: Path, monkeypatch):
    norms, clip = [], torch.nn.utils.clip_grad_norm_
    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", lambda *given: norms.append(clip(*given)))
    recipe = tiny("classifier", *JOINT, *TOLD)
    nearspan.train(recipe, documents, out=tmp_path / "m", device="cpu", synonyms=Synonyms())
    assert len(norms) == 2 * 6  # two epochs of three steps
    assert all(norm > 0 for norm in norms)
