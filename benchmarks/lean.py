"""`nearspan` whose training keeps next to nothing to show as evidence: many runs are scored and thrown away.

python benchmarks/lean.py train ...
"""

from __future__ import annotations

import sys

from nearspan.cli import main
from nearspan.training import loop

if __name__ == "__main__":
    loop.EVIDENCE = 2**20
    sys.argv[0] = "nearspan"
    main()
