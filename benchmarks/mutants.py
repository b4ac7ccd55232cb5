"""Do the tests bite? Change the source at random places, one at a time, and count how many changes fail a test.

    pip install cosmic-ray
    python benchmarks/mutants.py trace --out trace.json
    python benchmarks/mutants.py draw --count 150 --seed 22 --out mutants.json
    python benchmarks/mutants.py run --trace trace.json --mutants mutants.json --out benchmarks/results/mutants.json

`trace` runs TESTS once, or others that are named, and notes which lines of FILES each of them reaches, and how long it
takes.

`draw` picks places of the source with equal chance, and for each one of cosmic-ray's changes: other operators and
comparisons, `not`, numbers one off, True for False, loops that do not begin, lost decorators, exceptions that are not
caught. Annotations are no such place, because nothing evaluates them, and an operator is changed for one of its kind:
`a & b` for `a + b` would only be an error of types.

`run` makes each change in a copy of the repository and runs the tests that reach its line, the quickest first, until
one fails. A change outside functions is tested with all that reaches its file or bears its name. Where a test takes far
longer than it should, an endless loop, the change counts as killed. A run that was stopped goes on where it was.

`--seconds` is how much of the tests' time, as traced, a change gets at most: 60 unless told. `--again` runs only what
survived so far, with more seconds or with new tests, which have to be traced first.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from inspect import CO_OPTIMIZED
from itertools import accumulate
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
FILES = ("knn/*.py", "heads/*.py", "model/*.py", "memory/*.py", "spans/fragments.py")
PACKAGES = ("knn", "heads", "model", "memory", "spans")
DEFAULTS = "tests/test_docs.py::test_every_setting_is_on_the_settings_page_with_its_default"
TESTS = (
    *(f"{root}/{package}" for package in PACKAGES for root in ("tests", "src/nearspan")),
    "tests/explain",
    "tests/plugin",
    "tests/parity",
    "tests/report/test_audit.py",
    "tests/training/test_span_classification.py",
    DEFAULTS,
)
KINDS = (  # of operators that take each other's place
    {"Add", "Sub", "Mul", "Div", "FloorDiv", "Mod", "Pow"},
    {"BitOr", "BitAnd", "BitXor", "LShift", "RShift"},
    {"Eq", "NotEq", "Lt", "LtE", "Gt", "GtE"},
    {"Is", "IsNot"},
    {"UAdd", "USub", "Not", "Invert", "Delete"},
    {"In", "NotIn"},
)
CALLS = 40  # of a function in a test whose lines are noted: tracing all would take many times as long
PATIENCE = (30, 10)  # a test may take so many seconds, and so many times what it took when it was traced
MEMORY = 12 * 2**30


def sources() -> list[Path]:
    """The files to change, relative to the repository."""
    package = ROOT / "src" / "nearspan"
    return [path.relative_to(ROOT) for pattern in FILES for path in sorted(package.glob(pattern))]


class Trace:
    """A pytest plugin that notes the lines that each test reaches in functions of some files."""

    def __init__(self, files: list[Path]) -> None:
        self.files = {str(ROOT / file): str(file) for file in files}
        self.reached: list[set[tuple[str, int]]] = []  # of the test and of fixtures being set up within it
        self.fixtures: dict[str, tuple[set[tuple[str, int]], float]] = {}  # those that outlive a test
        self.tests: dict[str, dict[str, Any]] = {}
        self.failed: set[str] = set()
        self.asked: set[str] = set()  # fixtures of the test that runs
        self.calls: Counter[CodeType] = Counter()  # of the test or fixture that runs

    def __call__(self, frame: FrameType, *_: Any) -> Any:
        file = self.files.get(frame.f_code.co_filename)
        if file is None or not frame.f_code.co_flags & CO_OPTIMIZED:
            return None
        self.calls[frame.f_code] += 1
        if self.calls[frame.f_code] > CALLS:
            return None

        def line(frame: FrameType, *_: Any) -> Any:
            for reached in self.reached[-1:]:
                reached.add((file, frame.f_lineno))
            return line

        return line(frame)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        """Lines of a fixture that outlives a test belong to all tests that ask for it."""
        if fixturedef.scope == "function":
            return (yield)
        self.reached.append(set())
        self.calls.clear()
        began = time.perf_counter()
        try:
            return (yield)
        finally:
            self.fixtures[fixturedef.argname] = (self.reached.pop(), time.perf_counter() - began)
            self.calls.clear()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        """Trace a test from its set-up on."""
        lasting_before = sum(seconds for _, seconds in self.fixtures.values())
        self.reached, began = [set()], time.perf_counter()
        self.calls.clear()
        sys.settrace(self)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            lasting = sum(seconds for _, seconds in self.fixtures.values())
            seconds = time.perf_counter() - began - (lasting - lasting_before)
            lines = self.reached[0]
            for name in sorted(self.asked & set(self.fixtures)):
                lines, seconds = lines | self.fixtures[name][0], seconds + self.fixtures[name][1]
            by_file: dict[str, list[int]] = {}
            for file, number in sorted(lines):
                by_file.setdefault(file, []).append(number)
            self.tests[item.nodeid] = {"seconds": round(seconds, 3), "lines": by_file}

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A test that fails as it is would kill every change."""
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_runtest_teardown(self, item: Any) -> None:
        """Note the fixtures, those too that other fixtures asked for by name."""
        self.asked = {*item.fixturenames, *item._request._fixture_defs}


def trace(out: Path, paths: list[str]) -> None:
    """Write which lines the tests reach."""
    sys.path.insert(0, str(ROOT / "src"))
    os.chdir(ROOT)
    plugin = Trace(sources())
    code = pytest.main(["-q", "-p", "no:cacheprovider", *(paths or TESTS)], plugins=[plugin])
    tests = {name: test for name, test in plugin.tests.items() if name not in plugin.failed}
    out.write_text(json.dumps({"commit": commit(), "exit": int(code), "tests": tests}))
    print(f"{sum(bool(test['lines']) for test in tests.values()):,} tests reach these files")


def commit() -> str:
    """What is checked out."""
    shown = subprocess.run(["git", "rev-parse", "--short=7", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return shown.stdout.strip()


def draw(count: int, seed: int, out: Path) -> None:
    """Write random changes, in the order of the files."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator, operator_names

    operators = {name: get_operator(name) for name in sorted(operator_names())}
    plain = {name: make() for name, make in operators.items() if not make.arguments() and is_of_a_kind(name)}
    places: dict[tuple[str, int, int, str], list[tuple[str, int]]] = {}
    for file in sources():
        nodes = list(ast_nodes(get_ast((ROOT / file).read_text())))
        for name, operator in plain.items():
            positions = [(node, start) for node in nodes for start, _ in operator.mutation_positions(node)]
            for occurrence, (node, (line, column)) in enumerate(positions):
                if not in_annotation(node):
                    family = name.split("/")[1].split("_")[0]
                    places.setdefault((str(file), line, column, family), []).append((name, occurrence))
    chance, drawn = random.Random(seed), []
    for place in chance.sample(sorted(places), len(places)):
        name, occurrence = chance.choice(places[place])
        before = (ROOT / place[0]).read_text()
        after = mutate_code(before, plain[name], occurrence)
        if after is None or after == before or not compiles(after):
            continue
        drawn.append({"file": place[0], "line": place[1], "operator": name, "occurrence": occurrence, "source": after})
        drawn[-1] |= {"change": changed_lines(before, after)}
        if len(drawn) == count:
            break
    drawn.sort(key=lambda mutant: (sources().index(Path(mutant["file"])), mutant["line"], mutant["operator"]))
    about = {"tool": f"cosmic-ray {version('cosmic-ray')}", "seed": seed, "commit": commit(), "places": len(places)}
    out.write_text(json.dumps({**about, "mutants": drawn}))
    print(f"{len(drawn)} of {len(places):,} places:", dict(Counter(mutant["file"].split("/")[2] for mutant in drawn)))


def is_of_a_kind(operator: str) -> bool:
    """Whether what an operator of cosmic-ray's puts in a place may well stand there."""
    _, *pair = operator.split("_")
    return not pair or pair[0] == "Delete" or any(kind.issuperset(pair) for kind in KINDS)


def in_annotation(node: Any) -> bool:
    """Whether a node of cosmic-ray's tree is part of an annotation."""
    while node.parent is not None:
        parent, position = node.parent, [child is node for child in node.parent.children].index(True)
        before = parent.children[position - 1] if position else None
        if parent.type in ("annassign", "tfpdef") and before == ":":
            return True
        if parent.type == "funcdef" and before == "->":
            return True
        node = parent
    return False


def compiles(source: str) -> bool:
    """Whether a change left Python behind."""
    try:
        compile(source, "mutant", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def changed_lines(before: str, after: str) -> str:
    """`old -> new`, of the lines that differ."""
    old, new = before.splitlines(), after.splitlines()
    first = next(i for i, (left, right) in enumerate(zip(old, new, strict=False)) if left != right)
    last = next(i for i, (left, other) in enumerate(zip(old[::-1], new[::-1], strict=False)) if left != other)
    sides = (" ".join(line.strip() for line in lines[first : len(lines) - last]) for lines in (old, new))
    return " -> ".join(sides)


def reaching_tests(mutant: dict[str, Any], tests: dict[str, dict[str, Any]], seconds: float) -> list[str]:
    """The tests that can see a change, the quickest first, as many as there are seconds for."""
    lines, file = lines_that_reach(mutant), mutant["file"]
    mirror = f"/test_{Path(file).name}::"  # of a module's settings no line is reached when a test makes some
    reaching = [
        name
        for name, test in tests.items()
        if (lines & set(test["lines"].get(file, ())) if lines else file in test["lines"] or mirror in name)
        or (not lines and name == DEFAULTS)
    ]
    reaching.sort(key=lambda name: (tests[name]["seconds"], name))
    ends = list(accumulate(tests[name]["seconds"] for name in reaching))
    return [name for name, end in zip(reaching, ends, strict=True) if end < seconds] or reaching[:1]


def lines_that_reach(mutant: dict[str, Any]) -> set[int]:
    """The lines of the statement that a change is in, of a function's body for its signature; none: any line."""
    tree = ast.parse((ROOT / mutant["file"]).read_text())
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    around = []
    for function in functions:
        first = min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])
        if first <= mutant["line"] <= (function.end_lineno or 0):
            around.append(function)
    if not around:
        return set()
    function = around[-1]
    statements = [node for node in ast.walk(function) if isinstance(node, ast.stmt) and node is not function]
    holding = [node for node in statements if node.lineno <= mutant["line"] <= (node.end_lineno or 0)]
    smallest = min(holding, key=lambda node: (node.end_lineno or 0) - node.lineno, default=None)
    if smallest is None:  # the signature or a decorator
        return {line for node in function.body for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    body = getattr(smallest, "body", None)
    last = body[0].lineno - 1 if isinstance(body, list) and body else smallest.end_lineno or 0
    return set(range(smallest.lineno, max(last, smallest.lineno) + 1))


class Patience:
    """A pytest plugin that ends the process when a test takes far too long, and says which test failed."""

    def __init__(self, tests: dict[str, dict[str, Any]], noted: Path) -> None:
        self.tests, self.noted = tests, noted

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Begin to count."""
        self.noted.write_text(nodeid)
        least, factor = PATIENCE
        seconds = least + factor * self.tests.get(nodeid, {"seconds": 0})["seconds"]
        signal.setitimer(signal.ITIMER_PROF, seconds)  # of the processor: others may keep it busy
        signal.alarm(int(10 * seconds))  # for what waits and does nothing


def run(trace_file: Path, mutants_file: Path, out: Path, seconds: float, again: bool) -> None:
    """Test the changes that have no result yet, or those that survived."""
    traced, drawn = (json.loads(path.read_text()) for path in (trace_file, mutants_file))
    results = json.loads(out.read_text()) if out.exists() else {"results": []}
    done = {key(result): result for result in results["results"]}
    tree = Path(tempfile.mkdtemp(prefix="mutants-"))
    try:
        prepare(tree)
        for number, mutant in enumerate(drawn["mutants"], 1):
            known = done.get(key(mutant))
            if known and not (again and known["outcome"] == "survived"):
                continue
            tests = reaching_tests(mutant, traced["tests"], seconds)
            began = time.perf_counter()
            outcome, test = attempt(tree, mutant, tests, traced["tests"]) if tests else ("survived", "")
            kept = {name: mutant[name] for name in ("file", "line", "operator", "change")}
            done[key(mutant)] = {**(known or {}), **kept, "outcome": outcome, "test": test, "tests": len(tests)}
            print(
                f"{number:3} {outcome:9} {time.perf_counter() - began:5.1f} s {len(tests):4} tests  "
                f"{mutant['file']}:{mutant['line']} {mutant['change'][:150]}",
                flush=True,
            )
            listed = [done[key(each)] for each in drawn["mutants"] if key(each) in done]
            write(out, drawn, traced, listed)
    finally:
        shutil.rmtree(tree, ignore_errors=True)


def key(mutant: dict[str, Any]) -> tuple[str, int, str, str]:
    """What tells changes apart."""
    return mutant["file"], mutant["line"], mutant["operator"], mutant["change"]


def write(out: Path, drawn: dict[str, Any], traced: dict[str, Any], results: list[dict[str, Any]]) -> None:
    """Write the results with their counts."""
    packages: dict[str, Counter[str]] = {}
    for result in results:
        packages.setdefault(result["file"].split("/")[2], Counter())[result["outcome"]] += 1
    killed = sum(result["outcome"] != "survived" for result in results)
    summary = {name: drawn[name] for name in ("tool", "seed", "commit", "places")} | {
        "tests of commit": traced["commit"],
        "mutants": len(results),
        "killed": killed,
        "share": round(killed / len(results), 3),
        "packages": {name: dict(sorted(counts.items())) for name, counts in packages.items()},
    }
    text = json.dumps({**summary, "results": results}, indent=1, ensure_ascii=False)
    out.write_text(text + "\n")


def prepare(tree: Path) -> None:
    """Copy the repository, and import here all that it imports but itself: every change is tested in a fork."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    for name in filter(None, listed.stdout.splitlines()):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tree / name)
    os.environ |= {"PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(tree / "src")], check=True)
    code = (
        "import sys, pkgutil, importlib, nearspan\n"
        "for each in pkgutil.walk_packages(nearspan.__path__, 'nearspan.'):\n"
        "    if not each.name.endswith('__main__'): importlib.import_module(each.name)\n"
        "print(*(name for name in sys.modules if not name.startswith(('nearspan', '__'))))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tree)
    for name in ("pytest", "hypothesis", "doctest", *loaded.stdout.split()):
        try:
            importlib.import_module(name)
        except ImportError:
            continue


def attempt(tree: Path, mutant: dict[str, Any], tests: list[str], traced: dict[str, dict[str, Any]]) -> tuple[str, str]:
    """`killed`, `import` (nothing ran any more), `endless` or `survived`, and the test that failed."""
    file, noted = tree / mutant["file"], tree / "running"
    before, times = file.read_text(), file.stat()
    noted.write_text("")
    file.write_text(mutant["source"])
    try:
        process = os.fork()
        if process == 0:
            in_child(tree, tests, Patience(traced, noted))
        _, status = os.waitpid(process, 0)
    finally:
        file.write_text(before)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    code = os.waitstatus_to_exitcode(status)
    test = noted.read_text()
    if code == 0:
        return "survived", ""
    if not test:
        return "import", ""
    return ("endless" if code in (-signal.SIGPROF, -signal.SIGALRM) else "killed"), test


def in_child(tree: Path, tests: list[str], patience: Patience) -> None:
    """Run the tests in the copy; never comes back."""
    code = 99
    try:
        with (tree / "output").open("w") as output:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        os.chdir(tree)
        sys.dont_write_bytecode = True
        sys.path.insert(0, str(tree / "src"))
        code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "--tb=line", *tests], plugins=[patience]))
        sys.stdout.flush()
    finally:
        os._exit(code)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    commands = parser.add_subparsers(dest="command", required=True)
    tracing = commands.add_parser("trace")
    tracing.add_argument("paths", nargs="*")
    drawing = commands.add_parser("draw")
    drawing.add_argument("--count", type=int, default=150)
    drawing.add_argument("--seed", type=int, default=22)
    running = commands.add_parser("run")
    running.add_argument("--trace", type=Path, required=True)
    running.add_argument("--mutants", type=Path, required=True)
    running.add_argument("--again", action="store_true")
    running.add_argument("--seconds", type=float, default=60.0)
    for command in (tracing, drawing, running):
        command.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    if options.command == "trace":
        trace(options.out, options.paths)
    elif options.command == "draw":
        draw(options.count, options.seed, options.out)
    else:
        run(options.trace, options.mutants, options.out, options.seconds, options.again)


if __name__ == "__main__":
    main()
