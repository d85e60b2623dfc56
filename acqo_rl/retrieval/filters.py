"""Reads metadata filters, as requests give them.

    {"lang": "en", "tag": ["news", "blog"], "year": {"gte": 2020, "lt": 2025}, "author.city": "Lima"}

All conditions must hold. A value is compared with that of the field, a list gives the allowed values, an object gives
bounds: numbers, or dates in ISO format. A dot leads into an object.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from acqo_rl.errors import ConfigError
from acqo_rl.types import Condition, Filter

_FIELD = re.compile(r"\w[\w-]*(\.\w[\w-]*)*")
_BOUNDS = ("gt", "gte", "lt", "lte")
_MOST_CONDITIONS, _MOST_VALUES, _MOST_CHARACTERS = 20, 100, 1000

_LARGEST = 2**53
"""The largest number up to which a float is exact."""

_NUMBER = {"type": "number", "minimum": -_LARGEST, "maximum": _LARGEST}
_SCALAR = {"anyOf": [{"type": "string", "maxLength": _MOST_CHARACTERS}, _NUMBER, {"type": "boolean"}]}


def _bounds_schema(value: dict[str, Any]) -> dict[str, Any]:
    properties = dict.fromkeys(_BOUNDS, value)
    return {"type": "object", "properties": properties, "additionalProperties": False, "minProperties": 1}


FILTER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "maxProperties": _MOST_CONDITIONS,
    "propertyNames": {"pattern": r"^[A-Za-z0-9_][A-Za-z0-9_-]*(\.[A-Za-z0-9_][A-Za-z0-9_-]*)*$", "maxLength": 100},
    "additionalProperties": {
        "anyOf": [
            _SCALAR,
            {"type": "array", "items": _SCALAR, "minItems": 1, "maxItems": _MOST_VALUES},
            _bounds_schema(_NUMBER),
            _bounds_schema({"type": "string", "format": "date"}),
        ]
    },
}
"""JSON schema of a filter."""


def read_filter(given: object) -> Filter:
    """Reads a filter; equal filters give equal results, whatever their order.

    Raises:
        ConfigError: it has another form, or a value has a wrong type.
    """
    if not isinstance(given, Mapping):
        raise ConfigError(f"The filter is {_shown(given)}; give an object, such as {{'lang': 'en'}}.")
    if len(given) > _MOST_CONDITIONS:
        raise ConfigError(f"The filter has {len(given)} conditions; give at most {_MOST_CONDITIONS}.")
    return tuple(_condition(field, given[field]) for field in sorted(given, key=str))


def _condition(field: object, value: object) -> Condition:
    if not isinstance(field, str) or len(field) > 100 or not _FIELD.fullmatch(field):
        raise ConfigError(
            f"The filter has a field {_shown(field)}; a name has letters, digits, '_' and '-', with dots between parts."
        )
    if isinstance(value, Mapping):
        return Condition(field, bounds=_bounds(field, value))
    values = value if isinstance(value, list) else [value]
    if not 0 < len(values) <= _MOST_VALUES:
        raise ConfigError(f"The filter on {field!r} has {len(values)} values; give 1 to {_MOST_VALUES}.")
    by_repr = {repr(scalar): scalar for scalar in (_scalar(field, one) for one in values)}  # 1 and True are two values
    return Condition(field, tuple(by_repr[key] for key in sorted(by_repr)))


def _scalar(field: str, value: Any) -> str | int | float | bool:
    is_text = isinstance(value, str) and len(value) <= _MOST_CHARACTERS
    is_number = isinstance(value, (int, float)) and (isinstance(value, bool) or _fits(value))
    if not is_text and not is_number:
        raise ConfigError(
            f"The filter on {field!r} has the value {_shown(value)}; give a text of at most {_MOST_CHARACTERS}"
            " characters, a number or a truth value."
        )
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) <= _LARGEST else value


def _bounds(field: str, given: Mapping[Any, Any]) -> tuple[tuple[str, float | str], ...]:
    if not given or (unknown := [name for name in given if name not in _BOUNDS]):
        seen = _shown(unknown[0]) if given else "none"
        raise ConfigError(f"The filter on {field!r} has the bound {seen}; choose {', '.join(_BOUNDS)}.")
    bounds = tuple((name, given[name]) for name in _BOUNDS if name in given)
    numbers = [isinstance(value, (int, float)) and not isinstance(value, bool) and _fits(value) for _, value in bounds]
    if not all(numbers) and (any(numbers) or not all(is_date(value) for _, value in bounds)):
        raise ConfigError(
            f"The filter on {field!r} has the bounds {_shown(dict(bounds))}; give numbers, or dates such as 2024-12-31."
        )
    return bounds


def _fits(value: float) -> bool:
    """Whether engines can hold a number: 64 bits."""
    return -(2**63) <= value < 2**63 if isinstance(value, int) else math.isfinite(value)


def is_date(value: object) -> bool:
    """Whether a value is a date or a time in ISO format, such as 2024-12-31 or 2024-12-31T12:00:00Z."""
    if not isinstance(value, str) or not value.isascii():
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return value[4:5] == value[7:8] == "-"  # no week, such as 2024-W01-1


def _shown(value: object) -> str:
    return repr(value)[:80]
