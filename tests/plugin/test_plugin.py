"""Parts of another package: installed through its entry point, trained, explained, edited, saved; we do not know it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SETTINGS = ("encoder.vectors.size=8", "encoder.bilstm.size=8", "encoder.bilstm.layers=1", "encoder.characters=none")

ASK = """
import json, sys
import nearspan

model = nearspan.load(sys.argv[1], device="cpu")
text = "Ada lives in Oslo"
[evidence] = [each for each in model.explain(text, k=1000) if each.text == "Oslo"]
sums = {label: sum(near.weight for near in group) for label, group in evidence.neighbours.items()}
before = [(entity.text, entity.label) for entity in model(text).entities]
model.memory.add("Ada lives in [Oslo](PERSON)")
after = [(entity.text, entity.label) for entity in model(text).entities]
again = [(entity.text, entity.label) for entity in nearspan.load(sys.argv[1], device="cpu")(text).entities]
model.memory.undo()
undone = [(entity.text, entity.label) for entity in model(text).entities]
model.save(sys.argv[2])
saved = nearspan.load(sys.argv[2], device="cpu")
print(json.dumps({
    "strength": evidence.strength, "probabilities": evidence.probabilities, "sums": sums, "before": before,
    "after": after, "again": again, "undone": undone, "saved": [(e.text, e.label) for e in saved(text).entities],
    "parts": [type(saved.network.head).__name__, type(saved.network.representation).__name__],
}))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the package is installed to."""
    site = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--disable-pip-version-check", "--target", site, HERE], check=True)
    return site


def run(site: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run Python where the package is installed."""
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH", "")])])
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path}, check=False)


@pytest.fixture(scope="module")
def corpus(site: Path, tmp_path_factory: pytest.TempPathFactory, documents) -> Path:
    """The shared training sentences in the package's format, written by `nearspan convert`."""
    import nearspan

    folder = tmp_path_factory.mktemp("corpus")
    nearspan.write(documents, folder / "train.jsonl")
    converted = run(site, "-m", "nearspan", "convert", folder / "train.jsonl", folder / "train.marked")
    assert converted.returncode == 0, converted.stderr
    return folder / "train.marked"


def test_its_format_is_found_by_content_and_by_name(site: Path, corpus: Path):
    assert corpus.read_text(encoding="utf-8").startswith("#markup\n[Ada](PERSON) lives in [Oslo](PLACE)\n")
    assert run(site, "-m", "nearspan", "check", corpus).returncode == 0
    unknown = run(site, "-m", "nearspan", "check", "--format", "markup-line", corpus)
    assert "did you mean 'markup-lines'?" in unknown.stderr


def test_its_head_and_representation_are_trained_explained_edited_and_saved(site: Path, corpus: Path, tmp_path: Path):
    kinds = ("head.kind=cosine", "representation.kind=end_sum", "training.epochs=40", "training.learning_rate=0.01")
    settings = [argument for setting in (*SETTINGS, *kinds, "training.batch=4") for argument in ("--set", setting)]
    command = ("-m", "nearspan", "train", "instance-paper", "--train", corpus, "--out", tmp_path / "model")
    trained = run(site, *command, "--device", "cpu", *settings)
    assert trained.returncode == 0, trained.stderr
    answered = run(site, "-c", ASK, tmp_path / "model", tmp_path / "saved")
    assert answered.returncode == 0, answered.stderr
    answer = json.loads(answered.stdout)
    assert answer["strength"] == "exact"
    assert answer["sums"] == pytest.approx({label: answer["probabilities"][label] for label in answer["sums"]})
    assert ["Oslo", "PLACE"] in answer["before"]
    assert ["Oslo", "PERSON"] in answer["after"] == answer["again"]
    assert answer["undone"] == answer["before"] == answer["saved"]
    assert answer["parts"] == ["CosineHead", "EndSum"]


def test_its_settings_are_checked_like_ours(site: Path, corpus: Path, tmp_path: Path):
    command = ("-m", "nearspan", "train", "instance", "--train", corpus, "--out", tmp_path / "model")
    wrong = run(site, *command, "--set", "head.kind=cosine", "--set", "head.temprature=0.2")
    assert wrong.returncode == 2
    assert "head.temprature: no such setting; did you mean 'temperature'?" in wrong.stderr
    unknown = run(site, *command, "--set", "head.kind=cosines")
    assert "there is no 'cosines'; did you mean 'cosine'?" in unknown.stderr


def test_nearspan_does_not_know_it():
    source = HERE.parents[1] / "src" / "nearspan"
    assert not [
        path for path in source.rglob("*.py") if "cosine_head" in path.name or "CosineHead(" in path.read_text()
    ]
