"""Spans read by a BiLSTM (the SNG paper, section 2 and equations 6 to 11) against a loop over spans and words."""

from types import SimpleNamespace

import pytest
import torch

import nearspan
from nearspan.spans import enumerate_spans
from nearspan.spans.span_bilstm import SpanBiLSTM, SpanBiLSTMSettings


def encoded_batch(states, lengths):
    mask = torch.arange(states.shape[1]) < lengths[:, None]
    return SimpleNamespace(states=states, batch=SimpleNamespace(lengths=lengths, mask=mask))


def cell(lstm, word, hidden, memory):
    """Equations 6 to 11, for one word."""
    gates = lstm.weight_ih_l0 @ word + lstm.bias_ih_l0 + lstm.weight_hh_l0 @ hidden + lstm.bias_hh_l0
    i, f, g, o = gates.chunk(4)
    memory = f.sigmoid() * memory + i.sigmoid() * g.tanh()
    return o.sigmoid() * memory.tanh(), memory


def states_of(lstm, words):
    hidden = memory = torch.zeros(lstm.hidden_size)
    vectors = []
    for word in words:
        hidden, memory = cell(lstm, word, hidden, memory)
        vectors.append(hidden)
    return vectors


def paper_span(onwards, back, words, first, stop, context):
    """One span at a time: outputs, the final state, products, softmax, weighted sum."""
    begin, end = (0, len(words)) if context else (first, stop)
    ahead = states_of(onwards, words[begin:end])
    behind = states_of(back, words[begin:end].flip(0))[::-1]
    outputs = [torch.cat([ahead[t - begin], behind[t - begin]]) for t in range(first, stop)]
    size = onwards.hidden_size
    final = torch.cat([outputs[-1][:size], outputs[0][size:]])
    weights = torch.softmax(torch.stack([output @ final for output in outputs]), 0)
    return sum(weight * output for weight, output in zip(weights, outputs, strict=True))


@pytest.mark.parametrize("context", [False, True])
@pytest.mark.parametrize("max_width", [1, 3, 9])
def test_a_span_is_what_its_final_state_attends_to(context: bool, max_width: int):
    torch.manual_seed(0)
    lengths = torch.tensor([5, 1, 3])
    states = torch.randn(3, 5, 4)
    spans = SpanBiLSTM.build(SpanBiLSTMSettings(size=3, context=context), SimpleNamespace(size=4), max_width)
    candidates = enumerate_spans(lengths, max_width)
    vectors = spans(encoded_batch(states, lengths), candidates)
    assert vectors.shape == (len(candidates), spans.size)
    both = (spans.sentences.forwards[0], spans.sentences.backwards[0]) if context else (spans.onwards, spans.back)
    for row, m, first, stop in zip(vectors, candidates.sentence, candidates.first, candidates.stop, strict=True):
        words = states[m, : lengths[m]]
        torch.testing.assert_close(row, paper_span(*both, words, int(first), int(stop), context))


def test_the_gradient_is_that_of_the_loop():
    torch.manual_seed(0)
    states = torch.randn(1, 4, 3, requires_grad=True)
    spans = SpanBiLSTM.build(SpanBiLSTMSettings(size=2), SimpleNamespace(size=3), 3)
    candidates = enumerate_spans(torch.tensor([4]), 3)
    weights = torch.randn(len(candidates), spans.size)
    (spans(encoded_batch(states, torch.tensor([4])), candidates) * weights).sum().backward()
    ours, states.grad = states.grad, None
    pairs = zip(candidates.first.tolist(), candidates.stop.tolist(), weights, strict=True)
    naive = [(paper_span(spans.onwards, spans.back, states[0], a, b, False) * w).sum() for a, b, w in pairs]
    sum(naive).backward()
    torch.testing.assert_close(ours, states.grad)


def test_words_outside_a_span_do_not_matter_without_context():
    torch.manual_seed(0)
    lengths = torch.tensor([4])
    states = torch.randn(1, 4, 3)
    changed = states.clone()
    changed[0, 3] = 9.0
    candidates = enumerate_spans(lengths, 2)
    before = candidates.stop <= 3
    for context in (False, True):
        spans = SpanBiLSTM.build(SpanBiLSTMSettings(size=2, context=context), SimpleNamespace(size=3), 2)
        left, right = (spans(encoded_batch(given, lengths), candidates)[before] for given in (states, changed))
        assert torch.equal(left, right) != context


@pytest.mark.parametrize("head", [(), ("head.kind=sigmoid",), ("head.kind=instances", "head.neighbours=4")])
def test_attended_spans_go_with_any_head(head, tiny, documents, tmp_path):
    settings = ("representation.kind=span_bilstm", "representation.size=8", *head)
    recipe = tiny("classifier", *settings, "training.epochs=25", "training.learning_rate=0.02")
    run = nearspan.train(recipe, documents, documents, out=tmp_path / "run", device="cpu")
    assert run.dev.scores.f1 > 0.5
    again = nearspan.load(tmp_path / "run", device="cpu")
    assert nearspan.evaluate(again, documents).scores == run.dev.scores
