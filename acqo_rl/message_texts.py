"""Reads texts of programs: JSON, CSV and Python values, HTML, and lists of LangChain messages as Python prints them."""

from __future__ import annotations

import ast
import csv
import html
import json
import re
from contextlib import suppress
from typing import Any

from acqo_rl.message_fields import unreadable
from acqo_rl.speaker_marks import role_of

_IN_HTML = re.compile(r"\s*<(?P<tag>p|div)(?:\s[^<>]*)?>.*</(?P=tag)>\s*", re.S | re.I)
_LINE_END = re.compile(r"<br\s*/?>|</(?:p|div|li|h\d|tr)>\s*", re.I)
_TAG = re.compile(r"</?[a-z][^<>]*>", re.I)
_PRINTED = re.compile(r"\s*\[\s*[A-Z]\w*Message(?:Chunk)?\(")

_SERIALISED_LIST = re.compile(r"\s*(?:\[\s*[{\"']|[\[(]\s*[\[(]\s*[\"']|\{\s*[\"']|\"\s*[\[{]\s*[{\\])")
"""The beginning of a list of turns in JSON or in Python syntax."""
_YAML_LIST = re.compile(r"\s*(?:\w+:[^\S\n]*\n\s*)?- (?:role|speaker|from|author|content|text): ")
_SPEAKERS = ("role", "speaker", "from", "author", "sender")
_TEXTS = ("content", "text", "message", "utterance", "body")
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
    """The rows of a table with a speaker and a text in each row; empty if the text is something else."""
    lines = text.lstrip().splitlines(keepends=True)
    for separator in ",\t;":
        names = [name.strip(' "\r\n').lower() for name in lines[0].split(separator)] if len(lines) > 1 else []
        speaker, said = (next((name for name in names if name in known), "") for known in (_SPEAKERS, _TEXTS))
        if speaker and said:
            found: list[dict[str, str]] = []
            with suppress(csv.Error):  # a field is too long
                rows = csv.DictReader(lines[1:], names, delimiter=separator, skipinitialspace=True)
                found = [{"role": row[speaker] or "", "content": row[said] or ""} for row in rows]
            is_talk = all(row["role"] and row["content"] for row in found) and any(
                role_of(row["role"]) for row in found
            )
            return found if is_talk else []
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
