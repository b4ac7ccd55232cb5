"""The BiLSTM: a sentence's states depend on that sentence alone."""

import pytest
import torch

from nearspan.encoders.bilstm import BiLSTM, BiLSTMSettings

LENGTHS = [5, 1, 3, 5]


def build_bilstm(layers: int = 2) -> BiLSTM:
    torch.manual_seed(0)
    return BiLSTM(BiLSTMSettings(layers=layers, size=4, dropout=0.0), inputs=3)


def read(module: BiLSTM, states: torch.Tensor, lengths: list[int]) -> torch.Tensor:
    mask = torch.arange(states.shape[1]) < torch.tensor(lengths)[:, None]
    return module(states, mask)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("training", [True, False])
def test_a_batch_equals_its_sentences_one_by_one(layers: int, training: bool):
    module = build_bilstm(layers).train(training)
    states = torch.randn(4, 5, 3)  # padding holds noise that nobody may read
    together = read(module, states, LENGTHS)
    for row, length in enumerate(LENGTHS):
        alone = read(module, states[row : row + 1, :length], [length])
        torch.testing.assert_close(together[row : row + 1, :length], alone)


@pytest.mark.parametrize("training", [True, False])
def test_padding_has_zero_states(training: bool):
    together = read(build_bilstm().train(training), torch.randn(4, 5, 3), LENGTHS)
    assert together.shape == (4, 5, 8)
    for row, length in enumerate(LENGTHS):
        assert together[row, length:].abs().sum() == 0
        assert together[row, :length].abs().min() > 0


@pytest.mark.parametrize("precision", ["bf16", "int8"])
def test_other_precisions_predict_nearly_the_same_and_learn_in_full(precision: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("nearspan.encoders.bilstm.computes_bf16", lambda: True)
    module, states = build_bilstm(2).eval(), torch.randn(4, 5, 3)
    expected = read(module, states, LENGTHS)
    module.set_precision(precision)
    assert torch.equal(read(module, states, LENGTHS), expected)  # gradients are asked for
    with torch.inference_mode():
        states = read(module, states, LENGTHS)
        assert states.dtype == torch.float32
        assert 0 < (states - expected).abs().max() < 0.02
        module.set_precision("float32")
        assert module.reader == ()


def test_forward_states_come_first():
    module = build_bilstm(1).eval()
    states = torch.randn(1, 4, 3)
    changed = states.clone()
    changed[0, 3] += 1  # the last word: only backward states can know of it before
    left, right = read(module, states, [4])[0, 0], read(module, changed, [4])[0, 0]
    assert torch.equal(left[:4], right[:4])
    assert not torch.equal(left[4:], right[4:])


def test_step_by_step_without_dropout_is_the_same():
    module, states = build_bilstm(), torch.randn(4, 5, 3)
    quick = read(module.train(), states, LENGTHS)
    module.state_dropout = 1e-12  # next to no state is dropped, so this is the slow way alone
    torch.testing.assert_close(read(module, states, LENGTHS), quick)


def test_dropped_states_change_all_words_but_the_first_ones_read():
    settings = BiLSTMSettings(layers=1, size=4, dropout=0.0, state_dropout=0.9)
    torch.manual_seed(0)
    module, states = BiLSTM(settings, inputs=3), torch.randn(1, 5, 3)
    dropped, whole = (read(module.train(training), states, [5])[0] for training in (True, False))
    changed = (dropped - whole).abs() > 1e-7
    assert changed[1:, :4].all(1).all()
    assert changed[:-1, 4:].all(1).all()
    assert not changed[0, :4].any()
    assert not changed[-1, 4:].any()


def test_outputs_are_dropped_in_training_only():
    settings = BiLSTMSettings(layers=1, size=50, dropout=0.0, output_dropout=0.5)
    module, states = BiLSTM(settings, inputs=3), torch.randn(1, 5, 3)
    assert 0.3 < (read(module.train(), states, [5]) == 0).float().mean() < 0.7
    assert (read(module.eval(), states, [5]) != 0).all()


def test_every_lstm_begins_with_its_forget_gate_open():
    module = build_bilstm()
    for lstm in (*module.forwards, *module.backwards):
        biases = lstm.bias_ih_l0 + lstm.bias_hh_l0
        assert biases.view(4, 4).tolist() == [[0] * 4, [1] * 4, [0] * 4, [0] * 4]  # input, forget, cell, output
