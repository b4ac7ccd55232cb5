"""A finished training, the record of it, and the card of its model."""

import json
import platform
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from nearspan.evaluation import Evaluation
from nearspan.io.atomic import write_file
from nearspan.io.model_folder import RESULT
from nearspan.model import Model
from nearspan.training.data import TrainingData

THIS_FOLDER = "path/to/this/folder"
HOLDS_TEXT = """\
The memory (`memory.jsonl`, `memory.safetensors`) holds the training sentences themselves: share this folder only
where you may share them."""

GIVEN = "Entities are given and only their labels are predicted: these are no scores of entity recognition.\n\n"


@dataclass(frozen=True)
class Run:
    """A trained model, how it came about and what it scores."""

    model: Model
    seed: int
    fingerprint: str  # of the training data
    best_epoch: int
    epochs: int
    seconds: float  # spent on training, development scoring included
    dev: Evaluation | None
    test: Evaluation | None
    processes: int = 1
    main: bool = True  # whether this process saved the model
    origin: str = ""  # what a warm start began with, and what became of it

    def __repr__(self) -> str:
        results = (("dev", self.dev), ("test", self.test))
        scores = [f"{split} {result.measure} {100 * result.value:.2f}" for split, result in results if result]
        epochs = f"best epoch {self.best_epoch} of {self.epochs}"
        return f"Run({', '.join([self.model.recipe.name, epochs, *scores])})"

    def to_dict(self) -> dict[str, Any]:
        """Everything needed to tell this run from another."""
        gpu = self.model.device.type == "cuda"
        return {
            "recipe": self.model.recipe.model_dump(exclude_none=True),
            "command": [Path(sys.argv[0]).name.replace("__main__.py", "nearspan"), *sys.argv[1:]],
            "seed": self.seed,
            "data": self.fingerprint,
            **({"origin": self.origin} if self.origin else {}),
            "best_epoch": self.best_epoch,
            "epochs": self.epochs,
            "processes": self.processes,
            "seconds": round(self.seconds, 1),
            "hardware": torch.cuda.get_device_name() if gpu else platform.machine(),
            "torch": torch.__version__,
            "dev": self.dev.to_dict() if self.dev else None,
            "test": self.test.to_dict() if self.test else None,
        }

    def write(self, folder: Path) -> None:
        """Write `result.json`."""
        content = json.dumps(self.to_dict(), indent=1, ensure_ascii=False)
        write_file(folder / RESULT, [content.encode("utf-8", "backslashreplace").decode("utf-8")])


def model_card(run: Run, data: TrainingData) -> str:
    """A README.md that says what a model was trained on and what it scores."""
    recipe, record = run.model.recipe, run.to_dict()
    origin = f"\n- Warm start: {run.origin}" if run.origin else ""
    return f"""# A nearspan model: {recipe.name}

{recipe.about}

- Labels: {", ".join(data.labels)}
- Training data: {data.coverage}
- Data fingerprint: `{run.fingerprint}`
- Seed {run.seed}, best epoch {run.best_epoch} of {run.epochs}
- Trained in {run.seconds:.0f} s on {record["hardware"]} with torch {record["torch"]}
- Settings: `config.toml`{origin}

{_scores(run)}

{HOLDS_TEXT}

{card_example(run.model, THIS_FOLDER)}
"""


def card_example(model: Model, name: str, memory: bool = True) -> str:
    """Code that loads a model and asks it for evidence, or for entities where it has no memory to take any from."""
    ask = _ask_for_evidence(model) if memory else f"print(model({_example_text(model)}).entities)"
    return f"""```python
import nearspan

model = nearspan.load("{name}")
{ask}
```"""


def _example_text(model: Model) -> str:
    return 'nearspan.markup("[Some](LABEL) text.")' if model.classifies_given_spans else '"Some text."'


def _ask_for_evidence(model: Model) -> str:
    """Code that asks for evidence in a way that this model can answer."""
    recalls = model.network.encoder.word_memory is not None and not model.network.head.uses_datastore
    evidence = "neighbours or evidence.recalled" if recalls else "neighbours"  # similar spans, or what words recalled
    return f"""for evidence in model.explain({_example_text(model)}):
    print(evidence.text, evidence.label, evidence.{evidence})"""


def _scores(run: Run) -> str:
    """A table of scores, a row for each split that was evaluated."""
    splits = {name: result for name, result in (("dev", run.dev), ("test", run.test)) if result is not None}
    if not splits:
        return "Not evaluated."
    table = []
    for name, result in splits.items():
        baseline = result.baseline.metrics() if result.baseline else {}
        measures = result.scores.metrics() | {f"majority by string: {key}": value for key, value in baseline.items()}
        titles = [key.replace("_", " ").replace("f1", "F1") for key in measures]
        table.append([name, *(f"{100 * value:.2f}" for value in measures.values()), str(result.coverage)])
    head = ["split", *titles, "coverage"]
    rows = [f"| {' | '.join(cells)} |" for cells in (head, *table)]
    rows.insert(1, "|---" * len(head) + "|")
    return (GIVEN if run.model.classifies_given_spans else "") + "\n".join(rows)
