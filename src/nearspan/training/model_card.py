"""The model card: a README.md that says what a model was made of and what it scores."""

from __future__ import annotations

from nearspan.config import Recipe
from nearspan.evaluation import ClassificationScores, Evaluation
from nearspan.training.data import TrainingData
from nearspan.training.run import Run


def card(run: Run, data: TrainingData) -> str:
    """The card's text, in Markdown."""
    recipe = run.model.recipe
    about = run.to_dict()
    results = [(name, result) for name, result in (("dev", run.dev), ("test", run.test)) if result is not None]
    scores = "\n".join([_head(results[0][1]), *(_row(*pair) for pair in results)]) if results else "Not evaluated."
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
{_example(recipe)}
```
"""


def _example(recipe: Recipe) -> str:
    """Why, asked in a way that this model can answer."""
    text = '"Some text."'
    if recipe.suggester.kind == "given":  # spans are given, with whatever label
        text = 'nearspan.markup("[Some](LABEL) text.")'
    found = "neighbours"
    if (
        recipe.encoder.word_memory is not None and recipe.head.kind != "instances"
    ):  # look-alikes, or what words recalled
        found = "neighbours or evidence.recalled"
    return f"""for evidence in model.explain({text}):
    print(evidence.text, evidence.label, evidence.{found})"""


def _head(result: Evaluation) -> str:
    """The head of the table of scores; typing has one of its own."""
    if isinstance(result.scores, ClassificationScores):
        note = "Entities are given and only their labels are predicted: these are no scores of entity recognition.\n\n"
        head = "| split | typing accuracy | typing macro-F1 | majority by string: accuracy | its macro-F1 | coverage |"
        return f"{note}{head}\n|---|---|---|---|---|---|"
    return "| split | precision | recall | F1 | coverage |\n|---|---|---|---|---|"


def _row(name: str, result: Evaluation) -> str:
    values: tuple[float, ...]
    if isinstance(result.scores, ClassificationScores):
        pairs = [result.scores, *([result.baseline] if result.baseline else [])]
        values = tuple(value for one in pairs for value in (one.accuracy, one.macro))
    else:
        values = (result.scores.precision, result.scores.recall, result.scores.f1)
    return f"| {name} | " + " | ".join(f"{100 * value:.2f}" for value in values) + f" | {result.coverage} |"
