"""The years that a text names."""

from __future__ import annotations

import re

_YEAR = re.compile(
    r"(?<![\w.,:])(?:1[5-9]\d\d|20\d\d)(?![\w%]|[.,:]\d)"
    r"(?!\s*(?:tokens?|words?|dimensions?|items?|people|users?|documents?|pages?|bytes?|[kmg]?b|km|kg|ms|px|dollars?)\b)",
    re.I,
)
"""A year: no part of a longer number, no port, no amount of something ("port 2021" and "2048 tokens" are none)."""

_NO_YEAR_BEFORE = re.compile(
    r"(?:\b(?:port|room|error|code|rfc|iso|model|version|page|number|no\.?)|[$\u20ac\u00a3#])\s*$", re.I
)


def years_in(text: str) -> list[int]:
    """The years that a text names, in order."""
    return [int(m.group()) for m in _YEAR.finditer(text) if not _NO_YEAR_BEFORE.search(text[: m.start()][-20:])]
