"""Parses named fields of a reply and their values: booleans, texts, sub-queries, lists, numbers and shares."""

from __future__ import annotations

import re
from typing import Any

from acqo_rl.replies.lists import entries_of
from acqo_rl.replies.marks import plain, unquoted
from acqo_rl.replies.values import read_json
from acqo_rl.replies.wording import NO, NONE, YES
from acqo_rl.text import one_line

_LABELLED = re.compile(r"^[\W_]*([A-Za-z][A-Za-z _-]{1,30}?)[\s*_`]*[:=\uff1a]\s*(.*)$")
_ID = re.compile(r"(?<!\d)(?<!(?<!\w)-)\d{1,6}(?!\d)")
_WORD = re.compile(r"\w+(?:/\w+)?")
_YES = re.compile(rf"\W*(?:{YES})(?![a-z])", re.I)
_NO = re.compile(rf"\W*(?:{NO})(?![a-z])", re.I)
_SHARE = re.compile(r"\s*([01](?:\.\d+)?)\s*(?:$|\W)")


def read_fields(reply: str) -> dict[str, Any]:
    """Returns the fields of a JSON object, or of lines such as "**Answerable**: yes".

    Field names are in lower case with underscores. Lines without a label continue the previous field.
    """
    value = read_json(reply)
    if isinstance(value, dict):
        return {_name(str(key)): value for key, value in value.items()}
    fields: dict[str, Any] = {}
    name = ""
    for line in map(plain, reply.splitlines()):
        match = _LABELLED.match(line)
        if match:
            name = _name(match.group(1))
            fields.setdefault(name, unquoted(match.group(2)))
        elif name and line.strip():
            fields[name] = f"{fields[name]}\n{line.strip()}".strip()
    return fields


def first_of(fields: dict[str, Any], *names: str) -> Any:
    """The value of the first of these fields that exists; ``None`` if none exists."""
    return next((fields[name] for name in names if name in fields), None)


def read_truth(value: Any) -> bool | None:
    """Reads yes or no from the first word: "no, only yesterday's figures" is False. ``None`` if it is neither."""
    if isinstance(value, bool):
        return value
    text = str(value)
    if _NO.match(text):
        return False
    return True if _YES.match(text) else None


def read_text(value: Any) -> str:
    """Reads a text as one line; empty for "none" and similar words, but not for texts that contain such a word."""
    if value is None or isinstance(value, (dict, list)):
        return ""
    text = unquoted(plain(one_line(str(value))))
    return "" if text.casefold().rstrip(".!\u3002") in NONE else text


def read_search(value: Any, read: str = "") -> str:
    """Reads the first sub-query of a value; empty if there is none. ``read`` is the text that the model read."""
    return "" if isinstance(value, (dict, list)) else next(iter(read_items(value, 1, read)), "")


def read_items(value: Any, most: int | None = None, read: str = "") -> tuple[str, ...]:
    """Reads the texts of a list, or the parts of a text separated by newlines or semicolons, but not by commas."""
    if value is None:
        return ()
    text = "\n".join(map(str, value)) if isinstance(value, list) else str(value).replace(";", "\n")
    return tuple(filter(None, map(read_text, entries_of(text, read=read)[:most])))


def read_ids(value: Any) -> tuple[int, ...]:
    """Reads the numbers of dependencies in any form: "sub 1", "1", "sub1, sub2", "SUB1."; negative numbers are skipped.

    If the first word is "none", the result is empty.
    """
    text = str(value if value is not None else "")
    first = _WORD.search(text)
    says_none = first is not None and first[0].strip("_").casefold() in NONE
    return () if says_none else tuple(dict.fromkeys(map(int, _ID.findall(text))))


def read_share(reply: str, *names: str) -> float | None:
    """Reads a share (0 to 1), or yes or no, from the first of these fields that exists; ``None`` if it is neither."""
    value = first_of(read_fields(reply), *names)
    number = _SHARE.match(str(value))
    if number and not isinstance(value, bool):
        return min(1.0, float(number.group(1)))
    truth = read_truth(value)
    return None if truth is None else float(truth)


def _name(label: str) -> str:
    return re.sub(r"[\s-]+", "_", label.strip(" \t*_`\"'").lower())
