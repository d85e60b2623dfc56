"""Makes plain rows of the JSON of other programs: objects in objects, and several documents or questions in a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Row = dict[str, Any]
Rows = Iterator[tuple[int, Row]]
"""Line numbers from 1 and rows."""

_WRAPPERS = {"_source": ("_index", "_type", "_score", "_ignored", "sort"), "kwargs": ("lc", "type", "id")}
"""Fields around a document in dumps of Elasticsearch and of LangChain, and the names beside them."""
_UTTERANCES = ("raw_utterance", "utterance")
_TURN_NUMBERS = ("number", "turn_id")
_ANSWERS = ("response", "passage")
_CONVERSATION, _TURN, _CONTEXT = "Conversation_no", "Turn_no", "Context"


def plain_rows(rows: Rows, paths: Sequence[str], *, of_queries: bool) -> Rows:
    """Yields the documents or questions of rows.

    Args:
        rows: as they were read.
        paths: names of nested fields, such as ``_source.text``; they become fields of the row.
        of_queries: whether questions are read; else documents.
    """
    for number, row in _without_actions(rows):
        plain = _unwrapped(_lifted(row, paths))
        several = _paragraphs(plain, of_queries=of_queries)
        if several is None and of_queries:
            several = _questions(plain)
        yield from ((number, one) for one in ([plain] if several is None else several))


def scalar_of(value: object) -> object:
    """The value in an object that only tells its type (MongoDB) or its form (WordPress); other values unchanged."""
    while isinstance(value, dict):
        if len(value) == 1 and next(iter(value)).startswith("$"):
            [value] = value.values()
        elif isinstance(value.get("rendered"), str):
            value = value["rendered"]
        else:
            break
    return value


def _without_actions(rows: Rows) -> Rows:
    """The documents of a bulk request of Elasticsearch, with the ids from the actions before them."""
    given: Row = {}
    for number, row in rows:
        action = row.get("index", row.get("create")) if len(row) == 1 else None
        if isinstance(action, dict) and (not action or not action.keys().isdisjoint(("_id", "_index"))):
            given = {key: value for key, value in action.items() if key == "_id"}
        else:
            yield number, {**given, **row}
            given = {}


def _lifted(row: Row, paths: Sequence[str]) -> Row:
    """The row with nested fields moved to the top level."""
    for path in paths:
        if path not in row and (found := _taken(row, path.split("."))) is not None:
            value, rest = found
            row = {**rest, path: value}
    return row


def _taken(row: Row, keys: Sequence[str]) -> tuple[Any, Row] | None:
    """The value at the path of keys, and the row without it; ``None`` if there is none."""
    key, *inner = keys
    if key not in row or (inner and not isinstance(row[key], dict)):
        return None
    others = {name: value for name, value in row.items() if name != key}
    if not inner:
        return row[key], others
    if (found := _taken(row[key], inner)) is None:
        return None
    value, rest = found
    return value, {**others, key: rest}


def _unwrapped(row: Row) -> Row:
    for name, beside in _WRAPPERS.items():
        if isinstance(row.get(name), dict) and (name == "_source" or "lc" in row):
            return {**row[name], **{key: value for key, value in row.items() if key not in (name, *beside)}}
    return row


def _paragraphs(row: Row, *, of_queries: bool) -> list[Row] | None:
    """The paragraphs of an article as in SQuAD, or the questions about them; ``None`` for other rows."""
    paragraphs = row.get("paragraphs")
    if not isinstance(paragraphs, list) or not paragraphs or not all(isinstance(one, dict) for one in paragraphs):
        return None
    if of_queries:
        return [dict(asked) for one in paragraphs for asked in one.get("qas", ())]
    title = {"title": row["title"]} if row.get("title") else {}
    return [{**title, **{key: value for key, value in one.items() if key != "qas"}} for one in paragraphs]


def _questions(row: Row) -> list[Row] | None:
    """The questions of a conversation of TREC CAsT or iKAT, or the one of QReCC or TopiOCQA; ``None`` for others."""
    if isinstance(row.get(_CONTEXT), list) and {_CONVERSATION, _TURN} <= row.keys():
        others = {key: value for key, value in row.items() if key != _CONTEXT}
        return [{"id": f"{row[_CONVERSATION]}_{row[_TURN]}", "history": row[_CONTEXT], **others}]
    turns = row.get("turn", row.get("turns"))
    if "number" not in row or not isinstance(turns, list) or not turns or not all(map(_is_turn, turns)):
        return None
    found, said = [], list[str]()
    for turn in turns:
        text, number = _first(turn, _UTTERANCES), _first(turn, _TURN_NUMBERS)
        found.append({**turn, "id": f"{row['number']}_{number}", "text": text, "history": list(said)})
        said += [f"U: {text}", *(f"S: {answer}" for answer in [_first(turn, _ANSWERS)] if isinstance(answer, str))]
    return found


def _is_turn(turn: object) -> bool:
    """Whether this is a turn of the user; since 2022, CAsT also has trees of turns, with the ``participant``."""
    return (
        isinstance(turn, dict)
        and "participant" not in turn
        and isinstance(_first(turn, _UTTERANCES), str)
        and _first(turn, _TURN_NUMBERS) is not None
    )


def _first(row: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((row[name] for name in names if row.get(name)), None)
