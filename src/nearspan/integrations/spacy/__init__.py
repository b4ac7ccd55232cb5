"""A nearspan model in a spaCy pipeline: `nlp.add_pipe("nearspan", config={"model": "runs/mine"})`.

spaCy imports this module through its entry point whenever a pipeline is made, so neither torch nor a model is loaded
here.
"""

from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, Span

from nearspan.integrations.spacy.annotations import discontinuous
from nearspan.integrations.spacy.component import NearspanComponent
from nearspan.integrations.spacy.evidence import evidence

__all__ = ["NearspanComponent", "make_component"]

Span.set_extension("evidence", getter=evidence, force=True)
Doc.set_extension("discontinuous", getter=discontinuous, force=True)


@Language.factory(
    "nearspan",
    assigns=["doc.spans", "doc.ents", "doc._.discontinuous", "span._.evidence"],
    default_config={
        "model": "",
        "revision": "",
        "device": "",
        "threshold": None,
        "spans_key": "nearspan",
        "set_ents": True,
    },
    default_score_weights={"spans_nearspan_f": 1.0, "spans_nearspan_p": 0.0, "spans_nearspan_r": 0.0},
)
def make_component(
    nlp: Language,  # noqa: ARG001
    name: str,
    model: str,
    revision: str,
    device: str,
    threshold: float | dict[str, float] | None,
    spans_key: str,
    set_ents: bool,
) -> Any:
    """The component of a model, which is a folder or the id of one on the Hugging Face hub."""
    return NearspanComponent(name, model, revision, device, threshold, spans_key, set_ents)
