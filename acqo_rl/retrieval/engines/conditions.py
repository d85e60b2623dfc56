"""Conditions on metadata, as the fields of an engine can meet them.

In all engines, numbers are compared by their value (1 is 1.0), and values of different types are different: neither
``True`` nor ``"1"`` is 1. An engine with typed fields refuses to compare different types, so those are left out here.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar

from acqo_rl.errors import ConfigError
from acqo_rl.retrieval.engines.rows import as_numbers
from acqo_rl.retrieval.filters import is_date
from acqo_rl.types import Condition, Filter, Scope

T = TypeVar("T")

Kind = Literal["any", "text", "whole", "half", "single", "number", "truth", "date"]
"""What a field can hold: ``any`` is JSON, ``whole`` are numbers without a fraction.

``half`` and ``single`` are floating-point numbers of 16 and 32 bits, ``number`` are all others.
"""

_STORED_AS = {"half": "<e", "single": "<f"}
"""Formats of :mod:`struct` that do not round to infinity."""

SIGNS = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}

_ROUNDED: dict[str, Callable[[float], int]] = {"gt": math.floor, "gte": math.ceil, "lt": math.ceil, "lte": math.floor}


def conditions_of(shown: str, tenant_field: str, scope: Scope) -> Filter:
    """The conditions of a scope.

    Args:
        shown: location of the collection, for messages.
        tenant_field: metadata field with the tenant of a document; empty if the collection has no tenants.
        scope: the part of the documents that may be seen.

    Raises:
        ConfigError: the collection has tenants and the scope names none, or the reverse.
    """
    if scope.tenant is None and tenant_field:
        raise ConfigError(
            f"{shown} has tenants (field {tenant_field!r}), but the search names none. Name the tenant, or omit the"
            " option tenant in the location to search the documents of all tenants."
        )
    if scope.tenant is None:
        return scope.where
    if not tenant_field:
        raise ConfigError(f"A tenant is named, but {shown} has none; add the option tenant=FIELD to its location.")
    return (*scope.where, Condition(tenant_field, (scope.tenant, *as_numbers([scope.tenant]))))


def fitting(where: Filter, kind_of: Callable[[str], Kind | None]) -> Filter | None:
    """The conditions without the values that their fields cannot hold; ``None`` if no document can meet all of them.

    Args:
        where: the conditions.
        kind_of: the kind of a field; ``None`` if there is no such field.
    """
    fitted = tuple(_fitting(condition, kind_of(condition.field)) for condition in where)
    found = tuple(condition for condition in fitted if condition is not None)
    return found if len(found) == len(where) else None


def _fitting(condition: Condition, kind: Kind | None) -> Condition | None:
    values = tuple(_stored(kind, value) for value in condition.any_of if _can_hold(kind, value))
    bounds = tuple((name, _stored(kind, bound)) for name, bound in condition.bounds)
    if kind == "whole":
        bounds = tuple((name, bound if isinstance(bound, str) else _ROUNDED[name](bound)) for name, bound in bounds)
    fits = kind != "truth" and all(_can_hold(kind, bound) for _, bound in bounds)
    return replace(condition, any_of=values, bounds=bounds) if values or (bounds and fits) else None


def _can_hold(kind: Kind | None, value: str | float) -> bool:
    if kind in ("any", None):
        return kind is not None
    if isinstance(value, bool):
        return kind == "truth"
    if isinstance(value, str):
        return kind == "text" or (kind == "date" and is_date(value))
    return kind in ("half", "single", "number") or (kind == "whole" and float(value).is_integer())


def _stored(kind: Kind | None, value: T) -> T | float:
    """A number as a field of lower precision stores it; 0.4 in 32 bits is 0.4000000059604645."""
    if kind not in _STORED_AS or not isinstance(value, (int, float)):
        return value
    try:
        [stored] = struct.unpack(_STORED_AS[kind], struct.pack(_STORED_AS[kind], value))
    except OverflowError:  # beyond all that the field can hold
        return value
    return float(stored)


def in_utc(value: str) -> str:
    """A date or a time in ISO format as engines with times read it; without an offset it is in UTC."""
    time = datetime.fromisoformat(value)
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    try:
        return time.astimezone(UTC).isoformat()
    except OverflowError:  # before or after all times that Python knows, by less than a day
        return time.replace(tzinfo=UTC).isoformat()


def json_path(condition: Condition) -> str:
    """A path of SQL/JSON that exists where the condition holds: it compares equal types only, and looks into lists."""
    path = "".join(f".{json.dumps(part)}" for part in condition.field.split("."))
    tests = [f"@ {SIGNS[name]} {json.dumps(bound)}" for name, bound in condition.bounds]
    if condition.any_of:
        tests.append("(" + " || ".join(f"@ == {json.dumps(value)}" for value in condition.any_of) + ")")
    return f"${path}[*] ? ({' && '.join(tests)})"


def holds(condition: Condition, value: Any) -> bool:
    """Whether a JSON value meets a condition; of a list, one element is enough for equality."""
    values = value if isinstance(value, list) else [value]
    if condition.any_of and not any(_equal(one, wanted) for one in values for wanted in condition.any_of):
        return False
    return all(_within(value, name, bound) for name, bound in condition.bounds)


def _equal(value: Any, wanted: str | float) -> bool:
    return _type_of(value) == _type_of(wanted) and value == wanted


def _within(value: Any, name: str, bound: float | str) -> bool:
    if _type_of(value) != _type_of(bound):
        return False
    return bool({"gt": value > bound, "gte": value >= bound, "lt": value < bound, "lte": value <= bound}[name])


def _type_of(value: Any) -> type:
    return float if isinstance(value, int) and not isinstance(value, bool) else type(value)
