"""Exceptions of this package, and checks that raise them.

Each message says what was found, what was expected and what to do.
"""

from collections.abc import Iterable
from dataclasses import fields
from difflib import get_close_matches
from typing import Any

from acqo_rl.addresses import masked


class AcqoError(Exception):
    """Base class. Scripts print the message without a traceback and exit with status 2.

    The message has ``***`` in place of passwords and keys.
    """

    def __init__(self, *args: object, **named: Any) -> None:
        super().__init__(*(masked(arg) if isinstance(arg, str) else arg for arg in args), **named)


class DataError(AcqoError):
    """A file of a data set is missing or malformed; the message names the file and the line."""


class IndexMismatchError(AcqoError):
    """An index on disk does not match the corpus, the encoder or the settings."""


class GrammarError(AcqoError):
    """A completion does not match the grammar, or a model was trained with another grammar version."""


class ConfigError(AcqoError):
    """A setting is invalid or conflicts with another one."""


class ConversationError(ConfigError):
    """A conversation has none of the forms of :mod:`acqo_rl.conversations`."""


class MissingPackageError(ConfigError, ImportError):
    """A package of an optional extra is not installed."""


class HubError(AcqoError):
    """A model cannot be exported to, pushed to or loaded from the Hub."""


class SearchError(AcqoError):
    """A search failed or timed out.

    Attributes:
        public: the message for clients of a service; it has no address and no text of another server.
    """

    def __init__(self, *args: object, public: str = "An index did not answer.") -> None:
        super().__init__(*args)
        self.public = public


class NotFoundError(AcqoError):
    """A request names an unknown strategy or collection."""


def missing_package(what: str, error: ImportError, extra: str) -> MissingPackageError:
    """The exception that says which extra something needs, after an import that failed."""
    package = (error.name or "").partition(".")[0]
    reason = f"{what} needs the package {package}; run: pip install 'acqo-rl[{extra}]'"
    return MissingPackageError(reason, name=error.name)


def did_you_mean(unknown: Iterable[str], known: Iterable[str]) -> str:
    """The known names that resemble unknown ones, as a question in parentheses after a space; empty without any."""
    names = list(known)
    alike = dict.fromkeys(name for wrong in unknown for name in get_close_matches(wrong, names, n=1, cutoff=0.75))
    return f" (did you mean {' or '.join(alike)}?)" if alike else ""


def check_positive(name: str, value: int | None) -> None:
    """Checks that a number, if one is given, is at least 1.

    Raises:
        ConfigError: it is less.
    """
    if value is not None and value < 1:
        raise ConfigError(f"{name} is {value}; it must be at least 1.")


def check_settings(settings: Any) -> None:
    """Checks the values of a dataclass against the types and ranges that it declares.

    Raises:
        ConfigError: a value is invalid; the message names the setting, its value and what is allowed.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        TypeAdapter(type(settings)).validate_python({f.name: getattr(settings, f.name) for f in fields(settings)})
    except ValidationError as error:
        wrong = (f"{one['loc'][0]} is {one['input']!r}: {one['msg']}" for one in error.errors(include_url=False))
        raise ConfigError(f"{'; '.join(wrong)}.") from error
