"""The example of the guide, on a real Spark of this machine; skipped where there is no Java."""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
if shutil.which("java") is None:
    pytest.skip("there is no Java", allow_module_level=True)

from pyspark.sql import SparkSession

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "scale.md"
TEXTS = ["Ada lives in Oslo", None, "Nobody lives here", "Eve met Ada in Rome"]


@pytest.fixture
def spark(monkeypatch, tmp_path):
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.chdir(tmp_path)  # before Java starts, which stays where it is
    settings = {"spark.ui.enabled": "false", "spark.sql.warehouse.dir": str(tmp_path / "warehouse")}
    session = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
    yield session
    session.stop()


def test_a_pandas_udf_gives_what_the_model_gives(spark, folders, classifier):
    lines = [json.dumps({"number": number, "text": text}) + "\n" for number, text in enumerate(TEXTS)]
    Path("texts.jsonl").write_text("".join(lines))
    [code] = re.findall(r"```py\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(code.replace("runs/mine", str(folders["classifier"])), str(GUIDE), "exec"), {})
    written = [line for file in Path("annotated").glob("*.json") for line in file.read_text().splitlines()]
    rows = sorted(map(json.loads, written), key=lambda row: row["number"])
    found = [[(each["label"], each["start"], each["end"], each["text"]) for each in row["entities"]] for row in rows]
    expected = [document.entities for document in classifier.pipe([text or "" for text in TEXTS], workers=1)]
    assert found == [[(each.label, each.start, each.end, each.text) for each in entities] for entities in expected]
    assert any(found)
