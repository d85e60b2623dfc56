"""JSON in replies, wherever it stands, also as Python would write it."""

from __future__ import annotations

import ast
import json
import re
from itertools import islice
from typing import Any

_MOST_TRIED = 20


def read_json(reply: str) -> Any:
    """The first JSON object or array that can be read, also with Python's literals; ``None`` where there is none.

    Only the first brackets of a reply are tried.
    """
    for match in islice(re.finditer(r"[{\[]", reply), _MOST_TRIED):
        found = value_at(reply, match.start())
        if found is not None and (found[0] or isinstance(found[0], dict)):
            return found[0]
    return None


def value_at(text: str, start: int) -> tuple[Any, int] | None:
    """The object or array that begins at a bracket, and where it ends; ``None`` where none can be read."""
    try:
        return json.JSONDecoder(strict=False).raw_decode(text, start)
    except (ValueError, RecursionError):
        end = text.rfind("}" if text[start] == "{" else "]") + 1
    try:
        value = ast.literal_eval(text[start:end])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return (value, end) if isinstance(value, (dict, list)) else None
