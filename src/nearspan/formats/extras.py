"""Libraries that some formats need, which an extra of nearspan installs; they are imported when such a file is met."""

from importlib import import_module
from typing import Any

from nearspan.errors import ResourceError


def import_extra(module: str, extra: str, needs: str) -> Any:
    """A module of an extra, or a ResourceError that names the extra; `needs` says what needs it.

    >>> import_extra("json", "none", "JSON").loads("[]")
    []
    """
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        message = f"{needs} needs {library}, which is not installed: pip install 'nearspan[{extra}]'"
        raise ResourceError(message) from error
