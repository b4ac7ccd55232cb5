"""Errors have one base, and name the nearest right word."""

import pytest

from nearspan import errors


@pytest.mark.parametrize("kind", [errors.CorpusError, errors.ConfigError, errors.ModelError, errors.ResourceError])
def test_all_are_nearspan_errors(kind):
    assert issubclass(kind, errors.NearspanError)


def test_the_nearest_name_or_all_of_them():
    assert errors.did_you_mean("epoch", ["epochs", "batch"]) == "did you mean 'epochs'?"
    assert errors.did_you_mean("zzz", ["epochs", "batch"]) == "known: batch, epochs"
