"""Two processes share out evaluation and the building of the memory, and both get the whole."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import nearspan

WORK = """
import json, sys
import torch
from accelerate import Accelerator
import nearspan
from nearspan.encoders import batches
from nearspan.evaluation import Evaluator
from nearspan.model.predict import Predictor
from nearspan.shares import end_together, share, shared_out

batches.CPU_WORDS = 12  # a sentence or two in a batch
process = Accelerator(cpu=True)
model = nearspan.load(sys.argv[1], "cpu")
documents = nearspan.read(sys.argv[2]).documents
corpus = model.encode(model.label_documents(documents).sentences)
evaluator, predict_batch, read = Evaluator(model, documents), Predictor.predict_batch, []
Predictor.predict_batch = lambda self, batch: (read.append(len(batch)), predict_batch(self, batch))[1]

def results():
    vectors, sentences = model.span_vectors(corpus)
    vectors = [vectors] if isinstance(vectors, torch.Tensor) else [vectors.begins, vectors.steps]
    return [*vectors, sentences], evaluator.evaluate()

alone, scores = results()
whole = sum(read)
read.clear()
with shared_out():
    together, shared_scores = results()
    few = share(["one"])
json.dump({
    "processes": process.num_processes,
    "is_equal": all(torch.equal(a, b) for a, b in zip(alone, together, strict=True)),
    "is_scored_alike": scores.to_dict() == shared_scores.to_dict() and scores.predicted == shared_scores.predicted,
    "share": sum(read) / whole,
    "few": [few.items, few.is_shared],
}, open(f"{sys.argv[3]}-{process.process_index}.json", "w"))
end_together()
"""


@pytest.mark.parametrize("name", ["instance", "classifier"])
def test_what_is_shared_out_is_what_one_process_gives(folders, documents, tmp_path: Path, name: str):
    (tmp_path / "work.py").write_text(WORK)
    nearspan.write(documents, tmp_path / "gold.jsonl")
    command = [
        sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", tmp_path / "work.py",
        folders[name], tmp_path / "gold.jsonl", tmp_path / "found",
    ]  # fmt: skip
    settings = {
        "PYTHONPATH": str(Path(nearspan.__file__).parents[1]),
        "OMP_NUM_THREADS": "1",
        "ACCELERATE_USE_CPU": "1",
    }
    environment = {**os.environ, **settings, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        list(map(str, command)), env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = [json.loads((tmp_path / f"found-{rank}.json").read_text()) for rank in range(2)]
    for each in found:
        assert each["processes"] == 2
        assert each["is_equal"]
        assert each["is_scored_alike"]
        assert 0.2 < each["share"] < 0.8
        assert each["few"] == [["one"], False]
    assert sum(each["share"] for each in found) == pytest.approx(1.0)
