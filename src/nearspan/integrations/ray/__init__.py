"""nearspan on a Ray cluster: files and folders of texts, and any dataset of Ray Data.

    from nearspan.integrations.ray import annotate, annotate_files

    annotate_files(model, ["in/*.parquet"], "out/")
    annotate(ray.data.read_parquet("s3://bucket/in"), model).write_parquet("s3://bucket/out")

Every node needs nearspan. Where there are several, paths are those of a file system that all of them have.
"""

import os

from nearspan.errors import ResourceError

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported to anybody unless the user says so
try:
    import ray.data  # noqa: F401
except ImportError as error:
    raise ResourceError("ray is not installed: pip install 'nearspan[ray]'") from error

from nearspan.integrations.ray.cluster import cluster
from nearspan.integrations.ray.datasets import annotate
from nearspan.integrations.ray.files import Outcome, annotate_files

__all__ = ["Outcome", "annotate", "annotate_files", "cluster"]
