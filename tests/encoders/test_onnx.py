"""ONNX Runtime gives what torch gives, with the memory and the evidence as ever."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("onnxscript")
import numpy
import onnxruntime
from tokenizers import Tokenizer

import nearspan
from nearspan.errors import ConfigError, ModelError
from nearspan.integrations.onnx import export
from nearspan.integrations.onnx.runtime import OnnxEncoder

SMALL = ("training.epochs=2", "training.batch=4", "encoder.transformer.overlap=4", "suggester.max_width=4")
PLAIN = ("encoder.bilstm=none", "fragment_linker=none", "representation.end_size=8")
MEMORY = (
    "encoder.characters=none",
    "encoder.bilstm.size=8",
    "representation.size=8",
    "head.neighbours=4",
    "encoder.transformer.layers=0",
)
SYSTEMS = {
    "biaffine": ("bert", "biaffine", PLAIN),
    "dspert, all layers": ("roberta", "dspert", ("fragment_linker=none",)),
    "instance, frozen": ("deberta", "start", (*MEMORY, "encoder.transformer.layers=0")),
    "biaffine, lowest layers frozen": ("bert", "biaffine", (*PLAIN, "encoder.transformer.frozen_layers=1")),
}


@pytest.fixture(scope="module", params=SYSTEMS)
def folder(request, encoders, documents, tmp_path_factory):
    """A model with a pretrained encoder, exported."""
    encoder, recipe, settings = SYSTEMS[request.param]
    out = tmp_path_factory.mktemp("models") / "model"
    chosen = nearspan.recipe(recipe).override([f'encoder.transformer.name="{encoders[encoder]}"', *SMALL, *settings])
    nearspan.train(chosen, documents, documents, out=out, device="cpu")
    export(nearspan.load(out))
    return out


def test_entities_scores_and_evidence_are_those_of_torch(folder, documents):
    texts = [document.text for document in documents] + ["Ada x1y lives in new york " * 9, ""]
    model, other = nearspan.load(folder, "cpu"), nearspan.load(folder, runtime="onnx")
    assert isinstance(other.network.encoder.transformer.reader[0], OnnxEncoder)
    expected, found = list(model.pipe(texts)), list(other.pipe(texts))
    assert found == expected
    scores = [[entity.score for document in each for entity in document.entities] for each in (found, expected)]
    in_halves = model.network.encoder.transformer.split is not None  # torch keeps the states of frozen layers so
    near = 1e-3 if in_halves else 1e-4
    assert scores[0] == pytest.approx(scores[1], abs=near)
    text = "Ada lives in Oslo"
    evidence = [each.explain_span(text, nearspan.Span.of(0, 3)) for each in (model, other)]
    assert evidence[0].probabilities == pytest.approx(evidence[1].probabilities, abs=near)
    assert evidence[0].neighbours.keys() == evidence[1].neighbours.keys()


@pytest.fixture(scope="module")
def biaffine(encoders, documents, tmp_path_factory):
    """A model whose word states are its encoder's alone."""
    out = tmp_path_factory.mktemp("models") / "model"
    settings = [f'encoder.transformer.name="{encoders["bert"]}"', "encoder.transformer.pooling=mean", *SMALL, *PLAIN]
    nearspan.train(nearspan.recipe("biaffine").override(settings), documents, documents, out=out, device="cpu")
    export(nearspan.load(out))
    return out


def test_the_graphs_are_enough_for_a_server_without_nearspan(biaffine):
    encoder, scorer = (
        onnxruntime.InferenceSession(biaffine / "onnx" / f"{name}.onnx") for name in ("encoder", "spans")
    )
    text = "Ada lives in Oslo"
    pieces = Tokenizer.from_file(str(biaffine / "encoder" / "tokenizer.json")).encode(
        text.split(), is_pretokenized=True
    )
    ids = numpy.array([pieces.ids])
    (states,) = encoder.run(None, {"input_ids": ids, "attention_mask": numpy.ones_like(ids)})
    of_word = [[at for at, word in enumerate(pieces.word_ids) if word == number] for number in range(4)]
    words = numpy.stack([states[0, positions, -1].mean(0) for positions in of_word])[None]
    spans = numpy.array([[0, first, stop] for first in range(4) for stop in range(first + 1, 5)])
    (probabilities,) = scorer.run(None, {"words": words, "spans": spans})
    model = nearspan.load(biaffine, "cpu")
    offsets = [(0, 3), (4, 9), (10, 12), (13, 17)]
    for (_, first, stop), row in zip(spans, probabilities, strict=True):
        expected = model.explain_span(text, nearspan.Span.of(offsets[first][0], offsets[stop - 1][1])).probabilities
        assert dict(zip(model.labels, row.tolist(), strict=True)) == pytest.approx(expected, abs=1e-4)


def test_graphs_of_other_weights_or_damaged_ones_are_refused(biaffine, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(biaffine, copy)
    (copy / "onnx" / "spans.onnx").write_bytes(b"")
    with pytest.raises(ModelError, match=r"spans\.onnx is not as it was exported"):
        nearspan.load(copy, runtime="onnx")
    about = copy / "onnx" / "onnx.json"
    about.write_text(json.dumps(json.loads(about.read_text()) | {"weights": "others"}))
    with pytest.raises(ModelError, match="of other weights"):
        nearspan.load(copy, runtime="onnx")
    about.unlink()
    with pytest.raises(ModelError, match=r"write them with .nearspan export"):
        nearspan.load(copy, runtime="onnx")


def test_what_a_runtime_cannot_do_is_said(biaffine, instance):
    with pytest.raises(ConfigError, match="in float32"):
        nearspan.load(biaffine, runtime="onnx", precision="bf16")
    with pytest.raises(ConfigError, match="known: onnx, torch"):
        nearspan.load(biaffine, runtime="tensorrt")
    with pytest.raises(ConfigError, match="nothing to export"):
        export(instance)


def test_workers_compute_with_it_too(biaffine, documents):
    model = nearspan.load(biaffine, runtime="onnx")
    texts = [document.text for document in documents]
    assert list(model.pipe(texts, workers=2)) == list(model.pipe(texts, workers=1))


def test_nothing_is_reported_to_anybody(biaffine, tmp_path):
    code = f"import nearspan; print(nearspan.load({str(biaffine)!r}, runtime='onnx')('Ada left').text)"
    environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    places = dict.fromkeys(("HOME", "XDG_CACHE_HOME"), str(tmp_path))
    source = str(Path(nearspan.__file__).parents[1])
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={**environment, **places, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert ran.stdout == "Ada left\n"
    assert list(tmp_path.rglob("*onnxruntime*")) == []


def test_the_commands_write_and_use_the_graphs(nearspan_command, biaffine, tmp_path):
    ran = nearspan_command("export", biaffine, "--onnx", "--out", tmp_path / "graphs")
    assert ran.code == 0, ran.err
    assert sorted(path.name for path in (tmp_path / "graphs").iterdir()) == ["encoder.onnx", "onnx.json", "spans.onnx"]
    torch_lines, onnx_lines = (
        nearspan_command("annotate", biaffine, "--runtime", runtime, stdin=b"Ada lives in Oslo").out
        for runtime in ("torch", "onnx")
    )
    assert json.loads(onnx_lines)["text"] == json.loads(torch_lines)["text"]
    assert "name what to write" in nearspan_command("export", biaffine).err
