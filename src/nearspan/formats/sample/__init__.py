"""The sample corpus: real people and places, and a patient's diary, with nested and discontinuous entities.

See README.md beside this file for the labels and the annotation rules.
"""

from pathlib import Path

SPLITS = ("train", "dev", "test")


def path(split: str) -> Path:
    """The JSON-lines file of one split: "train", "dev" or "test"; or the table of "synonyms" that goes with them.

    >>> path("train").name, path("synonyms").name
    ('train.jsonl', 'synonyms.tsv')
    >>> path("validation")
    Traceback (most recent call last):
        ...
    ValueError: the sample corpus has no split 'validation'; choose train, dev or test
    """
    if split == "synonyms":
        return Path(__file__).with_name("synonyms.tsv")
    if split not in SPLITS:
        raise ValueError(f"the sample corpus has no split {split!r}; choose train, dev or test")
    return Path(__file__).with_name(f"{split}.jsonl")
