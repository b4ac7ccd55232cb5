"""The model card: a README.md that says what a model was trained on and what it scores."""

from __future__ import annotations

from nearspan.evaluation import Evaluation
from nearspan.model import Model
from nearspan.training.data import TrainingData
from nearspan.training.run import Run

GIVEN = "Entities are given and only their labels are predicted: these are no scores of entity recognition.\n\n"


def card(run: Run, data: TrainingData) -> str:
    """The card's text, in Markdown."""
    recipe, record = run.model.recipe, run.to_dict()
    return f"""# A nearspan model: {recipe.name}

{recipe.about}

- Labels: {", ".join(data.labels)}
- Training data: {data.coverage}
- Data fingerprint: `{run.fingerprint}`
- Seed {run.seed}, best epoch {run.best_epoch} of {run.epochs}
- Trained in {run.seconds:.0f} s on {record["hardware"]} with torch {record["torch"]}
- Settings: `config.toml`

{_scores(run)}

The memory (`memory.jsonl`, `memory.safetensors`) holds the training sentences themselves: share this folder only
where you may share them.

```python
import nearspan

model = nearspan.load("path/to/this/folder")
{_example(run.model)}
```
"""


def _example(model: Model) -> str:
    """Code that asks for evidence in a way that this model can answer."""
    text = 'nearspan.markup("[Some](LABEL) text.")' if model.classifies_given_spans else '"Some text."'
    recalls = model.network.encoder.word_memory is not None and not model.network.head.uses_datastore
    evidence = "neighbours or evidence.recalled" if recalls else "neighbours"  # similar spans, or what words recalled
    return f"""for evidence in model.explain({text}):
    print(evidence.text, evidence.label, evidence.{evidence})"""


def _scores(run: Run) -> str:
    """A table of scores, a row for each split that was evaluated."""
    splits = {name: result for name, result in (("dev", run.dev), ("test", run.test)) if result is not None}
    if not splits:
        return "Not evaluated."
    rows = {name: _columns(result) for name, result in splits.items()}
    titles = ["split", *next(iter(rows.values())), "coverage"]
    lines = [_row(titles), "|---" * len(titles) + "|"]
    lines += [
        _row([name, *(f"{100 * value:.2f}" for value in rows[name].values()), str(result.coverage)])
        for name, result in splits.items()
    ]
    return (GIVEN if run.model.classifies_given_spans else "") + "\n".join(lines)


def _columns(result: Evaluation) -> dict[str, float]:
    """Measures by their titles: those of the model, and those of the baseline where there is one."""
    measures = {_title(name): value for name, value in result.scores.metrics().items()}
    baseline = result.baseline.metrics() if result.baseline else {}
    return measures | {f"majority by string: {_title(name)}": value for name, value in baseline.items()}


def _title(name: str) -> str:
    return name.replace("_", " ").replace("f1", "F1")


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
