"""Zhu & Li (2023), DSpERT: the fast forms against the paper's equations."""

import torch

from nearspan.heads import ClassifierSettings


def test_equation_6_is_a_softmax_with_a_row_and_a_bias_for_null_too():
    torch.manual_seed(0)
    head = ClassifierSettings(null="learned", bias=True).build(4, labels=2)
    torch.nn.init.normal_(head.bias)
    vectors = torch.randn(3, 4)
    expected = torch.stack([(head.weight @ z + head.bias).exp() for z in vectors])
    torch.testing.assert_close(head.probabilities(vectors), expected / expected.sum(1, keepdim=True))


def test_the_loss_is_the_cross_entropy_with_soft_targets():
    torch.manual_seed(1)
    head = ClassifierSettings(null="learned", bias=True).build(4, labels=2)
    vectors, targets = torch.randn(5, 4), torch.rand(5, 3).softmax(1)
    expected = -sum(
        target * probability.log()
        for row, found in zip(targets, head.probabilities(vectors), strict=True)
        for target, probability in zip(row, found, strict=True)
    )
    torch.testing.assert_close(head.loss(vectors, targets), expected)
