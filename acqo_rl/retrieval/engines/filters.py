"""Metadata filters: how requests give them, what they mean, and how an engine narrows a search by them.

    {"lang": "en", "tag": ["news", "blog"], "year": {"gte": 2020, "lt": 2025}, "author.city": "Lima"}

All conditions must hold for the metadata that a document is shown with.

- A value is equal to one of the same type: numbers by their value (1 is 1.0), and neither ``True`` nor ``"1"`` is 1.
  Of a list, one equal element is enough. A list in the filter gives the allowed values.
- Bounds hold for a number, or for a date or time in ISO format (in UTC if it has no offset), but not for a list.
- A dot leads into an object, but not into the objects of a list.

An engine narrows a search by :func:`widened` conditions, and :func:`meets` decides.
"""

import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import to_jsonable_python

from acqo_rl.errors import ConfigError
from acqo_rl.types import Condition, Filter, Scope

_WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,18}")
_MARGINS = {"gte": -1, "lte": 2}
"""Days by which bounds of dates are moved, because the text of a time may have any offset."""


def instant(value: str) -> datetime:
    """The date or time of a text in ISO format, such as 2024-12-31 or 2024-12-31T12:00:00Z.

    Raises:
        ValueError: it has another format.
    """
    time = datetime.fromisoformat(value)
    if value[4:5] + value[7:8] != "--":
        raise ValueError("a date is written as in 2024-12-31")  # and not as a week, such as 2024-W01-1
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _date(value: str) -> str:
    instant(value)
    return value


_Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_-]*(\.[A-Za-z0-9_][A-Za-z0-9_-]*)*$")]
_EXACT = Field(ge=-(2**53), le=2**53)  # a float is exact up to this number
_Number = Annotated[StrictInt, _EXACT] | Annotated[StrictFloat, _EXACT]
PRINTED = r"^[^\x00-\x1f\x7f-\x9f]*$"
"""Pattern of a text without control characters; engines differ in those that they accept."""
_Scalar = StrictBool | _Number | Annotated[StrictStr, Field(max_length=1000, pattern=PRINTED)]
_Sign = Literal["gt", "gte", "lt", "lte"]
_Date = Annotated[StrictStr, AfterValidator(_date), WithJsonSchema({"type": "string", "format": "date"})]
_Bounds = Annotated[dict[_Sign, _Number], Field(min_length=1)] | Annotated[dict[_Sign, _Date], Field(min_length=1)]
_Allowed = Annotated[list[_Scalar], Field(min_length=1, max_length=100)]
_FILTER: TypeAdapter[dict[str, Any]] = TypeAdapter(
    Annotated[dict[_Name, _Scalar | _Allowed | _Bounds], Field(max_length=20)]
)

FILTER_SCHEMA = {**_FILTER.json_schema(), "additionalProperties": False}
"""JSON schema of a filter."""


def read_filter(given: object) -> Filter:
    """Reads a filter; equal filters give equal results, whatever their order.

    Raises:
        ConfigError: it has another form, or a value has a wrong type.
    """
    try:
        conditions = _FILTER.validate_python(given)
    except ValidationError as error:
        first = error.errors()[0]
        field = f" for {first['loc'][0]!r:.80}" if first["loc"] else ""
        raise ConfigError(
            f"The filter has {first['input']!r:.80}{field}. Give an object of fields, whose names have letters, digits,"
            " '_' and '-', with dots between parts; each with a text without control characters, a number, a truth"
            " value, a list of these, or bounds of numbers or dates such as {'gte': '2024-12-31'}."
        ) from error
    return tuple(_condition(field, conditions[field]) for field in sorted(conditions))


def _condition(field: str, wanted: Any) -> Condition:
    if isinstance(wanted, dict):
        return Condition(field, bounds=tuple(sorted(wanted.items())))
    values = [whole_number(value) for value in (wanted if isinstance(wanted, list) else [wanted])]
    by_repr = {repr(value): value for value in values}  # 1 and True are two values
    return Condition(field, tuple(by_repr[key] for key in sorted(by_repr)))


def whole_number(value: Any) -> Any:
    """Converts a number such as 3.0, which JSON Schema counts as an integer; returns other values as they are."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def holds(condition: Condition, value: Any) -> bool:
    """Whether a value of the metadata meets a condition."""
    if condition.any_of:
        values = value if isinstance(value, list) else [value]
        return any(kind_of(one) == kind_of(wanted) and one == wanted for one in values for wanted in condition.any_of)
    return all(_is_within(value, sign, bound) for sign, bound in condition.bounds)


def _is_within(value: Any, sign: str, bound: str | float) -> bool:
    if kind_of(value) != kind_of(bound) or kind_of(value) is None:
        return False
    compare = {"gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le}[sign]
    if not isinstance(bound, str):
        return bool(compare(value, bound))
    try:
        return bool(compare(instant(value), instant(bound)))
    except ValueError:
        return False


def kind_of(value: Any) -> str | None:
    """``truth``, ``number`` or ``text``; ``None`` for other values."""
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, (int, float)):
        return "number"
    return "text" if isinstance(value, str) else None


def conditions_of(shown: str, tenant_field: str, scope: Scope) -> Filter:
    """The conditions of a scope: the part of the documents of a collection that may be seen.

    Args:
        shown: location of the collection, for messages.
        tenant_field: metadata field that holds the tenant of a document; empty if there are none.
        scope: the part.

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


def meets(where: Filter, metadata: Mapping[str, Any]) -> bool:
    """Whether an entry meets all conditions on its metadata."""
    return all(holds(condition, as_json(at(metadata, condition.field))) for condition in where)


def widened(where: Filter) -> Filter:
    """Conditions that every entry meets that meets the given ones.

    Bounds become ``gte`` and ``lte``, and bounds of dates whole days, so that texts can be compared as texts.
    """
    return tuple(
        replace(
            condition,
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


def at(row: Mapping[str, Any], name: str) -> Any:
    """The value of a field; of a nested field if the name has dots: ``author.city``."""
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
    return [int(doc_id) for doc_id in doc_ids if _WHOLE_NUMBER.fullmatch(doc_id) and -(2**63) <= int(doc_id) < 2**63]
