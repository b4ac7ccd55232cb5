from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from nearspan import tensors
from nearspan.tensors import save_tensors


def test_what_is_written_is_read_and_replaced(tmp_path: Path):
    path = tmp_path / "a.safetensors"
    for value in (1.0, 2.0):
        save_tensors({"x": torch.full((2, 3), value).T}, path)  # not contiguous
        assert load_file(path)["x"].tolist() == [[value] * 2] * 3
    assert [file.name for file in tmp_path.iterdir()] == ["a.safetensors"]


def test_the_file_may_be_read_by_those_who_may_read_others(tmp_path: Path):
    (tmp_path / "plain").touch()
    save_tensors({"x": torch.ones(1)}, tmp_path / "a.safetensors")
    assert (tmp_path / "a.safetensors").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "a.safetensors"
    save_tensors({"x": torch.ones(1)}, path)

    def full(content, scratch, metadata):
        scratch.with_name(".tmpHalf").write_bytes(b"half")
        raise OSError("No space left on device")

    monkeypatch.setattr(tensors, "save_file", full)
    with pytest.raises(OSError, match="No space left"):
        save_tensors({"x": torch.zeros(1)}, path)
    assert load_file(path)["x"].tolist() == [1.0]
    assert [file.name for file in tmp_path.iterdir()] == ["a.safetensors"]


def test_what_a_kill_left_goes_with_the_next_writing(tmp_path: Path):
    left = tmp_path / ".a.safetensors.new"
    left.mkdir()
    (left / ".tmpHalf").write_bytes(b"half")
    save_tensors({"x": torch.ones(1)}, tmp_path / "a.safetensors")
    assert not left.exists()
