"""`nearspan` whose training keeps no checkpoints and next to nothing to show as evidence.

Many runs are scored and thrown away: none of them is resumed or asked.

python benchmarks/lean.py train ...
"""

from __future__ import annotations

import sys

from nearspan.cli import main
from nearspan.training import TrainingCallback, loop

if __name__ == "__main__":
    loop.EVIDENCE = 2**20
    TrainingCallback.keeps_checkpoints = False
    sys.argv[0] = "nearspan"
    main()
