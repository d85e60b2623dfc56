"""Exceptions of this package, and checks that raise them.

Each message says what was found, what was expected and what to do.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from acqo_rl.addresses import masked

FINITE = sys.float_info.max
ABOVE_0 = math.ulp(0.0)


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


def did_you_mean(unknown: Iterable[str], known: Iterable[str]) -> str:
    """The known names that resemble unknown ones, as a question in parentheses after a space; empty without any."""
    names = list(known)
    alike = dict.fromkeys(name for wrong in unknown for name in get_close_matches(wrong, names, n=1, cutoff=0.75))
    return f" (did you mean {' or '.join(alike)}?)" if alike else ""


def check_ranges(settings: object, ranges: Mapping[str, tuple[float, float]]) -> None:
    """Rejects a number outside its range, and NaN.

    Args:
        settings: a dataclass instance; missing settings and settings that are ``None`` are skipped.
        ranges: name -> (minimum, maximum), both inclusive. ``ABOVE_0`` as minimum excludes 0; ``FINITE`` as maximum
            excludes only infinity.

    Raises:
        ConfigError: a setting is out of range; the message names the setting, its value and the range.
    """
    for name, (least, most) in ranges.items():
        value = getattr(settings, name, None)
        if value is not None and not least <= value <= most:
            lower = "above 0" if least == ABOVE_0 else f"at least {least:g}"
            upper = "" if most >= FINITE else f" and at most {most:g}"
            number = "" if math.isfinite(value) else "a finite number, "
            raise ConfigError(f"{name} is {value}; it must be {number}{lower}{upper}.")
