"""Finds years in a text."""

from __future__ import annotations

import re

from acqo_rl.reformulation.signals import HAN

_UNITS = (
    r"(?:tokens?|words?|dimensions?|bytes?|bits?|[kmg]?b|km|kg|ms|px|rpm|(?:kilo)?met(?:er|re)s?|calories|dollars?|euros?"
    r"|x\s*\d+)\b"
)
_COUNTED = r"(?:items?|people|users?|documents?|pages?)\b"
_YEAR = re.compile(
    rf"(?<![.,:])(?<![A-Za-z]/)(?<![^\W{HAN}])(?:1[5-9]\d\d|20\d\d)(?![^\W{HAN}]|%|[.,:]\d)"
    rf"(?![\s-]*{_UNITS})(?:(?<=\bin\s\d{{4}})|(?<=\bsince\s\d{{4}})|(?!\s*{_COUNTED}))",
    re.I,
)
"""A year that is not part of a longer number, a port or an amount ("port 2021", "2048 tokens").

In Chinese, no space follows a year.
"""

HOW_IT_CHANGED = re.compile(
    r"\bhow did (?!(?:i|we|you)\b)[^?]{1,80}? (?:evolve|change|develop)"
    r"(?=\W*$| (?:in|over|since|during|from|between|after|before|through|throughout|until|with|under)\b)"
    r"|\bhow (?!(?:to|do|does|can|should)\b)[^?]{1,80}? (?:evolved|changed|developed)\b",
    re.I,
)
"""A question about a development: "How did inflation evolve?"."""

_NO_YEAR_BEFORE = re.compile(
    r"(?:\b(?:ports?|room|error|code|rfc|iso|model|version|page|number|no\.?|bus|flight|line)|[$\u20ac\u00a3#])\s*$",
    re.I,
)


def years_in(text: str) -> list[int]:
    """The years (1500 to 2099) in a text, in order."""
    return [int(match.group()) for match in _matches(text)]


def _matches(text: str) -> list[re.Match[str]]:
    return [m for m in _YEAR.finditer(text) if not _NO_YEAR_BEFORE.search(text[: m.start()][-20:])]
