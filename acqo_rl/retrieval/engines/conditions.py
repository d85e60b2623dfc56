"""What a filter means, in every engine: it compares the metadata that a document is shown with.

- A value is equal to one of the same type: numbers by their value (1 is 1.0), and neither ``True`` nor ``"1"`` is 1.
  Of a list, one equal element is enough.
- Bounds hold for a number, or for a date or time in ISO format (in UTC if it has no offset), but not for a list.
- A dot leads into an object, but not into the objects of a list.

An engine narrows its search by :func:`widened` conditions; :func:`meets` decides.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from acqo_rl.errors import ConfigError
from acqo_rl.retrieval.engines.engine import Fields, Row
from acqo_rl.retrieval.engines.rows import as_json, as_numbers, at
from acqo_rl.retrieval.filters import is_date
from acqo_rl.types import Condition, Filter, Scope

SIGNS = {"gte": ">=", "lte": "<="}

_MARGINS = {"gte": -1, "lte": 2}
"""Days by which bounds of dates are moved, because the text of a time may have any offset."""


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


def meets(where: Filter, row: Row, fields: Fields) -> bool:
    """Whether an entry meets all conditions on its metadata."""
    return all(_holds(condition, at(row, fields.path_of(condition.field))) for condition in where)


def _holds(condition: Condition, value: Any) -> bool:
    if condition.any_of:
        values = value if isinstance(value, list) else [value]
        return any(_is_equal(one, wanted) for one in values for wanted in condition.any_of)
    return all(_is_within(value, name, bound) for name, bound in condition.bounds)


def _is_equal(value: Any, wanted: str | float) -> bool:
    if isinstance(value, date):  # or a datetime
        return is_date(wanted) and _instant(value.isoformat()) == _instant(str(wanted))
    value = as_json(value)
    if kind_of(value) != kind_of(wanted):
        return False
    if isinstance(value, float) or isinstance(wanted, float):  # some engines return 1e300 as a whole number
        return float(value) == float(wanted)
    return bool(value == wanted)


def _is_within(value: Any, name: str, bound: str | float) -> bool:
    value = as_json(value)
    if isinstance(bound, str):
        if not is_date(value):
            return False
        order = (_instant(value) > _instant(bound)) - (_instant(value) < _instant(bound))
    elif kind_of(value) == "number":
        order = (value > bound) - (value < bound)
    else:
        return False
    return {"gt": order > 0, "gte": order >= 0, "lt": order < 0, "lte": order <= 0}[name]


def widened(where: Filter, fields: Fields) -> Filter:
    """Conditions on paths that begin with a field of the collection; they hold wherever the given ones do.

    Bounds become ``gte`` and ``lte``, and bounds of dates whole days, so that texts can be compared as texts.
    """
    return tuple(
        replace(
            condition,
            field=fields.path_of(condition.field),
            bounds=tuple((f"{name[:2]}e", _day(f"{name[:2]}e", bound)) for name, bound in condition.bounds),
        )
        for condition in where
    )


def fitting(condition: Condition, kind: str | None) -> Condition | None:
    """The part of a widened condition that a field of one type can meet; ``None`` if there is none.

    Args:
        condition: a widened one.
        kind: ``text``, ``number``, ``truth``, ``date`` (compared by bounds only), or ``None`` for a field that cannot
            be compared.
    """
    if kind == "date":
        dates = sorted((str(v) for v in condition.any_of if is_date(v)), key=_instant)
        bounds = (("gte", _day("gte", dates[0])), ("lte", _day("lte", dates[-1]))) if dates else condition.bounds
        bounds = tuple(bound for bound in bounds if isinstance(bound[1], str))
        return Condition(condition.field, bounds=bounds) if bounds else None
    values = tuple(value for value in condition.any_of if kind_of(value) == kind)
    if not values and not (condition.bounds and all(kind_of(bound) == kind for _, bound in condition.bounds)):
        return None
    return replace(condition, any_of=values)


def kind_of(value: Any) -> str | None:
    """``truth``, ``number`` or ``text``; ``None`` for other values."""
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, (int, float)):
        return "number"
    return "text" if isinstance(value, str) else None


def _instant(value: str) -> datetime:
    time = datetime.fromisoformat(value)
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    try:
        return time.astimezone(UTC)
    except OverflowError:  # before or after all times that Python knows, by less than a day
        return time.replace(tzinfo=UTC)


def _day(name: str, bound: Any) -> Any:
    """A bound of dates, moved to a day that is surely before or after it; numbers stay."""
    if not isinstance(bound, str):
        return bound
    day = _instant(bound).date()
    try:
        return str(day + timedelta(days=_MARGINS[name]))
    except OverflowError:
        return str(day)
