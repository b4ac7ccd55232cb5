"""The model: a network with its labels and its datastore, and how it predicts."""

from nearspan.model.model import Model

__all__ = ["Model"]
