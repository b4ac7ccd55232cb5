"""Looking for a file where the system does not let us."""

from pathlib import Path

import pytest

import nearspan
from nearspan.encoders.vector_files import read_vectors
from nearspan.errors import NearspanError


@pytest.mark.parametrize(
    ("look", "ask"),
    [
        ("is_file", lambda path: nearspan.recipe(str(path))),
        ("is_dir", lambda path: nearspan.load(path)),
        ("is_file", lambda path: read_vectors(path, 10)),
    ],
    ids=["recipe", "model", "vectors"],
)
def test_what_may_not_be_looked_at_is_not_said_to_be_missing(monkeypatch, tmp_path: Path, look: str, ask):
    def forbidden(self: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, look, forbidden)
    with pytest.raises(NearspanError, match=r"closed/it\.toml cannot be looked at: you may not enter a folder"):
        ask(tmp_path / "closed" / "it.toml")
