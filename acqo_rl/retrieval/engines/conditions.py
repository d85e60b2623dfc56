"""The conditions of a search: an engine narrows it by :func:`widened` ones, and :func:`meets` decides."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, timedelta
from typing import Any

from pydantic_core import to_jsonable_python

from acqo_rl.errors import ConfigError
from acqo_rl.retrieval.engines.engine import Row
from acqo_rl.retrieval.engines.location import Location, LocationOptions
from acqo_rl.retrieval.filters import holds, instant
from acqo_rl.types import Condition, Filter, Scope

_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,18}")
_MARGINS = {"gte": -1, "lte": 2}
"""Days by which bounds of dates are moved, because the text of a time may have any offset."""


def conditions_of(location: Location, scope: Scope) -> Filter:
    """The conditions of a scope: the part of the documents of a collection that may be seen.

    Raises:
        ConfigError: the collection has tenants and the scope names none, or the reverse.
    """
    shown, tenant_field = location.shown, location.options.tenant
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


def meets(where: Filter, row: Row, fields: LocationOptions) -> bool:
    """Whether an entry meets all conditions on its metadata."""
    return all(holds(condition, as_json(at(row, fields.path_of(condition.field)))) for condition in where)


def widened(where: Filter, fields: LocationOptions) -> Filter:
    """Conditions on paths that begin with a field of the collection; every entry that meets the given ones meets them.

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


def at(row: Row, name: str) -> Any:
    """The value of a field; of a nested field if the name has dots: ``metadata.title``."""
    if name in row:
        return row[name]
    first, _, rest = name.partition(".")
    inner = row.get(first)
    return at(inner, rest) if rest and isinstance(inner, Mapping) else None


def as_json(value: Any) -> Any:
    """A value of an engine as JSON can hold it: dates in ISO format, bytes in Base64, NaN and infinity as ``None``."""
    return to_jsonable_python(
        value,
        bytes_mode="base64",
        inf_nan_mode="null",
        fallback=lambda other: list(other) if isinstance(other, Iterable) else str(other),
    )


def as_numbers(doc_ids: Sequence[str]) -> list[int]:
    """Those of the ids that are whole numbers of 64 bits, as collections may hold them."""
    return [int(doc_id) for doc_id in doc_ids if _NUMBER.fullmatch(doc_id) and -(2**63) <= int(doc_id) < 2**63]
