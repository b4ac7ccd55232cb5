"""The sample corpus: real people and places, and a patient's diary, with nested and discontinuous entities.

See README.md beside this file for the labels and the annotation rules.
"""

from __future__ import annotations

from pathlib import Path

SPLITS = ("train", "dev", "test")


def path(split: str) -> Path:
    """The JSON-lines file of one split: "train", "dev" or "test".

    >>> path("train").name
    'train.jsonl'
    >>> path("validation")
    Traceback (most recent call last):
        ...
    ValueError: the sample corpus has no split 'validation'; choose train, dev or test
    """
    if split not in SPLITS:
        raise ValueError(f"the sample corpus has no split {split!r}; choose train, dev or test")
    return Path(__file__).with_name(f"{split}.jsonl")
