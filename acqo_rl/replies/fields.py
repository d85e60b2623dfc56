"""Reads named fields of a reply and their values: yes or no, a text, a search, several of them, numbers, a share."""

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
    """The fields of an object, or of lines such as "**Answerable**: yes"; names in lower case with underscores.

    Lines without a label belong to the field before them.
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
    """The first of these fields that is there."""
    return next((fields[name] for name in names if name in fields), None)


def read_truth(value: Any) -> bool | None:
    """Yes or no, by the first word: "no, only yesterday's figures" is no; ``None`` where it is neither."""
    if isinstance(value, bool):
        return value
    text = str(value)
    if _NO.match(text):
        return False
    return True if _YES.match(text) else None


def read_text(value: Any) -> str:
    """A text in one line; empty for "none" and its like, but not for a text that only holds the word."""
    if value is None or isinstance(value, (dict, list)):
        return ""
    text = unquoted(plain(one_line(str(value))))
    return "" if text.casefold().rstrip(".!\u3002") in NONE else text


def read_search(value: Any) -> str:
    """The first text of a value that can be searched; empty where there is none."""
    return "" if isinstance(value, (dict, list)) else next(iter(read_items(value, 1)), "")


def read_items(value: Any, most: int | None = None) -> tuple[str, ...]:
    """The texts of a list, or of lines or parts between semicolons; a comma belongs to its text."""
    if value is None:
        return ()
    text = "\n".join(map(str, value)) if isinstance(value, list) else str(value).replace(";", "\n")
    return tuple(filter(None, map(read_text, entries_of(text)[:most])))


def read_ids(value: Any) -> tuple[int, ...]:
    """The numbers of a dependency, whatever stands around them: "sub 1", "1", "sub1, sub2", "SUB1."; none are below 0.

    What follows a "none" explains it.
    """
    text = str(value if value is not None else "")
    first = _WORD.search(text)
    says_none = first is not None and first[0].strip("_").casefold() in NONE
    return () if says_none else tuple(dict.fromkeys(map(int, _ID.findall(text))))


def read_share(reply: str, *names: str) -> float | None:
    """A share between 0 and 1 in the first of these fields, or its yes or no; ``None`` where it says neither."""
    value = first_of(read_fields(reply), *names)
    number = _SHARE.match(str(value))
    if number and not isinstance(value, bool):
        return min(1.0, float(number.group(1)))
    truth = read_truth(value)
    return None if truth is None else float(truth)


def _name(label: str) -> str:
    return re.sub(r"[\s-]+", "_", label.strip(" \t*_`\"'").lower())
