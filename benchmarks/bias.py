"""What the bias of the span projection is worth: the classifier with and without it, and nothing else changed.

    python benchmarks/bias.py TRAIN DEV [--vectors F] [--epochs 12] [--seeds 1 2] [--out results.json]

Without: the bias of `spans/lstm_minus.py` stays at 0, where it begins. Development F1 of the best epoch.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any, Literal

import nearspan
from nearspan.spans.lstm_minus import LstmMinus, LstmMinusSettings


class UnbiasedSettings(LstmMinusSettings):
    kind: Literal["unbiased_lstm_minus"] = "unbiased_lstm_minus"  # type: ignore[assignment]


class UnbiasedLstmMinus(LstmMinus):
    """LSTM-minus whose bias is 0 and stays so."""

    Settings = UnbiasedSettings

    def __init__(self, settings: UnbiasedSettings, inputs: int) -> None:
        super().__init__(settings, inputs)
        self.minus.bias.requires_grad_(False)


nearspan.register("representation", UnbiasedLstmMinus)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("train", type=Path)
    arguments.add_argument("dev", type=Path)
    arguments.add_argument("--vectors", default="")
    arguments.add_argument("--epochs", type=int, default=12)
    arguments.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    arguments.add_argument("--out", type=Path)
    options = arguments.parse_args()
    train, dev = (nearspan.read(path).documents for path in (options.train, options.dev))
    settings = [f"training.epochs={options.epochs}", "training.batch=16", "training.learning_rate=0.002"]
    recipe = nearspan.recipe("classifier-paper").override([*settings, f"encoder.vectors.file={options.vectors}"])
    unbiased = UnbiasedSettings(**recipe.representation.model_dump(exclude={"kind"}))
    recipes = {"with": recipe, "without": recipe.model_copy(update={"representation": unbiased})}
    rows: list[dict[str, Any]] = []
    for seed in options.seeds:
        for name, variant in recipes.items():
            with tempfile.TemporaryDirectory() as folder:
                run = nearspan.train(variant, train, dev, out=Path(folder) / "run", seed=seed, device="cpu")
            assert run.dev is not None
            f1 = round(100 * run.dev.scores.f1, 2)
            rows.append(
                {"bias": name, "seed": seed, "dev_f1": f1, "best_epoch": run.best_epoch, "data": run.fingerprint}
            )
            print(rows[-1], flush=True)
    if options.out:
        options.out.write_text(json.dumps({"settings": settings, "runs": rows}, indent=1))


if __name__ == "__main__":
    main()
