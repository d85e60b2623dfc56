"""The conditions of a search: an engine narrows it by :func:`widened` ones, and :func:`meets` decides."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, timedelta
from typing import Any

from acqo_rl.errors import ConfigError
from acqo_rl.retrieval.engines.engine import Fields, Row
from acqo_rl.retrieval.engines.rows import as_json, as_numbers, at
from acqo_rl.retrieval.filters import holds, instant, kind_of
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
    return all(holds(condition, as_json(at(row, fields.path_of(condition.field)))) for condition in where)


def widened(where: Filter, fields: Fields) -> Filter:
    """Conditions on paths that begin with a field of the collection; they hold wherever the given ones do.

    Bounds become ``gte`` and ``lte``, and bounds of dates whole days, so that texts can be compared as texts.
    """
    return tuple(
        replace(
            condition,
            field=fields.path_of(condition.field),
            bounds=tuple((f"{sign[:2]}e", _widened(f"{sign[:2]}e", bound)) for sign, bound in condition.bounds),
        )
        for condition in where
    )


def _widened(sign: str, bound: Any) -> Any:
    if not isinstance(bound, str):
        return bound
    try:
        return str((instant(bound).astimezone(UTC) + timedelta(days=_MARGINS[sign])).date())
    except OverflowError:  # of the first and the last day that Python knows
        return bound[:10]


def fitting(condition: Condition, kind: str | None) -> Condition | None:
    """The part of a condition that a field of one type can meet; ``None`` if there is none.

    Args:
        condition: a widened one.
        kind: ``text``, ``number``, ``truth``, or ``None`` for a field that cannot be compared.
    """
    values = tuple(value for value in condition.any_of if kind_of(value) == kind)
    bounds = tuple(bound for bound in condition.bounds if kind_of(bound[1]) == kind)
    return replace(condition, any_of=values, bounds=bounds) if values or bounds else None
