"""Reads TREC files: collections of ``<DOC>`` elements and topics, in SGML or XML."""

from __future__ import annotations

import gzip
import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from acqo_rl.data.files.pages import strip_html
from acqo_rl.data.lines import Faults

_BLOCK = re.compile(r"<(doc|top|topic)\b([^>]*)>(.*?)</\1>", re.I | re.S)
_ATTRIBUTE = re.compile(r"\b(number|id|qid)\s*=\s*[\"']?([^\"'\s>]+)", re.I)
_CLOSED = re.compile(r"<(\w+)[^>]*>(.*?)</\1>", re.S)
_OPEN = re.compile(r"<(\w+)[^>]*>([^<]*)")
_NAMED = ("docno", "dochdr", "title", "headline", "head")
"""Fields of a document that do not belong to its text."""
_LABEL = re.compile(r"\A\s*(?:Number|Topic|Description|Narrative)\s*:", re.I)


def is_trec(path: Path) -> bool:
    """Whether a file starts like a TREC collection or TREC topics."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            begin = file.read(4096).decode("latin-1").lstrip("\ufeff\xef\xbb\xbf \r\n\t")
    except (OSError, EOFError):
        return False
    return bool(re.match(r"(?:<\?xml[^>]*>|<!--.*?-->|<!doctype[^>]*>|\s)*<(?:doc|top|topics?)\b", begin, re.I | re.S))


def read_trec(path: Path, faults: Faults) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields the documents or topics of a file, each with the number of its first line.

    Field names are the tags in lower case; attributes of a topic, such as ``number``, are fields too. If a document has
    neither ``text`` nor ``body``, its text is everything except its number, title and header.
    """
    try:
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError) as error:
        faults.add(path, None, f"cannot be read ({error}).")
        return
    text = _decode(content.removeprefix(b"\xef\xbb\xbf"))
    line, end = 1, 0
    for block in _BLOCK.finditer(text):
        line, end = line + text.count("\n", end, block.start()), block.start()
        row = _read_document(block[3]) if block[1].lower() == "doc" else _read_topic(block[3])
        yield line, {**{name.lower(): value for name, value in _ATTRIBUTE.findall(block[2])}, **row}


def _decode(content: bytes) -> str:
    """Decodes UTF-8, else Latin-1, which older collections use."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _read_document(block: str) -> dict[str, Any]:
    fields: dict[str, list[str]] = {}
    for match in _CLOSED.finditer(block):
        fields.setdefault(match[1].lower(), []).append(_text(match[2]))
    row = {name: "\n\n".join(filter(None, texts)) for name, texts in fields.items()}
    if row.get("text") or row.get("body"):
        return row
    named = {name: row[name] for name in _NAMED if name in row}
    return {**named, "text": _text(_CLOSED.sub(lambda match: "" if match[1].lower() in _NAMED else match[0], block))}


def _read_topic(block: str) -> dict[str, Any]:
    """Reads fields with or without closing tags; ``<num> Number: 301`` gives 301."""
    fields = {match[1].lower(): match[2] for match in _OPEN.finditer(block)}
    return {name: " ".join(html.unescape(_LABEL.sub("", value)).split()) for name, value in fields.items()}


def _text(markup: str) -> str:
    return strip_html(markup) if "<" in markup else html.unescape(markup).strip()
