"""Serving: a model over HTTP, with a page to question it."""

from nearspan.serving.app import create_app
from nearspan.serving.limits import Limits
from nearspan.serving.service import Service

__all__ = ["Limits", "Service", "create_app"]
