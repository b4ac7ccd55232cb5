"""The benchmarks' jobs are recipes of today: a renamed setting must not wait for a GPU to be found out."""

import tomllib
from pathlib import Path

import pytest

import nearspan

JOBS = sorted((Path(__file__).parent.parent / "benchmarks" / "jobs").glob("*.toml"))


@pytest.mark.parametrize("file", JOBS, ids=lambda file: file.stem)
def test_every_job_is_a_recipe_with_settings_that_exist(file):
    jobs = tomllib.loads(file.read_text())["job"]
    names = [job["name"] for job in jobs]
    assert len(set(names)) == len(names)
    for job in jobs:
        assert nearspan.recipe(job["recipe"]).override(job.get("set", [])), job["name"]
