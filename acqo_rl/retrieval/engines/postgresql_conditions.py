"""Conditions on metadata in the SQL of PostgreSQL, by the types of the columns."""

from __future__ import annotations

import json
from collections.abc import Mapping

from psycopg import sql

from acqo_rl.retrieval.engines.conditions import SIGNS, Kind, fitting, in_utc
from acqo_rl.retrieval.engines.location import Fields
from acqo_rl.types import Condition, Filter

_TIMES = {"date": "AT TIME ZONE 'UTC'", "timestamp": "AT TIME ZONE 'UTC'", "timestamptz": ""}
"""Types that hold times, and how a time with a time zone becomes one that they can be compared with."""


def sql_of(where: Filter, columns: Mapping[str, str], fields: Fields) -> sql.Composable:
    """The conditions in SQL, on a table ``t``.

    Args:
        where: conditions on metadata.
        columns: type of each column; ``_`` precedes the type of the elements of an array.
        fields: of the table.
    """
    fitted = fitting(where, lambda path: _kind(path, columns, fields))
    if fitted is None:
        return sql.SQL("false")
    return sql.SQL(" AND ").join([sql.SQL("true"), *(_test(condition, columns, fields) for condition in fitted)])


def _kind(path: str, columns: Mapping[str, str], fields: Fields) -> Kind | None:
    if fields.metadata:
        return "any"
    kind = columns.get(path.partition(".")[0])
    if kind is None:
        return None
    return "date" if kind.removeprefix("_") in _TIMES and path in columns else "any"


def _test(condition: Condition, columns: Mapping[str, str], fields: Fields) -> sql.Composable:
    if _kind(condition.field, columns, fields) == "date":
        return _test_of_times(condition, columns[condition.field])
    if fields.metadata:
        values: sql.Composable = sql.SQL("to_jsonb({})").format(sql.Identifier("t", fields.metadata))
    else:
        column = condition.field.partition(".")[0]
        values = sql.SQL("jsonb_build_object({}, {})").format(sql.Literal(column), sql.Identifier("t", column))
    return sql.SQL("{} @? {}::jsonpath").format(values, sql.Literal(_json_path(condition)))


def _json_path(condition: Condition) -> str:
    """A path of SQL/JSON that exists where the condition holds; strict ones do not look into lists of objects."""
    path = "".join(f".{json.dumps(part)}" for part in condition.field.split("."))
    tests = [f"@ {SIGNS[name]} {json.dumps(bound)}" for name, bound in condition.bounds]
    if condition.any_of:
        equal = " || ".join(f"@ == {json.dumps(value)}" for value in condition.any_of)
        tests.append(f"({equal} || exists(@[*] ? ({equal})))")
    return f"strict ${path} ? ({' && '.join(tests)})"


def _test_of_times(condition: Condition, kind: str) -> sql.Composable:
    """The test of a column of times, or of an array of them: one element must meet the condition."""
    column, is_array = sql.Identifier("t", condition.field), kind.startswith("_")
    value: sql.Composable = sql.SQL("one.value") if is_array else column

    def literal(bound: str | float) -> sql.Composable:
        zone = sql.SQL(_TIMES[kind.removeprefix("_")])
        return sql.SQL("({}::timestamptz {})").format(sql.Literal(in_utc(str(bound))), zone)

    tests = [sql.SQL(f"{{}} {SIGNS[name]} {{}}").format(value, literal(bound)) for name, bound in condition.bounds]
    if condition.any_of:
        values = sql.SQL(", ").join(map(literal, condition.any_of))
        tests.append(sql.SQL("{} IN ({})").format(value, values))
    test: sql.Composable = sql.SQL(" AND ").join(tests)
    return sql.SQL("EXISTS (SELECT FROM unnest({}) AS one(value) WHERE {})").format(column, test) if is_array else test
