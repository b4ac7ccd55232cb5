"""The model card: a README.md that says what a model was made of and what it scores."""

from __future__ import annotations

from nearspan.evaluation import Evaluation
from nearspan.training.data import TrainingData
from nearspan.training.run import Run


def card(run: Run, data: TrainingData) -> str:
    """The card's text, in Markdown."""
    recipe = run.model.recipe
    about = run.as_dict()
    rows = "\n".join(
        _row(name, result) for name, result in (("dev", run.dev), ("test", run.test)) if result is not None
    )
    scores = (
        f"| split | precision | recall | F1 | coverage |\n|---|---|---|---|---|\n{rows}" if rows else "Not evaluated."
    )
    return f"""# A nearspan model: {recipe.name}

{recipe.about}

- Labels: {", ".join(data.labels)}
- Training data: {data.coverage}
- Data fingerprint: `{run.fingerprint}`
- Seed {run.seed}, best epoch {run.best_epoch} of {run.epochs}
- Trained in {run.seconds:.0f} s on {about["hardware"]} with torch {about["torch"]}
- Settings: `config.toml`

{scores}

The memory (`memory.jsonl`, `memory.safetensors`) holds the training sentences themselves: share this folder only
where you may share them.

```python
import nearspan

model = nearspan.load("path/to/this/folder")
for evidence in model.explain("Some text."):
    print(evidence.text, evidence.label, evidence.neighbours)
```
"""


def _row(name: str, result: Evaluation) -> str:
    scores = result.scores
    values = (scores.precision, scores.recall, scores.f1)
    return f"| {name} | " + " | ".join(f"{100 * value:.2f}" for value in values) + f" | {result.coverage} |"
