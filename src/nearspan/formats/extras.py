"""Libraries that only some formats need: imported when such a file is met, and named with their extra if missing."""

from importlib import import_module
from typing import Any

from nearspan.errors import ResourceError


def import_extra(module: str, extra: str, what: str) -> Any:
    """A module of an extra, or an error that says how to install it.

    >>> import_extra("no_such", "cas", "UIMA CAS")
    Traceback (most recent call last):
    nearspan.errors.ResourceError: UIMA CAS needs no_such, which is not installed: pip install 'nearspan[cas]'
    """
    try:
        return import_module(module)
    except ImportError as error:
        missing = (error.name or module).partition(".")[0]
        message = f"{what} needs {missing}, which is not installed: pip install 'nearspan[{extra}]'"
        raise ResourceError(message) from error
