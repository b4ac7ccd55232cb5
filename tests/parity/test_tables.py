"""`make reproduce`: the papers' tables, and the runs behind them on a small cut."""

import argparse
import json
import re
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import figures  # noqa: E402
import reproduce  # noqa: E402

PAPERS = sorted(path.stem for path in (BENCHMARKS / "papers").glob("*.toml"))
SENTENCES = ("Ada lives in Oslo", "Bob left Rome", "Eve met Ada in Rome", "Rome is far from Oslo")
PIECES = sorted({word.lower() for text in SENTENCES for word in text.split()})
SHAPE = {"hidden_size": 16, "num_hidden_layers": 6, "num_attention_heads": 2, "intermediate_size": 16}
LABELS = {"Ada": "PERSON", "Bob": "PERSON", "Eve": "PERSON", "Oslo": "PLACE", "Rome": "PLACE"}


def write_corpus(path: Path) -> None:
    """A few sentences in the format that the file's name says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    sentences = [text.split() for text in SENTENCES] * 20  # more than a batch
    if path.suffix == ".json":
        entities = [
            [{"index": [i], "type": LABELS[word]} for i, word in enumerate(words) if word in LABELS]
            for words in sentences
        ]
        records = [{"sentence": words, "ner": ner} for words, ner in zip(sentences, entities, strict=True)]
        path.write_text(json.dumps(records))
        return
    lines = [[f"{word}\t{'B-' + LABELS[word] if word in LABELS else 'O'}\n" for word in words] for words in sentences]
    path.write_text("\n".join("".join(sentence) for sentence in lines))


def write_data(folder: Path, jobs, bert: Path) -> None:
    """Every file that the jobs name, tiny."""
    for job in jobs:
        for split in ("train", "dev", "test"):
            if split in job:
                write_corpus(folder / Path(job[split]).relative_to("data"))
        if "synonyms" in job:
            (folder / Path(job["synonyms"]).relative_to("data")).write_text("C1\tOslo\tChristiania\n")
        for key, name in re.findall(r"([a-z.]+)=data/(\S+)", "\n".join(job.get("set", []))):
            target = folder / name
            if key == "encoder.transformer.name" and not target.exists():
                target.symlink_to(bert)
            elif key == "encoder.vectors.file":
                target.write_text("oslo " + " ".join(["1"] * 100) + "\n")


@pytest.mark.parametrize("name", PAPERS)
def test_each_cell_has_a_run_a_record_or_a_reason(name: str):
    paper = reproduce.read_paper(name)
    jobs = reproduce.read_jobs(paper)
    for table in paper["table"]:
        for row in table["row"]:
            assert len(row["cells"]) == len(table.get("columns", ["row"])), row
            assert not ("job" in row and "here" in row), row
            assert {"job", "here", "why"} & set(row), row
            assert set(reproduce.job_names(row)) <= set(jobs)
            assert ("here" in row) == ("record" in row), row
            assert (BENCHMARKS / "results" / row.get("record", "")).exists(), row


@pytest.mark.parametrize("name", PAPERS)
def test_a_papers_page_has_the_tables_of_the_records(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    page = reproduce.PAGES / f"{name}.md"
    (tmp_path / page.name).write_text(page.read_text())
    monkeypatch.setattr(reproduce, "PAGES", tmp_path)
    reproduce.write_page(name, reproduce.read_paper(name))
    written = (tmp_path / page.name).read_text()
    assert written == page.read_text(), f"python benchmarks/reproduce.py {name} --tables"


@pytest.mark.parametrize("name", PAPERS)
def test_a_papers_pictures_are_drawn_from_records_and_stand_on_its_page(name: str, tmp_path: Path):
    paper = reproduce.read_paper(name)
    records = reproduce.read_records(sorted((BENCHMARKS / "results").glob("*.jsonl")))
    reproduce.draw_figures(paper, records, tmp_path)
    for figure in paper.get("figure", []):
        drawn, shown = (folder / f"{figure['file']}.svg" for folder in (tmp_path, reproduce.PAGES))
        for line in figure["line"]:
            assert f">{line['label']}<" in drawn.read_text(), line
            assert f">{line['label']}<" in shown.read_text(), f"python benchmarks/reproduce.py {name} --tables"
        assert f"({shown.name})" in (reproduce.PAGES / f"{name}.md").read_text()


def test_a_line_of_a_picture_is_the_mean_over_a_jobs_runs():
    runs = {"job": [{"slices": {"1": {"f1": 0.5}}}, {"slices": {"1": {"f1": 0.7}}}]}
    names, means, deviations = figures.line_of({"job": "job", "points": ["1"], "metric": "slices.*.f1"}, runs)
    assert (names, means, [round(value, 4) for value in deviations]) == (["1"], [60.0], [14.1421])


@pytest.mark.parametrize("name", PAPERS)
def test_a_papers_jobs_run_on_a_small_cut_and_not_twice(name: str, tmp_path: Path, wordpiece_bert, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    paper = reproduce.read_paper(name)
    jobs = list(reproduce.read_jobs(paper).values())
    (tmp_path / "data").mkdir()
    write_data(tmp_path / "data", jobs, wordpiece_bert(tmp_path / "bert", PIECES, SHAPE))
    options = argparse.Namespace(data=tmp_path / "data", out=tmp_path / "out", at_once=1, seconds=1e6, short=True)
    reproduce.run_jobs(name, paper, options)
    results = (tmp_path / "out" / "results.jsonl").read_text()
    records = [json.loads(line) for line in results.splitlines()]
    assert len(records) == len({job["recipe"] for job in jobs})
    assert not [record["log"] for record in records if "failed" in record]
    assert "## Table" in (tmp_path / "out" / f"{name}.md").read_text()
    reproduce.run_jobs(name, paper, options)
    assert (tmp_path / "out" / "results.jsonl").read_text() == results


def test_a_paper_says_whose_run_counts_where_two_files_have_a_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "results").mkdir()
    for file, f1 in (("cpu", 0.7), ("gpu", 0.8)):
        record = {"name": "job", "seed": 1, "test": {"f1": f1}}
        (tmp_path / "results" / f"{file}.jsonl").write_text(json.dumps(record) + "\n")
    monkeypatch.setattr(reproduce, "BENCHMARKS", tmp_path)
    monkeypatch.setattr(reproduce, "PAGES", tmp_path)
    paper = {"table": [{"id": "table-1", "row": [{"cells": ["a"], "paper": "75", "job": "job"}]}]}
    for order, figure in (([], "80.00 [1]"), (["gpu.jsonl", "cpu.jsonl"], "70.00 [1]")):
        (tmp_path / "paper.md").write_text("<!-- table-1 -->\n<!-- end -->\n")
        reproduce.write_page("paper", {**paper, "records": order})
        assert f"| a | 75 | {figure} |" in (tmp_path / "paper.md").read_text()


def records(*scores: float):
    return {"job": [{"test": {"f1": score}, "bleu": {"bleu2": 0.25}} for score in scores]}


@pytest.mark.parametrize(
    ("row", "scores", "figure", "verdict"),
    [
        ({"job": "job", "paper": "90.7"}, (0.901, 0.905, 0.909), "90.50 ± 0.40", "reached"),
        ({"job": "job", "paper": "91.0 ± 0.1"}, (0.901, 0.905, 0.909), "90.50 ± 0.40", "0.50 below"),
        ({"job": "job", "paper": "91.0", "why": "few epochs"}, (0.90,), "90.00 [1]", "1.00 below; few epochs"),
        ({"job": "job", "paper": "1", "metric": "bleu.bleu2"}, (0.5, 0.5), "25.00 ± 0.00 [2]", "reached"),
        ({"job": "job", "paper": "91.0"}, (), "", "not run"),
        ({"paper": "91.0", "why": "no OntoNotes here"}, (), "", "not run: no OntoNotes here"),
        ({"paper": "a drawing", "why": "see the recipe"}, (), "", "see the recipe"),
        ({"here": "0.45", "paper": "0.40"}, (), "0.45", "reached"),
        ({"here": "× 0.99", "paper": "× 1.19", "lower": True}, (), "× 0.99", "reached"),
        ({"here": "× 1.26", "paper": "× 1.19", "lower": True}, (), "× 1.26", "0.07 above"),
    ],
)
def test_a_cell_is_a_mean_over_seeds_and_says_whether_it_reaches_the_paper(row, scores, figure: str, verdict: str):
    assert reproduce.cell(row, records(*scores)) == figure
    assert reproduce.verdict(row, figure) == verdict
