"""`nearspan` whose training keeps next to nothing to show as evidence, and unless told no checkpoints.

Many runs are scored and thrown away: none of them is asked.

    python benchmarks/lean.py [--checkpoints] train ...
"""

from __future__ import annotations

import sys

from nearspan.cli import main
from nearspan.training import TrainingCallback, loop

if __name__ == "__main__":
    loop.EVIDENCE = 2**20
    TrainingCallback.keeps_checkpoints = "--checkpoints" in sys.argv[1:2]
    sys.argv[:] = ["nearspan", *sys.argv[1 + TrainingCallback.keeps_checkpoints :]]
    main()
