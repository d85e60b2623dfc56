"""Finds JSON in replies, also with Python literals."""

from __future__ import annotations

import ast
import json
import re
from collections import deque
from itertools import islice
from typing import Any

_MOST_TRIED = 20
_DEEPEST = 20
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.S)
_CALLED = ("name", "tool", "tool_name", "function", "action")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "tool_input", "action_input")
_CLOSING = {"[": "]", "{": "}"}


def read_json(reply: str) -> Any:
    """Returns the first valid JSON object or array, also with Python literals; ``None`` if there is none.

    Only the first 20 brackets of a reply are tried.
    """
    for match in islice(re.finditer(r"[{\[]", reply), _MOST_TRIED):
        found = value_at(reply, match.start())
        if found is not None and (found[0] or isinstance(found[0], dict)):
            return found[0]
    return None


def value_at(text: str, start: int) -> tuple[Any, int] | None:
    """The object or array that starts at a bracket, and its end position; ``None`` if it is not valid."""
    try:
        return json.JSONDecoder(strict=False).raw_decode(text, start)
    except (ValueError, RecursionError):
        end = text.rfind("}" if text[start] == "{" else "]") + 1
    try:
        value = ast.literal_eval(text[start:end])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return (value, end) if isinstance(value, (dict, list)) else None


def arguments_of(value: dict[str, Any]) -> Any:
    """The arguments of a call of a tool, which may be JSON in a text; ``None`` if the object is something else."""
    call = value["function"] if isinstance(value.get("function"), dict) else value
    names = [key for key in _CALLED if isinstance(call.get(key), str)]
    given = next((call[key] for key in _ARGUMENTS if key in call), None)
    if not names or given is None or set(call) - {*_CALLED, *_ARGUMENTS, "id", "type", "index"}:
        return None
    read = value_at(given, 0) if isinstance(given, str) and given[:1] in _CLOSING else None
    return given if read is None else read[0]


def cut_value(text: str, start: int) -> Any:
    """The complete part of a truncated object or array; ``None`` if the object or array is complete."""
    ends: deque[tuple[int, str]] = deque(maxlen=3)  # the last value may be followed by a key or an incomplete pair
    closing = ""
    for token in _TOKEN.finditer(text, start):
        if token[0] in _CLOSING:
            closing = _CLOSING[token[0]] + closing
        elif token[0] in ("]", "}"):
            closing = closing[1:]
        if not closing or len(closing) > _DEEPEST:
            return None
        ends.append((token.end(), closing))
    for end, closing in reversed(ends):
        if (read := value_at(text[start:end] + closing, 0)) is not None:
            return read[0]
    return None
