"""`nearspan` whose training keeps next to nothing to show as evidence, and unless told no checkpoints.

Many runs are scored and thrown away: none of them is asked.

    python benchmarks/lean.py [--checkpoints] [--part N] train ...

`--part` reads so many sentences of a batch of all of them at once: more of them are quicker on a GPU.
"""

from __future__ import annotations

import argparse
import sys

from nearspan import cli
from nearspan.training import TrainingCallback, loop, trainer


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--checkpoints", action="store_true")
    arguments.add_argument("--part", type=int, default=trainer.PART)
    arguments.add_argument("command", nargs=argparse.REMAINDER)
    options = arguments.parse_args()
    loop.EVIDENCE = 2**20
    TrainingCallback.keeps_checkpoints = options.checkpoints
    trainer.PART = options.part
    sys.argv[:] = ["nearspan", *options.command]
    cli.main()


if __name__ == "__main__":
    main()
