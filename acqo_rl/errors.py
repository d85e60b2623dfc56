"""Exceptions of this package. Each message says what was found, what was expected and what to do."""

from __future__ import annotations


class AcqoError(Exception):
    """Base class. Scripts print the message without a traceback and exit with status 2."""


class DataError(AcqoError):
    """A file of a data set is missing or malformed; the message names the file and the line."""


class ConversationError(AcqoError, ValueError):
    """An earlier turn of a conversation has an unsupported shape."""


class IndexMismatchError(AcqoError):
    """An index on disk does not match the corpus, the encoder or the settings."""


class GrammarError(AcqoError):
    """A completion does not match the grammar, or a model was trained with another grammar version."""


class ConfigError(AcqoError):
    """A setting is invalid or conflicts with another one."""


class MissingPackageError(ConfigError, ImportError):
    """A package of an optional extra is not installed."""


class HubError(AcqoError):
    """A model cannot be exported to, pushed to or loaded from the Hub."""


class SearchError(AcqoError):
    """All searches for a query failed or timed out."""


class NotFoundError(AcqoError):
    """A request names an unknown strategy or collection."""
