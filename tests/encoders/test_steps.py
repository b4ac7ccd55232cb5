"""LSTMs word by word, against the equations and against numbers for the gradients."""

import torch

from nearspan.encoders.bilstm import run_steps

WORDS, LSTMS, SENTENCES, SIZE = 4, 2, 3, 2


def random_inputs():
    torch.manual_seed(0)
    read = torch.randn(WORDS, LSTMS, SENTENCES, 4 * SIZE, dtype=torch.double, requires_grad=True)
    recurrent = torch.randn(LSTMS, SIZE, 4 * SIZE, dtype=torch.double, requires_grad=True)
    kept = (torch.rand(WORDS, LSTMS, SENTENCES, SIZE) > 0.3).double() / 0.7
    return read, recurrent, kept


def test_states_are_those_of_the_equations():
    read, recurrent, kept = random_inputs()
    states = run_steps(read, recurrent, kept)
    for lstm in range(LSTMS):
        for sentence in range(SENTENCES):
            state = cell = torch.zeros(SIZE, dtype=torch.double)
            for word in range(WORDS):
                gates = read[word, lstm, sentence] + (state * kept[word, lstm, sentence]) @ recurrent[lstm]
                enter, forget, new, leave = gates.chunk(4)
                cell = forget.sigmoid() * cell + enter.sigmoid() * new.tanh()
                state = leave.sigmoid() * cell.tanh()
                torch.testing.assert_close(states[word, lstm, sentence], state)


def test_gradients_are_those_of_small_changes():
    assert torch.autograd.gradcheck(run_steps, random_inputs())


def test_one_word():
    read, recurrent, kept = random_inputs()
    assert torch.autograd.gradcheck(run_steps, (read[:1].detach().requires_grad_(), recurrent, kept[:1]))
