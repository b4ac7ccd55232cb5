"""What is said twice about the project is the same: pages and navigation, versions, Pythons, floors, extras, links."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
SITE = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
PAGES = sorted(page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md"))


def named_in(nav: object) -> Iterator[str]:
    """The pages of a navigation, its sections opened."""
    if isinstance(nav, str):
        yield nav
    else:
        for part in nav.values() if isinstance(nav, dict) else nav:
            yield from named_in(part)


def test_pages_in_sections_of_the_navigation_are_seen():
    assert list(named_in([{"Home": "a.md"}, {"Guide": [{"One": "b.md"}, "c.md"]}])) == ["a.md", "b.md", "c.md"]


def test_every_page_is_once_in_the_navigation_and_no_other_is():
    assert sorted(named_in(SITE["nav"])) == PAGES


def test_warnings_fail_the_build_of_the_site():
    assert SITE["strict"]
    assert {kind for part in SITE["validation"].values() for kind in part.values()} == {"warn"}


def test_the_site_asks_no_other_host_for_fonts():
    assert SITE["theme"]["font"] is False


def test_the_version_to_cite_is_that_of_the_package():
    source = (ROOT / "src/nearspan/version.py").read_text(encoding="utf-8")
    version = re.search(r'^__version__ = "(.+)"$', source, re.MULTILINE)
    assert version
    assert str(CITATION["version"]) == version[1]


def test_the_changelog_has_a_section_for_the_version():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## [{CITATION['version']}]" in changelog


def test_the_workflow_runs_the_pythons_that_the_classifiers_name():
    named = [name.rpartition(" :: ")[2] for name in PROJECT["classifiers"] if re.search(r":: Python :: 3\.\d+$", name)]
    assert WORKFLOW["jobs"]["check"]["strategy"]["matrix"]["python"] == named


def test_the_first_python_of_the_workflow_is_the_oldest_that_is_allowed():
    assert PROJECT["requires-python"] == f">={WORKFLOW['jobs']['check']['strategy']['matrix']['python'][0]}"


def test_the_workflow_and_ci_run_the_same():
    steps = [step.get("run", "").strip() for step in WORKFLOW["jobs"]["check"]["steps"]]
    assert (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()[-1] in steps


def requirements(extra: str) -> Iterator[str]:
    """What an extra needs, those that it names opened."""
    for requirement in PROJECT["optional-dependencies"][extra]:
        if extras := re.fullmatch(r"nearspan\[(.+)\]", requirement):
            for named in extras[1].split(","):
                yield from requirements(named)
        else:
            yield requirement


def test_the_versions_of_the_floor_are_the_lowest_that_are_allowed():
    named = [re.sub(r"\[.*\]", "", name) for name in [*PROJECT["dependencies"], *requirements("test")]]
    lowest = sorted(name.replace(">=", "==") for name in named)
    assert (ROOT / "constraints-floor.txt").read_text().splitlines() == lowest


def test_the_workflow_tests_the_floor_with_the_oldest_python():
    floor = WORKFLOW["jobs"]["floor"]["steps"]
    pythons = [step["with"]["python-version"] for step in floor if "python-version" in step.get("with", {})]
    assert PROJECT["requires-python"] == f">={pythons[0]}"
    assert floor[-1]["run"] == "make test-floor"


def test_all_names_every_extra_for_users():
    extras = PROJECT["optional-dependencies"]
    users = extras.keys() - {"all", "docs", "test", "dev"}
    assert extras["all"] == [f"nearspan[{','.join(name for name in extras if name in users)}]"]


def test_the_licence_and_the_addresses_are_the_same_everywhere():
    urls = PROJECT["urls"]
    assert CITATION["license"] == PROJECT["license"]
    assert CITATION["repository-code"] == SITE["repo_url"] == urls["Source"]
    assert CITATION["url"] == SITE["site_url"].rstrip("/") == urls["Documentation"]


@pytest.mark.parametrize("page", PAGES)
def test_links_to_files_of_the_repository_name_files_that_exist(page):
    """A link out of docs/ is an address on GitHub, which neither the build nor test_docs.py can follow."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    targets = re.findall(rf"{re.escape(SITE['repo_url'])}/(?:blob|tree)/main/([^)#\s]+)", text)
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_every_public_name_is_on_the_api_page():
    import nearspan

    page = (ROOT / "docs/reference/api.md").read_text(encoding="utf-8")
    listed = re.findall(r"^::: nearspan\.(\w+)$", page, re.MULTILINE)
    assert sorted(listed) == sorted(nearspan.__all__)
