"""Every span system joins fragments: deep and pooled spans, ends, a bottleneck with many labels, instances, pieces."""

from pathlib import Path

import pytest

import nearspan
from nearspan.evaluation import evaluate

SENTENCES = (
    "[Adas](PERSON#1) and [Bobsy [Stone](PERSON#1)](PERSON) left",
    "[Bobsy](PERSON#1) and [Adas [Moon](PERSON#1)](PERSON) met in [Oslosx](PLACE)",
    "they met [Eves](PERSON#1) and [Bobsy [Moon](PERSON#1)](PERSON) here",
    "[Eves](PERSON#1) and [Adas [Stone](PERSON#1)](PERSON) went to [New Yorkx](PLACE)",
    "[Adas Moon](PERSON) and the rain",
    "nobody left [Oslosx](PLACE) for [Romed](PLACE)",
)
SMALL = (
    "training.batch=3",
    "training.epochs=60",
    "training.optimizer=adam",
    "training.learning_rate=0.01",
    "encoder.transformer.learning_rate=0.002",
    "encoder.transformer.dropout=0.0",
    "encoder.transformer.overlap=4",
    "suggester.max_width=5",
    "fragment_linker.dropout=0",
)
READER = (
    "representation.projection.size=12",
    "representation.projection.dropout=0.0",
    "representation.projection.vector_dropout=0.0",
    "representation.projection.bilstm.size=6",
    "representation.projection.bilstm.dropout=0.0",
    "representation.dropout=0.0",
)
ENDS = (
    "representation.end_size=8",
    "representation.dropout=0.0",
    "representation.end_dropout=0.0",
    "encoder.bilstm.size=6",
    "encoder.bilstm.dropout=0.0",
)
SYSTEMS = {
    "deep": ("dspert", READER),
    "pooled": ("shallow", READER),
    "pieces": ("shallow", (*READER, "suggester.unit=pieces", "suggester.max_width=6")),
    "ends": ("biaffine", ENDS),
    "instances": ("shallow", (*READER, "head.kind=instances", "head.neighbours=2", "losses.boundary_smoothing=none")),
    "bottleneck": ("shallow", (*READER, "head.kind=sigmoid", "losses.boundary_smoothing=none", "bottleneck.size=12")),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_fragments_are_joined_and_known_again_after_loading(encoders, tmp_path: Path, name: str):
    documents = [nearspan.markup(text) for text in SENTENCES]
    recipe, settings = SYSTEMS[name]
    chosen = nearspan.recipe(recipe).override([f'encoder.transformer.name="{encoders["bert"]}"', *SMALL, *settings])
    trained = nearspan.train(chosen, documents, out=tmp_path / name, device="cpu").model
    evaluation = evaluate(trained, documents)
    assert evaluation.discontinuous["entities"].f1 > 0.6
    model = nearspan.load(tmp_path / name, device="cpu")
    assert evaluate(model, documents).to_dict() == evaluation.to_dict()
    document, span = next((d, e.span) for d in evaluation.predicted for e in d.entities if e.span.discontinuous)
    [evidence] = [entity for entity in model.explain(document) if entity.span == span]
    assert evidence.label == "PERSON"
    assert all(near.span.discontinuous for near in evidence.neighbours["PERSON"])
