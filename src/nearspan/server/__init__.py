"""A model over HTTP, with a page that shows its evidence."""

from nearspan.server.app import Tool, create_app
from nearspan.server.limits import Limits
from nearspan.server.service import Service

__all__ = ["Limits", "Service", "Tool", "create_app"]
