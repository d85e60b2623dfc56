"""Years in a text, and marks: characters of the private use area that stand for its names and years."""

from __future__ import annotations

import re
from collections.abc import Mapping

from acqo_rl.reformulation.lexicon import Lexicon

MARK = "[\ue000-\uf8ff]"
"""Expression for a mark."""

FIRST_YEAR = "\uf000"
"""Marks of names come before it."""

_YEAR = re.compile(
    r"(?<![\w.,:/$\u20ac#-])(?:1[5-9]|20)\d\d(?![\w%]|[.,:]\d|-\d| ?(?:tokens?|words?|b(?:it|yte)s?|px|k[mg]|m)\b)"
)
_NUMBERED = re.compile(r"(?:ports?|room|error|code|rfc|iso|model|version|page|number|no\.?|bus|flight|line) $", re.I)


def years_in(text: str) -> list[int]:
    """The years (1500 to 2099) in a text, in order; "port 2021" and "2048 tokens" have none."""
    return [int(m[0]) for m in _YEAR.finditer(text) if not _NUMBERED.search(text[: m.start()][-12:])]


def marks_of(text: str, lexicon: Lexicon) -> dict[str, str]:
    """Mark -> name or year, for the distinct names and years of a text, which has no marks."""
    names = dict.fromkeys(lexicon.names(text))
    years = dict.fromkeys(str(year) for year in years_in(text) if not any(str(year) in name for name in names))
    marks = {chr(0xE000 + place): name for place, name in enumerate(names)}
    return marks | {chr(ord(FIRST_YEAR) + place): year for place, year in enumerate(years)}


def with_marks(text: str, marks: Mapping[str, str]) -> str:
    """The text with marks in place of their names and years."""
    for mark, name in sorted(marks.items(), key=lambda item: -len(item[1])):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", mark, text)
    return text


def without_marks(text: str, marks: Mapping[str, str]) -> str:
    """The text with names and years in place of their marks."""
    return re.sub(MARK, lambda mark: marks[mark[0]], text)
