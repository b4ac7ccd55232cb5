"""The Hugging Face hub: models from it and to it, and entities in the shape that transformers' pipelines give.

`nearspan.load("user/model")` and `model.push_to_hub("user/model")` are made of this.
"""

from nearspan.integrations.huggingface.commit import check_name, push
from nearspan.integrations.huggingface.folder import download, local_folder
from nearspan.integrations.huggingface.pipeline import to_pipeline

__all__ = ["check_name", "download", "local_folder", "push", "to_pipeline"]
