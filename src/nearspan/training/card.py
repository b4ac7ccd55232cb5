"""The model card: a README.md that says what a model was made of and what it scores."""

from __future__ import annotations

import platform

import torch

from nearspan.evaluation import Evaluation
from nearspan.recipes import Recipe
from nearspan.training.checkpoint import Progress
from nearspan.training.data import TrainingData


def card(
    recipe: Recipe, data: TrainingData, seed: int, progress: Progress, dev: Evaluation | None, test: Evaluation | None
) -> str:
    """The card's text, in Markdown."""
    rows = "\n".join(_row(name, result) for name, result in (("dev", dev), ("test", test)) if result is not None)
    scores = f"| split | precision | recall | F1 | coverage |\n|---|---|---|---|---|\n{rows}" if rows else "Not evaluated."
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else f"{platform.machine()} CPU"
    return f"""# A nearspan model: {recipe.name}

{recipe.about}

- Labels: {", ".join(data.labels)}
- Training data: {data.coverage}
- Data fingerprint: `{data.fingerprint()}`
- Seed {seed}, best epoch {progress.best_epoch} of {progress.epoch}, {progress.seconds:.0f} s on {device}, torch {torch.__version__}
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
