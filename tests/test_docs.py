"""The documentation: its snippets run, its commands parse, and the names, settings, files and links in it are right."""

import importlib
import inspect
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import get_origin

import pytest
import typer
from pydantic import BaseModel
from typer.core import TyperGroup

from nearspan import registry
from nearspan.cli import app
from nearspan.config import Recipe, _models, load
from nearspan.settings import PartField

ROOT = Path(__file__).parents[1]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
NOTES = sorted((ROOT / "benchmarks/notes").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *DOCS, *NOTES]
FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`]+`")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")
GROUP = typer.main.get_command(app)
COMMANDS = {name: GROUP.get_command(None, name) for name in GROUP.list_commands(None)}


def name_page(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def blocks(page: Path, *languages: str) -> list[str]:
    fences = FENCE.finditer(page.read_text(encoding="utf-8"))
    return [match["code"] for match in fences if match["language"] in languages]


def pages_with(*languages: str) -> list[Path]:
    return [page for page in PAGES if blocks(page, *languages)]


@pytest.mark.parametrize("page", pages_with("python"), ids=name_page)
def test_python_snippets_run(page, tmp_path, monkeypatch):
    """The blocks of a page share their names and run in order; one epoch is enough to see that they work."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "_parts", {role: dict(parts) for role, parts in registry._parts.items()})
    namespace: dict[str, object] = {}
    for number, code in enumerate(blocks(page, "python"), start=1):
        quick = re.sub(r"training\.epochs=\d+", "training.epochs=1", code)
        quick = re.sub(r"minutes=\d+", "minutes=0.01", quick)
        exec(compile(quick, f"{name_page(page)}, python block {number}", "exec"), namespace)


def command_lines(page: Path) -> Iterator[list[str]]:
    """What follows `nearspan` in each command of a page, up to a pipe or a redirection."""
    for code in blocks(page, "console", "bash"):
        for line in code.replace("\\\n", " ").splitlines():
            for part in line.split(" | "):
                words = shlex.split(part.removeprefix("$ "))
                if "nearspan" in words:
                    rest = words[words.index("nearspan") + 1 :]
                    yield rest[: rest.index(">")] if ">" in rest else rest


@pytest.mark.parametrize("page", [page for page in PAGES if any(command_lines(page))], ids=name_page)
def test_commands_parse(page):
    for words in command_lines(page):
        command = COMMANDS.get(words[0])
        assert command is not None, f"no command {words[0]}"
        context = command.make_context(words[0], words[1:])  # raises where an option or an argument is not known
        if isinstance(command, TyperGroup):
            name, *rest = [*context._protected_args, *context.args]
            command.commands[name].make_context(name, rest, parent=context)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_on_the_commands_page(name):
    page = (ROOT / "docs/reference/commands.md").read_text(encoding="utf-8")
    section = re.search(rf"^## {name}$(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert section, f"no section on {name}"
    command = COMMANDS[name]
    inner = command.commands.values() if isinstance(command, TyperGroup) else ()
    options = [option for names in (command, *inner) for parameter in names.params for option in parameter.opts]
    missing = [option for option in options if option.startswith("-") and f"`{option}`" not in section[1]]
    assert missing == []


def test_every_name_of_the_python_page_is_there():
    page = (ROOT / "docs/reference/python.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## (nearspan[.\w]*)\.(\w+)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert len(sections) > 10
    for module, name, section in sections:
        described = getattr(importlib.import_module(module), name)
        known = {*dir(described), *re.findall(r"self\.(\w+)", inspect.getsource(described))}
        known |= set(getattr(described, "__dataclass_fields__", ()))
        cells = re.findall(r"^\| (`.+?`) \|", section, re.MULTILINE)
        listed = {name for cell in cells for name in re.findall(r"`(\w+)[`(]", cell)}
        assert listed <= known, f"{module}.{name} has no {sorted(listed - known)}"


def test_the_house_in_contributing_has_every_package_and_module_at_its_top():
    blocks_of_page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("\n\n")
    tree = next(block for block in blocks_of_page if "src/nearspan/\n" in block)
    files = (ROOT / "src/nearspan").glob("[a-z]*")
    top = {f"{path.name}{'/' * path.is_dir()}" for path in files if path.is_dir() or path.suffix == ".py"}
    assert top - {"__pycache__/"} <= set(re.findall(r"(?:^ +| {2,})([a-z_]+(?:/|\.py))(?= )", tree, re.MULTILINE))


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=name_page)
def test_files_of_the_repository_that_a_page_names_exist(page):
    codes = CODE.findall(FENCE.sub("", page.read_text(encoding="utf-8")))
    files = [name for code in codes for name in re.findall(r"[\w-]+(?:/[\w.-]+)+\.(?:py|toml|jsonl?|png)\b", code)]
    homes = (ROOT, ROOT / "src/nearspan", ROOT / "benchmarks")
    made = ("runs/", "tuned/", "report/", "in/", "out/")  # by whoever reads the page
    patterns = [name.replace("NAME", "*") for name in files if not name.startswith(made)]
    assert [name for name in patterns if not any(any(home.glob(name)) for home in homes)] == []


@pytest.mark.parametrize("page", DOCS, ids=name_page)
def test_settings_that_a_page_names_exist(page):
    text = page.read_text(encoding="utf-8")
    known = {name for _, name in dict(settings(Recipe))}
    parts = {name[: match.start()] for name in known for match in re.finditer(r"\.", name)}
    kinds = {f"{part}.kind" for part in parts}
    roots = "|".join(sorted({name.partition(".")[0] for name in known if "." in name}))
    codes = [*CODE.findall(FENCE.sub("", text)), *re.findall(r"--(?:set|search) '?([\w.]+)=", text)]
    sections = {
        name for code in codes for name in re.findall(rf"(?<![\w./-])(?:{roots})(?:\.[a-z_]+)+(?![\w(/])", code)
    }
    sections -= {name for name in sections if name.endswith((".py", ".toml", ".json", ".jsonl", ".html"))}
    python = {"training.TrainingCallback", "losses.smooth_targets"}  # names of modules that recipes have parts for
    assert sections - known - parts - kinds - python == set()


def test_every_setting_is_on_the_settings_page_with_its_default():
    page = (ROOT / "docs/reference/settings.md").read_text(encoding="utf-8")
    listed = {}
    for section in re.split(r"^##+ ", page, flags=re.MULTILINE)[1:]:
        kind = re.match(r"[\w.]+ = \"(\w+)\"", section)
        for name, default in re.findall(r"^\| `([\w.]+)` \| (.+?) \|", section, re.MULTILINE):
            listed[kind[1] if kind else "", name] = default
    assert listed == dict(settings(Recipe))


def test_every_limit_and_every_route_is_on_the_server_page():
    from nearspan.server import Limits, create_app

    page = (ROOT / "docs/reference/server.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| `(\w+)` \| ([\d,.]+) \|", page, re.MULTILINE))
    assert listed == {name: f"{value:,}".removesuffix(".0") for name, value in Limits().model_dump().items()}
    paths = create_app(_Unserved(), "t", tools=["label-studio", "inception"]).openapi()["paths"]
    routes = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    assert {f"{method} {path}" for method, path in re.findall(r"`(GET|POST|PUT|DELETE) (/[\w/{}-]*)", page)} == routes


class _Unserved:
    """A service that nobody asks anything."""

    editor = None


@pytest.mark.parametrize(("name", "least"), [("dspert", 10), ("joint-ib", 5), ("hire", 15)])
def test_the_rows_of_the_papers_tables_are_overrides_of_a_recipe(name: str, least: int):
    page = (ROOT / f"docs/reference/{name}.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \d+, .+ \| `([\w-]+)` \| (.*) \|$", page, re.MULTILINE)
    assert len(rows) >= least
    for name, sets in rows:
        chosen = [part.removesuffix("`") for part in sets.split("`")[1::2]]
        assert (load(name).override(chosen) != load(name)) == bool(chosen)


def settings(model: type[BaseModel], prefix: str = "", kind: str = "") -> Iterator[tuple[tuple[str, str], str]]:
    """Every setting with its default as the page writes it; each kind of a part has a section of its own."""
    for name, field in model.model_fields.items():
        if get_origin(field.annotation) is dict:  # a table of parts by any name
            continue
        has_kinds = field.discriminator or any(isinstance(item, PartField) for item in field.metadata)
        parts = _models(field)
        for part in parts:
            several = len(parts) > 1 and has_kinds
            yield from settings(part, f"{prefix}{name}.", part.model_fields["kind"].default if several else kind)
        if not parts and name != "kind":
            yield (kind, prefix + name), "required" if field.is_required() else show_default(field.default)


def show_default(default: object) -> str:
    if default is None:
        return "left out"
    return f"`{str(default).lower()}`" if isinstance(default, bool | int | float) else f'`"{default}"`'


@pytest.mark.parametrize("page", PAGES, ids=name_page)
def test_links_resolve(page):
    for match in LINK.finditer(CODE.sub("", FENCE.sub("", page.read_text(encoding="utf-8")))):
        target, _, anchor = match["target"].partition("#")
        if "://" in target:
            continue
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), f"{name_page(page)} links to {target}"
        if anchor:
            assert anchor in anchors(file), f"{name_page(page)} links to {target}#{anchor}"


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_index_names_every_page():
    index = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in PAGES if (ROOT / "docs") in page.parents]
    assert [page for page in pages if page != "README.md" and f"({page})" not in index] == []
