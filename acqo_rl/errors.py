"""The project's exceptions. Every message says what was seen, what was wanted and what to do."""

from __future__ import annotations


class AcqoError(Exception):
    """Base class: scripts print its message without a traceback and exit with status 2."""


class DataError(AcqoError):
    """A file of a data set is missing or malformed; the message names the file and the line."""


class ConversationError(AcqoError, ValueError):
    """An earlier turn of a query is in no shape that can be read."""


class IndexMismatchError(AcqoError):
    """An index on disk does not fit the corpus, the encoder or the settings it is asked to serve."""


class GrammarError(AcqoError):
    """A completion is not in the grammar, or a model was trained for another grammar version."""


class ConfigError(AcqoError):
    """A setting is out of range or contradicts another one."""


class MissingPackageError(ConfigError, ImportError):
    """A package that an extra brings is not installed."""


class HubError(AcqoError):
    """A model cannot be exported to, pushed to or loaded from the Hub."""


class SearchError(AcqoError):
    """No search of a query came back: every retriever failed or was too late."""


class NotFoundError(AcqoError):
    """A request names a strategy or a collection that is not there."""
