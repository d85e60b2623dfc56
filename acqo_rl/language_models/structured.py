"""Replies in JSON: the schemas of prompted tasks, and how replies are read that nothing forced into a schema.

A local model is guided by the schema, and a server gets it as a response format. JSON with faults is repaired. A reply
of another form is not read: a refusal or a question of the model, or the beginning of a list, would be searched.
"""

import json
import re
from contextlib import suppress
from typing import Any

from acqo_rl.text import MAX_CHARACTERS, normalised, one_line
from acqo_rl.types import Completion, Schema

_LONGEST = 10_000
"""Maximum number of characters of a reply that are read."""
_MARKUP = re.compile(r"[{}\[\]]|```")
_NONE = ("", "none", "null")

_SEARCHED = r"^(?!(?:[^\w\s]+|[^\w\s]*\d{1,2}[.):\]])\s).*[^:\uff1a]$"
"""No item of a list (``1. heat pump``), and no line that introduces others (``Here are three:``)."""
UNTOLD = ("pattern", "default")
"""Keywords that only the reader of replies uses: models are not told, because few decoders know them all."""

BOOLEAN: Schema = {"type": "boolean"}
INTEGER: Schema = {"type": "integer"}


def fields(**schemas: Schema) -> Schema:
    """The schema of a reply: an object with these fields, all required."""
    return {"type": "object", "properties": schemas, "required": [*schemas], "additionalProperties": False}


def text(longest: int = MAX_CHARACTERS) -> Schema:
    """The schema of a text that is not empty."""
    return {"type": "string", "minLength": 1, "maxLength": longest}


def searched(longest: int = MAX_CHARACTERS) -> Schema:
    """The schema of a text that is searched."""
    return {**text(longest), "pattern": _SEARCHED}


def several(schema: Schema, most: int, least: int = 1) -> Schema:
    """The schema of a list."""
    return {"type": "array", "items": schema, "minItems": least, "maxItems": most}


def one_of(*values: str | int) -> Schema:
    """The schema of one of these values."""
    return {"type": "integer" if isinstance(values[0], int) else "string", "enum": [*values]}


def or_none(schema: Schema) -> Schema:
    """The schema of a value that may be ``null``."""
    return {"anyOf": [{"type": "null"}, schema]}


def or_nothing(schema: Schema) -> Schema:
    """The schema of a value that may be ``null``, and is read as ``None`` if it has another form."""
    return {**or_none(schema), "default": None}


def without(schema: Any, *keywords: str) -> Any:
    """The schema without keywords that a server refuses, or compiles to a large grammar."""
    if isinstance(schema, dict):
        return {key: without(part, *keywords) for key, part in schema.items() if key not in keywords}
    return [without(part, *keywords) for part in schema] if isinstance(schema, list) else schema


def example(**values: object) -> str:
    """A worked example of a reply, written as guided models write."""
    return json.dumps(values, ensure_ascii=False)


def read_reply(completion: Completion, schema: Schema) -> dict[str, Any] | None:
    """Returns the fields of a reply; ``None`` if they cannot be read.

    Texts are put on one line. A text that holds JSON is read as such where the schema has no text. Entries of lists are
    dropped if they are empty or too long, if an earlier one has the same text, or if there are too many; an entry of
    another form voids the reply. A text or list entry that the token limit cut off is dropped.

    Args:
        completion: the completion, without thoughts.
        schema: made by :func:`fields`.
    """
    value, is_complete = _json_in(completion.text[:_LONGEST])
    try:
        if isinstance(value, str):
            value = json.loads(value)
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
            value = value[0]
        if len(schema["properties"]) == 1 and value is not None and not isinstance(value, (dict, str)):
            value = dict.fromkeys(schema["properties"], value)
        return dict(_fitted(value, schema, is_cut=not (completion.finished or is_complete)))
    except (ValueError, RecursionError):
        return None


def problem_of(completion: Completion) -> str:
    """Why :func:`read_reply` returned ``None``."""
    seen = one_line(completion.text)[:80]
    fault = "has another form than the prompt asks for" if completion.finished else "was cut off by the token limit"
    return completion.problem or f"the reply {seen!r} {fault}"


def _json_in(reply: str) -> tuple[Any, bool]:
    """The JSON value in a reply, repaired if necessary, or ``None``; and whether it needed no repair."""
    import json_repair

    try:
        return json.loads(reply), True
    except (ValueError, RecursionError):
        if not _MARKUP.search(reply):
            return None, False
    try:
        return json_repair.loads(reply, skip_json_loads=True) or None, False
    except (ValueError, RecursionError):
        return None, False


class _LengthError(ValueError):
    """A text is empty or too long, which not every server prevents."""


def _fitted(value: Any, schema: Schema, *, is_cut: bool = False) -> Any:
    """The value in the form of a schema.

    Raises:
        ValueError: it has another form.
    """
    if "anyOf" in schema:
        is_none = value is None or (isinstance(value, str) and value.strip(" .").casefold() in _NONE)
        try:
            return None if is_none else _fitted(value, schema["anyOf"][-1], is_cut=is_cut)
        except ValueError:
            if "default" not in schema:
                raise
            return schema["default"]
    if isinstance(value, str) and schema["type"] != "string":
        value = json.loads(value)
    if schema["type"] == "array":
        return _entries([] if value is None else value, schema, is_cut=is_cut)
    if isinstance(value, list) and len(value) == 1:
        [value] = value
    if schema["type"] == "object" and isinstance(value, dict):
        last = next(reversed(value), None) if is_cut else None
        return {name: _fitted(value.get(name), one, is_cut=name == last) for name, one in schema["properties"].items()}
    if schema["type"] == "boolean" and isinstance(value, bool):
        return value
    if schema["type"] == "integer" and type(value) is int:
        return _allowed(value, schema)
    if schema["type"] == "string" and isinstance(value, str):
        said = one_line(value)
        if "enum" in schema:
            return _allowed(said.strip(".*\"'").casefold(), schema)
        if not schema.get("minLength", 0) <= len(said) <= schema["maxLength"]:
            raise _LengthError(f"{len(said)} characters of {schema}")
        if not is_cut and re.search(schema.get("pattern", ""), said):
            return said
    raise ValueError(f"{value!r} does not match {schema}")


def _allowed(value: Any, schema: Schema) -> Any:
    if value not in schema.get("enum", [value]):
        raise ValueError(f"{value!r} is none of {schema['enum']}")
    return value


def _entries(values: Any, schema: Schema, *, is_cut: bool) -> list[Any]:
    if not isinstance(values, list):
        raise ValueError(f"{values!r} is no list")
    found: dict[str, Any] = {}
    for value in values[:-1] if is_cut else values:
        with suppress(_LengthError):
            entry = _fitted(value, schema["items"])
            if key := normalised(str(entry)):
                found.setdefault(key, entry)
    if len(found) < schema["minItems"]:
        raise ValueError(f"{len(found)} entries of {schema}")
    return [*found.values()][: schema["maxItems"]]
