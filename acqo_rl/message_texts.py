"""Reads texts of programs: JSON, CSV and Python values, HTML, and lists of LangChain messages as Python prints them."""

from __future__ import annotations

import ast
import csv
import html
import json
import re
from contextlib import suppress
from typing import Any

from acqo_rl.message_fields import ROLE_KEYS, TEXT_KEYS, unreadable

_IN_HTML = re.compile(r"\s*<(?P<tag>p|div)(?:\s[^<>]*)?>.*</(?P=tag)>\s*", re.S | re.I)
_LINE_END = re.compile(r"<br\s*/?>|</(?:p|div|li|h\d|tr)>\s*", re.I)
_TAG = re.compile(r"</?[a-z][^<>]*>", re.I)
_PRINTED = re.compile(r"\s*\[\s*[A-Z]\w*Message(?:Chunk)?\(")

_SERIALISED_LIST = re.compile(r"\s*(?:[\[(]\s*(?:[{\"']|[\[(]\s*[\"'])|\{\s*[\"']|\"\s*[\[{]\s*[{\\])")
"""The beginning of a list of turns in JSON or in Python syntax."""
_YAML_LIST = re.compile(r"\s*(?:\w+:\s*\n\s*)?- (?:role|speaker|from|author|content|text): ")
_FENCED = re.compile(r"\s*```\w*\n(?P<text>.*?)\n?```\s*", re.S)


def written_value(text: str) -> Any:
    """The value of a text in JSON, JSON lines, CSV or Python syntax; ``None`` if the text does not start like a list.

    Raises:
        ConversationError: it starts like one, but it is damaged; or it is YAML.
    """
    text = text.removeprefix("\ufeff")
    if _YAML_LIST.match(text):
        raise unreadable(text)
    if (fenced := _FENCED.fullmatch(text)) and _SERIALISED_LIST.match(fenced["text"]):
        text = fenced["text"]
    if not _SERIALISED_LIST.match(text):
        return _csv_rows(text) or None
    for read in (json.loads, _json_lines, ast.literal_eval):
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            return read(text)
    raise unreadable(text)


def _json_lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _csv_rows(text: str) -> list[dict[str, str]]:
    """The rows of a table whose header names a speaker and a text; empty if the text is something else."""
    lines = text.lstrip().splitlines(keepends=True)
    for separator in ",\t;":
        names = [name.strip(' "\r\n').lower() for name in lines[0].split(separator)] if len(lines) > 1 else []
        if not {*names}.isdisjoint(ROLE_KEYS) and not {*names}.isdisjoint(TEXT_KEYS):
            return [
                {key: value for key, value in row.items() if isinstance(key, str) and isinstance(value, str)}
                for row in csv.DictReader(lines[1:], names, delimiter=separator, skipinitialspace=True)
            ]
    return []


def without_html(text: str) -> str:
    """The text of a message that is HTML in one or more paragraphs; other texts are returned unchanged."""
    if not _IN_HTML.fullmatch(text):
        return text
    return html.unescape(_TAG.sub("", _LINE_END.sub("\n", text))).strip()


def printed_messages(text: str) -> list[dict[str, object]]:
    """The messages in ``str()`` of a list of LangChain messages; empty if the text is something else."""
    if not _PRINTED.match(text):
        return []
    messages: list[dict[str, object]] = []
    with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
        listed = ast.parse(text.strip(), mode="eval").body
        for call in listed.elts if isinstance(listed, ast.List) else ():
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
                return []
            content = {k.arg: ast.literal_eval(k.value) for k in call.keywords if k.arg == "content"}
            messages.append({"role": call.func.id, "content": None, **content})
    return messages
