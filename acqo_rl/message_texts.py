"""Reads texts of programs: HTML in messages, and lists of LangChain messages as Python prints them."""

from __future__ import annotations

import ast
import html
import re
from contextlib import suppress

_IN_HTML = re.compile(r"\s*<(?P<tag>p|div)(?:\s[^<>]*)?>.*</(?P=tag)>\s*", re.S | re.I)
_LINE_END = re.compile(r"<br\s*/?>|</(?:p|div|li|h\d|tr)>\s*", re.I)
_TAG = re.compile(r"</?[a-z][^<>]*>", re.I)
_PRINTED = re.compile(r"\s*\[\s*[A-Z]\w*Message(?:Chunk)?\(")


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
