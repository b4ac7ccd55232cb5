"""The queue: doubt, distance, and what is read again."""

import pytest
import torch

from nearspan.document import Document, Span
from nearspan.model import Model
from nearspan.review import queue
from nearspan.review.doubt import expected_errors, read_doubts
from nearspan.review.pool import collect_texts
from nearspan.review.queue import Queue, worth


def test_a_text_is_doubted_as_the_model_says_it_will_err(instance: Model):
    document = Document("Zed and Ada like unseen Paris")
    [doubt], [vector] = read_doubts(instance, [document])
    words, widest = instance.split(document)[0].words, instance.network.max_width
    spans = [Span.of(start, end) for at, (start, _) in enumerate(words) for _, end in words[at : at + widest]]
    wrong = [1 - max(instance.explain_span(document, span).probabilities.values()) for span in spans]
    assert float(doubt) == pytest.approx(sum(wrong), abs=1e-4)
    assert float(vector.norm()) == pytest.approx(1)


def test_of_several_labels_each_may_be_wrong():
    probabilities = torch.tensor([[0.0, 0.9, 0.5], [1.0, 0.0, 0.0]])
    assert expected_errors(probabilities, multilabel=True).tolist() == pytest.approx([0.6, 0])


def test_what_is_known_already_is_worth_nothing_and_what_is_far_its_doubt():
    values = worth(torch.tensor([2.0, 2.0, 2.0, 1.0]), torch.tensor([1.0, 0.95, 0.9, -1.0])).tolist()
    assert values == pytest.approx([0, 1, 2, 1], abs=1e-5)


def test_a_text_like_one_that_another_reviewer_has_comes_later(instance: Model, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(queue, "worth", lambda _, near: 1 - near)
    texts = collect_texts(instance, ["Zed Moon lives in Vienna", "Zed Stone lives in Vienna", "Eve ran"])
    moon, stone, eve = texts
    order = Queue(instance, list(texts.values()))
    assert order.order([stone, eve], [moon]) == [eve, stone]
    assert order.order([stone, eve], []) == sorted([stone, eve], key=lambda id: order.measure(id)[1])


def test_the_next_texts_are_read_again_after_an_edit(instance: Model, tmp_path):
    instance.save(tmp_path / "model")
    texts = collect_texts(instance, ["Zed Moon lives in Vienna", "Eve ran"])
    order = Queue(instance, list(texts.values()))
    order.order(texts.keys(), [])
    before = [order.measure(id) for id in texts]
    instance.memory.add("[Zed Stone](PERSON) lives in [Vienna](PLACE)", 50)
    order.order(texts.keys(), [])
    after = [order.measure(id) for id in texts]
    assert after[0][0] < before[0][0]
    assert after[0][1] > before[0][1]


def test_more_texts_than_are_compared_follow_as_others_are_answered(instance: Model, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(queue, "MOST", 2)
    texts = collect_texts(instance, ["Zed left", "Eve ran", "Bob met Ada", "Oslo is far"])
    order = Queue(instance, list(texts.values()))
    first = order.order(texts.keys(), [])
    assert len(first) == 2
    second = order.order(texts.keys() - {first[0]}, [])
    assert len(second) == 2
    assert len({*first, *second}) == 3
