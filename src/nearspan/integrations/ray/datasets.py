"""Any dataset of Ray Data with a column of texts."""

from __future__ import annotations

from typing import Any

import pyarrow
from ray.data import Dataset

from nearspan.document import IDENTIFIER, IDENTIFIER_SHARE, Document
from nearspan.errors import ConfigError, CorpusError, did_you_mean
from nearspan.integrations.ray.cluster import device_of, pool, usable_workers
from nearspan.integrations.ray.workers import Worker, send
from nearspan.model import Model
from nearspan.model.thresholds import Threshold

ROWS = 1_000  # of a batch

ENTITY = pyarrow.struct(
    [
        ("text", pyarrow.string()),
        ("label", pyarrow.string()),
        ("start", pyarrow.int64()),
        ("end", pyarrow.int64()),
        ("fragments", pyarrow.list_(pyarrow.list_(pyarrow.int64()))),
        ("score", pyarrow.float64()),
        ("stranger", pyarrow.bool_()),
        ("attributes", pyarrow.struct([(IDENTIFIER, pyarrow.string()), (IDENTIFIER_SHARE, pyarrow.float64())])),
    ]
)
"""An entity in a row, as `Entity.to_dict` has it."""


def annotate(
    dataset: Dataset,
    model: Model,
    *,
    text: str = "text",
    entities: str = "entities",
    workers: int | None = None,
    gpus: float = 0,
    threshold: Threshold | None = None,
) -> Dataset:
    """A dataset with a further column: the entities of the text of each row, in the shape of `Entity.to_dict`.

        annotate(ray.data.read_parquet("in"), model, text="body").write_parquet("out")

    Nothing is computed until the dataset is read or written, as with all of Ray Data. Workers that die are started
    again, and their rows are read again. A row without a text has no entities.

    Args:
        text: the column of texts.
        entities: the column to add; one that is there is replaced.
        workers: how many, each on one core; all cores of the cluster if not given.
        gpus: what each worker has of a GPU: 1 for one of its own.
        threshold: leave out entities with lower scores; the model's own if not given.
    """
    if model.classifies_given_spans:
        raise ConfigError("this model classifies spans that are given and finds none itself")
    return dataset.map_batches(
        _Column,
        batch_size=ROWS,
        batch_format="pyarrow",
        fn_constructor_args=(send(model), threshold, device_of(gpus), text, entities),
        compute=pool(usable_workers(workers, gpus)),
        num_cpus=1,
        num_gpus=gpus,
    )


class _Column:
    """Adds a column of entities to a batch of rows."""

    def __init__(self, sent: list[Any], threshold: Threshold | None, device: str, text: str, entities: str) -> None:
        self.worker = Worker(sent, threshold, device)
        self.text, self.entities = text, entities

    def __call__(self, rows: pyarrow.Table) -> pyarrow.Table:
        if self.text not in rows.column_names:
            raise CorpusError(f"the dataset has no column {self.text!r}; {did_you_mean(self.text, rows.column_names)}")
        found = self.worker.entities([Document(text or "") for text in rows.column(self.text).to_pylist()])
        records = [[each.to_dict() | {"stranger": each.stranger} for each in entities] for entities in found]
        column = pyarrow.array(records, pyarrow.list_(ENTITY))
        if self.entities in rows.column_names:
            return rows.set_column(rows.column_names.index(self.entities), self.entities, column)
        return rows.append_column(self.entities, column)
