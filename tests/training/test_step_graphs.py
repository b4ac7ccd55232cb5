"""Recorded steps compute what unrecorded ones do."""

import pytest
import torch
from torch import Tensor, nn

from nearspan.model import Model
from nearspan.training import step_graphs
from nearspan.training.data import TrainingData
from nearspan.training.step_graphs import StepGraphs
from nearspan.training.trainer import Trainer, accelerator_for

SETTINGS = ("training.batch=2", "encoder.characters.inner=2", "encoder.sentence_context.size=3")


class Recorder:
    """Records as a GPU does: a replay computes once more, and leaves loss and gradients where the first ones were."""

    def __init__(self, weights: list[nn.Parameter]) -> None:
        self.weights = weights
        self.recorded = self.replayed = 0

    def __call__(self, compute):
        self.recorded += 1
        with torch.random.fork_rng(devices=[]):  # a recording draws nothing
            loss = compute()
        gradients = [weight.grad for weight in self.weights]

        def replay() -> None:
            self.replayed += 1
            for weight in self.weights:
                weight.grad = None
            loss.copy_(compute())
            for gradient, weight in zip(gradients, self.weights, strict=True):
                if gradient is not None:
                    gradient.copy_(weight.grad)

        return loss, replay


@pytest.fixture
def new_trainer(tiny, documents):
    def make(name: str = "hire", *settings: str, device: str = "cpu") -> Trainer:
        recipe = tiny(name, *SETTINGS[:1], *(SETTINGS[1:] if name == "hire" else ()), *settings)
        data = TrainingData.of(documents, recipe, recipe.splitter())
        accelerator = accelerator_for(recipe, device)
        torch.manual_seed(0)
        model = Model.from_corpus(recipe, data.sentences, data.labels, entities=data.entities)
        return Trainer(recipe, model.to(accelerator.device), data, accelerator, seed=0)

    return make


def train(trainer: Trainer, epochs: int = 4) -> list[Tensor]:
    """The losses of some epochs, with a memory that is written between them."""
    losses = []
    for epoch in range(epochs):
        batches = trainer._batches(epoch)
        for group in trainer.optimizer.param_groups:
            group["lr"] = 0.1 / (1 + epoch)
        losses += [trainer._step(batch, epoch, step, len(batches)).clone() for step, batch in enumerate(batches)]
        trainer.model.network.encoder.write_word_memory(trainer.corpus)
    return losses


def test_recorded_steps_learn_the_same(new_trainer):
    plain, recorded = new_trainer(), new_trainer()
    weights = list(recorded.model.network.parameters())
    recorder = Recorder(weights)
    recorded.graphs = StepGraphs(weights, recorded._backward, recorder)
    assert torch.equal(torch.stack(train(plain)), torch.stack(train(recorded)))
    for weight, other in zip(plain.model.network.parameters(), weights, strict=True):
        assert torch.equal(weight, other)
    shapes = {recorded.corpus.batch(ids).rows.shape for epoch in range(4) for (ids,) in recorded._batches(epoch)}
    assert 1 < recorder.recorded <= len(shapes)
    assert recorder.replayed > recorder.recorded


def test_a_shape_is_recorded_when_it_comes_again(new_trainer):
    trainer = new_trainer()
    weights = list(trainer.model.network.parameters())
    recorder = Recorder(weights)
    graphs = StepGraphs(weights, trainer._backward, recorder)
    batch = trainer.corpus.batch(torch.tensor([0, 3]))
    counts = []
    for _ in range(3):
        graphs(batch)
        counts.append((recorder.recorded, recorder.replayed))
    assert counts == [(0, 0), (1, 1), (1, 2)]


def test_so_many_shapes_are_recorded_and_no_more(new_trainer, monkeypatch):
    monkeypatch.setattr(step_graphs, "MOST", 1)
    trainer = new_trainer()
    weights = list(trainer.model.network.parameters())
    recorder = Recorder(weights)
    trainer.graphs = StepGraphs(weights, trainer._backward, recorder)
    train(trainer)
    assert recorder.recorded == 1


def test_a_recording_leaves_the_batch_it_was_made_of_alone(new_trainer):
    trainer = new_trainer()
    weights = list(trainer.model.network.parameters())
    graphs = StepGraphs(weights, trainer._backward, Recorder(weights))
    lives, left = (trainer.corpus.batch(torch.tensor([sentence])) for sentence in (1, 4))  # five words and six
    likes = trainer.corpus.batch(torch.tensor([3]))
    rows = lives.rows.clone()
    assert lives.rows.shape == likes.rows.shape
    for batch in (lives, lives, likes, left):
        graphs(batch)
    assert torch.equal(lives.rows, rows)


@pytest.mark.parametrize(
    ("name", "settings", "capturable"),
    [
        ("hire", (), True),
        ("hire", ("encoder.sentence_context=none", "encoder.word_memory=none"), True),
        ("classifier", (), False),  # it reads spans
        ("instance", (), False),
    ],
)
def test_which_networks_can_be_recorded(new_trainer, name, settings, capturable):
    assert new_trainer(name, *settings).model.network.is_capturable is capturable


def test_a_cpu_records_nothing(new_trainer):
    assert new_trainer().graphs is None


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_computes_the_same_from_its_recordings(new_trainer):
    plain, recorded = new_trainer(device="cuda"), new_trainer(device="cuda")
    plain.graphs = None
    assert recorded.graphs is not None
    torch.testing.assert_close(torch.stack(train(plain)), torch.stack(train(recorded)), rtol=1e-4, atol=1e-4)
    assert any(recorded.graphs.recordings.values())
