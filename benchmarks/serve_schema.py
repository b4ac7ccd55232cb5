"""A server against its own OpenAPI description: generated requests, and what in the answers is not as described.

    nearspan demo && python -m venv .venv-schema && .venv-schema/bin/pip install schemathesis
    python benchmarks/serve_schema.py runs/demo [--schemathesis .venv-schema/bin/st] [--examples 300] [--out FILE]

All checks of schemathesis run over all routes with the token for editing, on a copy of the model. Mismatches are what
any of them finds, such as a status, a content type or a body that is not described, a 5xx, or bad data that is taken.
Three checks are listed but not counted. A schema cannot say that a span lies inside its text, so that requests which it
allows are refused. `DELETE /memory/log` is read as `DELETE /memory/{sentence}`: 422, not 405. `Allow` names the methods
of one route of a path, not of all.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from serve_abuse import EDIT_TOKEN, Server

from nearspan.formats import sample

OF_REQUESTS = {"RejectedPositiveData", "UnsupportedMethodResponse", "AllowHeaderMismatch"}


def run(server: Server, schemathesis: Path, examples: int, seed: int, report: Path) -> dict[str, Any]:
    command = [str(schemathesis), "run", f"http://127.0.0.1:{server.port}/openapi.json"]
    command += ["--header", f"Authorization: Bearer {EDIT_TOKEN}", "--checks", "all", "--continue-on-failure"]
    command += ["--max-examples", str(examples), "--seed", str(seed), "--generation-database", "none"]
    subprocess.run([*command, "--report", "json", "--report-json-path", str(report)], stdout=sys.stderr)
    return json.loads(report.read_text())


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model", type=Path)
    arguments.add_argument("--schemathesis", type=Path, default=Path(".venv-schema/bin/st"))
    arguments.add_argument("--examples", type=int, default=300, help="generated for each route, beside those of edges")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--out", type=Path)
    options = arguments.parse_args()
    git = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copytree(options.model, Path(folder) / "model")
        server = Server(copy, "--corpus", str(sample.path("test")))
        try:
            report = run(server, options.schemathesis, options.examples, options.seed, Path(folder) / "report.json")
            exit_code = server.end()
        finally:
            server.process.kill()
    failures = {f"{each['type']}: {each['title']}": each["operations"] for each in report["failures"]}
    result = {
        "command": " ".join(["python benchmarks/serve_schema.py", *sys.argv[1:]]),
        "commit": subprocess.run(git, capture_output=True, text=True).stdout.strip(),
        "hardware": f"CPU, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "schemathesis": report["schemathesis_version"],
        "seed": options.seed,
        "complete": report["complete"],
        "seconds": round(report["running_time"], 1),
        "operations": report["operations"]["tested"],
        "cases": report["test_cases"]["generated"],
        "errors": report["errors"],
        "mismatches": sum(each["count"] for each in report["failures"] if each["type"] not in OF_REQUESTS),
        "failures_of_all_checks": failures,
        "exit_code_of_the_server": exit_code,
    }
    print(json.dumps(result, indent=1))
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
