"""Puts sub-questions and their dependencies on separate lines, with colons after the labels."""

from __future__ import annotations

import re

_SUB = re.compile(r"^([\W_]*)((?:[Ss]ub_?|SUB[ _-]?)\d{1,2})\b[*_]*[ \t]*(?:[|>)\]-][ \t]+)?(?=[^\W_])", re.M)
_DEPENDS = re.compile(r"^([\W_]*depends)[ \t]+(?=(?:none|sub[ _-]?\d)\b)", re.I | re.M)
_IN_LINE = re.compile(
    r"(?<=[\w?!.)\"'])[ \t,;|(\[\u2013\u2014-]*\b(depends(?:[ _-]on)?)[*_]*[ \t]*(?:[:=]|[|-](?=\s)|(?=none\b|sub\d))",
    re.I,
)
_NEXT_SUB = re.compile(r"(?<=\S)[ \t,;|]+(?=[*_]*sub[ _-]?\d{1,2}[*_]*[ \t]*[:.)]\s)", re.I)


def one_field_a_line(reply: str) -> str:
    """Splits "SUB1: x DEPENDS: none" into two lines, and adds colons to "SUB1 x" and "DEPENDS none"."""
    lines = _NEXT_SUB.sub("\n", _IN_LINE.sub(r"\n\1:", reply))
    return _DEPENDS.sub(r"\1: ", _SUB.sub(r"\1\2: ", lines))
