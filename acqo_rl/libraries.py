"""Errors of libraries become errors of this package."""

from collections.abc import Iterator
from contextlib import contextmanager

from acqo_rl.errors import AcqoError
from acqo_rl.text import one_line


@contextmanager
def reported(kind: type[AcqoError], fault: str, remedy: str, *caught: type[Exception]) -> Iterator[None]:
    """Turns exceptions of libraries into one of this package; those of this package pass.

    Args:
        kind: class of the exception that is raised.
        fault: begins its message; type and text of the caught exception follow.
        remedy: ends its message.
        caught: the exceptions; by default all, because libraries raise all kinds.
    """
    try:
        yield
    except AcqoError:
        raise
    except Exception as error:
        if caught and not isinstance(error, caught):
            raise
        raise kind(f"{fault} ({type(error).__name__}: {one_line(str(error))[:300]}){remedy}") from error
