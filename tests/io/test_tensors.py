from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from nearspan.errors import ModelError
from nearspan.io import tensors
from nearspan.io.tensors import load_tensors, metadata_of, save_tensors


def test_what_is_written_is_read_and_replaced(tmp_path: Path):
    path = tmp_path / "a.safetensors"
    for value in (1.0, 2.0):
        save_tensors({"x": torch.full((2, 3), value).T}, path)  # not contiguous
        assert load_file(path)["x"].tolist() == [[value] * 2] * 3
    assert [file.name for file in tmp_path.iterdir()] == ["a.safetensors"]


def test_whatever_tensors_are_written_can_be_loaded(tmp_path: Path):
    path = tmp_path / "a.safetensors"
    written = {
        "none": torch.zeros(0, 3),
        "one": torch.tensor(2.5),
        "turned": torch.arange(6.0).view(2, 3).T,
        "half": torch.ones(3, dtype=torch.bfloat16),
        "bits": torch.tensor([True, False]),
    }
    save_tensors(written, path, {"of": "x"})
    found = load_tensors(path)
    assert found.keys() == written.keys()
    assert all(torch.equal(found[name], written[name]) for name in written)
    assert metadata_of(path)["of"] == "x"


def test_the_same_tensors_make_the_same_file(tmp_path: Path):
    for name in "abcd":
        save_tensors({"x": torch.ones(2), "y": torch.ones(3)}, tmp_path / name, {"of": "x", "for": "y"})
    assert len({(tmp_path / name).read_bytes() for name in "abcd"}) == 1


@pytest.mark.parametrize("place", range(1, 13))
def test_a_changed_bit_is_named_with_its_file(tmp_path: Path, place: int):
    path = tmp_path / "a.safetensors"
    save_tensors({"x": torch.ones(2), "y": torch.ones(1)}, path)
    content = bytearray(path.read_bytes())
    content[-place] ^= 1
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"a\.safetensors is damaged"):
        load_tensors(path)


def test_a_file_that_does_not_say_what_was_written_is_damaged(tmp_path: Path):
    save_file({"x": torch.ones(2)}, tmp_path / "a.safetensors")
    with pytest.raises(ModelError, match=r"a\.safetensors is damaged"):
        load_tensors(tmp_path / "a.safetensors")


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
