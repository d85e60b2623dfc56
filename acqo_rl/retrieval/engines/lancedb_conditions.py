"""Conditions on metadata in the SQL of LanceDB, by the types of the columns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa

from acqo_rl.retrieval.engines.conditions import SIGNS, Kind, fitting, in_utc, json_path
from acqo_rl.types import Condition, Filter

_KINDS: tuple[tuple[Any, Kind], ...] = (
    (pa.types.is_boolean, "truth"),
    (pa.types.is_integer, "whole"),
    (pa.types.is_float16, "half"),
    (pa.types.is_float32, "single"),
    (pa.types.is_float64, "number"),
    (pa.types.is_decimal, "number"),
    (pa.types.is_date, "date"),
    (pa.types.is_timestamp, "date"),
    (pa.types.is_string, "text"),
    (pa.types.is_large_string, "text"),
)
_AS: dict[Kind, str] = {
    "whole": "BIGINT",
    **dict.fromkeys(("half", "single", "number"), "DOUBLE"),
    "date": "TIMESTAMP",
}
"""SQL types in which columns of other widths are compared, because LanceDB refuses literals that do not fit."""


def sql_of(where: Filter, columns: pa.Schema) -> str | None:
    """The conditions in SQL; empty for all rows, ``None`` if no row can meet them.

    Args:
        where: conditions on paths that begin with a column.
        columns: of the table.
    """
    fitted = fitting(where, lambda path: _kind(path, columns))
    if fitted is None:
        return None
    return " AND ".join(test for condition in fitted for test in _tests(condition, columns))


def column(path: str) -> str:
    """The name of a column in SQL, or the path to a field in a structure."""
    return ".".join(f"`{part}`" for part in path.split("."))


def quoted(value: str | int | float | bool) -> str:
    """A literal in SQL."""
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else json.dumps(value)


def is_json(name: str, columns: pa.Schema) -> bool:
    """Whether a column holds JSON."""
    there = columns.get_field_index(name) >= 0
    metadata = (columns.field(name).metadata or {}) if there else {}
    return bool(metadata.get(b"ARROW:extension:name") == b"lance.json")


def _kind(path: str, columns: pa.Schema) -> Kind | None:
    """The kind of a column, or of the elements of a list; ``None`` if it cannot be compared, or there is none."""
    first, _, rest = path.partition(".")
    if is_json(first, columns):
        return "any" if rest else None
    found = _type(path, columns)
    if found is None:
        return None
    element = found.value_type if _is_list(found) else found
    return next((kind for fits, kind in _KINDS if fits(element)), None)


def _type(path: str, columns: pa.Schema) -> Any:
    first, *rest = path.split(".")
    found: Any = columns.field(first).type if columns.get_field_index(first) >= 0 else None
    for part in rest:
        place = found.get_field_index(part) if isinstance(found, pa.StructType) else -1
        found = found.field(place).type if place >= 0 else None
    return found


def _is_list(kind: Any) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _tests(condition: Condition, columns: pa.Schema) -> Iterator[str]:
    kind = _kind(condition.field, columns)
    if kind == "any":
        first, _, rest = condition.field.partition(".")
        yield _json_test(column(first), replace(condition, field=rest))
        return
    compared, is_list = column(condition.field), _is_list(_type(condition.field, columns))
    sql_type = _AS.get(kind) if kind else None
    if sql_type and not is_list:
        compared = f"CAST({compared} AS {sql_type})"

    def literal(value: str | float) -> str:
        return f"CAST({quoted(in_utc(str(value)))} AS TIMESTAMP)" if kind == "date" else quoted(value)

    if condition.bounds and sql_type == "DOUBLE" and not is_list:
        yield f"NOT isnan({compared})"  # else NaN is the largest number
    for name, bound in condition.bounds:
        yield "FALSE" if is_list else f"{compared} {SIGNS[name]} {literal(bound)}"
    if condition.any_of:
        values = ", ".join(map(literal, condition.any_of))
        yield f"array_has_any({compared}, [{values}])" if is_list else f"{compared} IN ({values})"


def _json_test(name: str, condition: Condition) -> str:
    """The test of a JSON column; numbers are compared in SQL, because paths of LanceDB have no decimal fractions."""
    path = quoted("$" + "".join(f".{json.dumps(part)}" for part in condition.field.split(".")))
    number = f"TRY_CAST(json_extract({name}, {path}) AS DOUBLE)"

    def has(test: Condition) -> str:
        return f"json_exists({name}, {quoted(json_path(test))})"

    def equal(value: str | float) -> str:
        if isinstance(value, float):
            in_list, as_text = (
                f"json_array_contains({name}, {path}, '{value}')",
                has(replace(condition, any_of=(str(value),))),
            )
            return f"{number} = {value} OR ({in_list} AND NOT {as_text})"
        if value == "":  # the paths of LanceDB have no empty text, which is before all others
            return has(replace(condition, any_of=(), bounds=(("lte", "\0"),)))
        return has(replace(condition, any_of=(value,)))

    tests = [
        has(replace(condition, bounds=((sign, bound),)))
        if isinstance(bound, str)
        else f"{number} {SIGNS[sign]} {bound}"
        for sign, bound in condition.bounds
    ]
    if condition.any_of:
        tests.append(f"({' OR '.join(map(equal, condition.any_of))})")
    return " AND ".join(tests)
