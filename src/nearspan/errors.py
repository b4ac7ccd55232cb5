"""Errors that say what was found, what was expected and what to do next."""

from collections.abc import Iterable
from difflib import get_close_matches


class NearspanError(Exception):
    """Base of every error that nearspan raises on purpose."""


class CorpusError(NearspanError):
    """A corpus cannot be read or written."""


class UnclearFormatError(CorpusError):
    """A file's content is of no format that is known."""


class ConfigError(NearspanError):
    """A recipe or a setting is wrong."""


class ModelError(NearspanError):
    """A model folder is missing, damaged or not ours."""


class EditError(NearspanError):
    """An edit of a memory that cannot be made."""


class AnsweredError(EditError):
    """An answer to a text of a review that the memory holds by now: somebody else has answered it."""


class ResourceError(NearspanError):
    """Vectors, an encoder or an optional dependency is missing."""


def is_memory_full(error: BaseException) -> bool:
    """Whether an error says that the computer's own memory is full; torch has no type for that.

    >>> is_memory_full(RuntimeError("DefaultCPUAllocator: can't allocate memory")), is_memory_full(RuntimeError("no"))
    (True, False)
    """
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of an error message: the nearest known name, or all of them.

    >>> did_you_mean("instnce", ["instance", "classifier"])
    "did you mean 'instance'?"
    """
    known = sorted(known)
    close = get_close_matches(name, known, n=1)
    return f"did you mean '{close[0]}'?" if close else f"known: {', '.join(known)}"


def first_line(error: Exception) -> str:
    """The beginning of an error's message; two lines of it where the first one only announces the second.

    >>> first_line(ValueError("no such row\\nin a long trace")), first_line(KeyError())
    ('no such row', 'KeyError')
    >>> first_line(RuntimeError("errors in loading:\\n\\tno row 'a'\\n\\tno row 'b'"))
    "errors in loading: no row 'a'"
    """
    first, *rest = (str(error).strip() or type(error).__name__).splitlines()
    return f"{first} {rest[0].strip()}" if rest and first.endswith(":") else first
