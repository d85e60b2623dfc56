"""What a model said, however it said it: JSON first, then labelled lines."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from acqo_rl.reformulation.grammar import MAX_CHARACTERS
from acqo_rl.text import normalised, one_line, unnumbered

_LABELLED = re.compile(r"^[\W_]*([A-Za-z][A-Za-z _-]{1,30}?)[\s*_`]*[:=]\s*(.*)$")
_WORD = re.compile(r"\w")
_ID = re.compile(r"(?<!\d)(?<!(?<!\w)-)\d{1,6}(?!\d)")
_NO_IDS = re.compile(r"\W*(?:none|nothing|null|nil|n/a)\b", re.I)
_MOST_TRIED = 20
_DRESS = " \t*_`\"'"
_ANSWER_LABEL = re.compile(r"^[\W_]*(?:question|(?:the )?(?:final )?answer(?: is)?)[\s*_]*:[\s*_]*", re.I)
_AGAIN = re.compile(r"(\S[^\n]{3,100}?)(?:\s+\1){2,}")
_YES = re.compile(r"\W*(yes|true|y|sufficient|complete|answerable)\b", re.I)
_NO = re.compile(r"\W*(no|not|false|n|insufficient|incomplete|unanswerable)\b", re.I)
_NOTHING = frozenset(("", "none", "null", "nil", "n/a", "na", "nothing", "-", "no", "unknown"))


def read_json(reply: str) -> Any:
    """The first JSON object or array that can be read, also with Python's literals; ``None`` where there is none.

    A reply of brackets alone is no reason to try each.
    """
    for start in (match.start() for match in islice(re.finditer(r"[{\[]", reply), _MOST_TRIED)):
        for value in _values_at(reply, start):
            if isinstance(value, dict) or (isinstance(value, list) and value):
                return value
    return None


def _values_at(reply: str, start: int) -> Iterator[Any]:
    try:
        yield json.JSONDecoder(strict=False).raw_decode(reply, start)[0]
    except (ValueError, RecursionError):
        end = reply.rfind("}" if reply[start] == "{" else "]") + 1
        try:
            yield ast.literal_eval(reply[start:end])
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return


def read_fields(reply: str) -> dict[str, Any]:
    """The fields of an object, or of lines such as "**Answerable**: yes"; names in lower case with underscores.

    Lines without a label belong to the field before them.
    """
    value = read_json(reply)
    if isinstance(value, dict):
        return {_name(str(key)): value for key, value in value.items()}
    fields: dict[str, Any] = {}
    name = ""
    for line in reply.splitlines():
        match = _LABELLED.match(line)
        if match:
            name = _name(match.group(1))
            fields.setdefault(name, match.group(2).strip(_DRESS))
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
    text = one_line(str(value)).strip(_DRESS)
    return "" if text.casefold().rstrip(".!") in _NOTHING else text


def read_search(value: Any) -> str:
    """A text to search: its first line, and nothing where that holds no word or is longer than any search."""
    text = read_text(next(iter(value.strip().splitlines()), "") if isinstance(value, str) else value)
    return text if len(text) <= MAX_CHARACTERS and _WORD.search(text) else ""


def read_answer(reply: str, question: str) -> str:
    """The answer in a reply: without the question, which small models repeat, and without what was said before.

    Lines of fewer than three words may repeat; words that follow themselves at least twice are said once.
    """
    asked = normalised(question)
    lines: dict[str, str] = {}
    for number, line in enumerate(_AGAIN.sub(r"\1", reply).strip().splitlines()):
        text = _ANSWER_LABEL.sub("", line)
        key = normalised(unnumbered(text))
        if key != asked:
            lines.setdefault(key if len(key.split()) > 2 else f"{number}", text.rstrip())
    return "\n".join(lines.values()).strip()


def read_items(value: Any) -> tuple[str, ...]:
    """The texts of a list, or of lines or parts between semicolons; a comma belongs to its text."""
    parts = value if isinstance(value, list) else re.split(r"[;\n]", str(value)) if value is not None else []
    texts = (read_text(unnumbered(str(part)) if isinstance(part, str) else part) for part in parts)
    return tuple(dict.fromkeys(text for text in texts if text))


def read_ids(value: Any) -> tuple[int, ...]:
    """The numbers of a dependency, whatever stands around them: "sub 1", "1", "sub1, sub2", "SUB1."; none are below 0.

    What follows a "none" explains it.
    """
    text = str(value if value is not None else "")
    return () if _NO_IDS.match(text) else tuple(dict.fromkeys(map(int, _ID.findall(text))))


def _name(label: str) -> str:
    return re.sub(r"[\s-]+", "_", label.strip(_DRESS).lower())
