"""What makes a question hard, by rules alone: one that asks for the newest, one after another, or several at once."""

from __future__ import annotations

import re
from typing import Literal

from acqo_rl.text import one_line

Challenge = Literal["simple", "temporal", "multi_hop", "decomposition"]

YEAR = re.compile(
    r"(?<![\w.,:])(?:1[5-9]\d\d|20\d\d)(?![\w%]|[.,:]\d)"
    r"(?!\s*(?:tokens?|words?|dimensions?|items?|people|users?|documents?|pages?|bytes?|[kmg]?b|km|kg|ms|px|dollars?)\b)",
    re.I,
)
"""A year: no part of a longer number, no port, no amount of something ("port 2021" and "2048 tokens" are none)."""

_NO_YEAR_BEFORE = re.compile(
    r"(?:\b(?:port|room|error|code|rfc|iso|model|version|page|number|no\.?)|[$\u20ac\u00a3#])\s*$", re.I
)

_TEMPORAL = re.compile(
    r"\b(?:latest|newest|most recent(?:ly)?|recent(?:ly)?|currently|nowadays|up[- ]to[- ]date|as of (?:now|today)|"
    r"today|right now|th(?:is|ese) (?:year|month|week|days)|last (?:year|month|week|decade)|over the (?:years|decades)|"
    r"over time|trends?|evol(?:ved?|ution)|history of|since when|"
    r"the current (?:president|ceo|version|state|status|price|champion|population))\b",
    re.I,
)
_PARALLEL = re.compile(
    r"\b(?:compare[ds]?|comparing|comparison|vs\.?|versus|differen(?:ces?|t) between|differ(?:s|ences?)? from|"
    r"pros and cons|(?:advantages|benefits|strengths) and (?:disadvantages|drawbacks|risks|weaknesses)|"
    r"both .+ and|(?:and|as well as) (?:also )?(?:who|what|when|where|which|why|how)|respectively)\b",
    re.I,
)
_THING = r"(?:the|a|an|whose|his|her|its|their)\s+(?:[a-z][\w-]*\s+){0,2}?"
_ROLE = (
    r"(?:director|author|writer|founder|co-founder|ceo|wife|husband|spouse|father|mother|son|daughter|brother|sister|"
    r"composer|singer|performer|creator|inventor|developer|owner|producer|publisher|president|leader|mayor|capital|"
    r"birthplace|company|firm|team|country|city)"
)
_SEQUENTIAL = re.compile(
    # the firm that developed BERT; a company which was founded by ...
    rf"\b{_THING}[a-z][\w-]*\s+(?:that|who|which|whose|where)\s+(?!is\s+the\b)[a-z]+"
    # the spouse of the CEO of Microsoft
    rf"|\b{_ROLE}\s+of\s+(?:the\s+)?(?:[a-z][\w-]*\s+){{1,3}}(?:of|from|in|that|who)\b"
    # where was the director of Jaws born
    rf"|\b(?:where|when|who|which|what|how old)\b.*\bthe\s+{_ROLE}\s+of\s+.+\b(?:born|die[ds]?|buried|married|studied|"
    r"educated|graduated|work(?:s|ed)?|live[ds]?|located|from)\b"
    # Obama's wife's father
    r"|['\u2019]s\s+[a-z][\w-]*['\u2019]s\s"
    # relations along which one finding leads to the next (S1-32)
    r"|\brelationship between\b|\bhow (?:does|do|did|has|have) .+ (?:affect|influence|impact)\w*\b|\bwhat led to\b",
    re.I,
)


def years_in(text: str) -> list[int]:
    """The years that a text names, in order."""
    return [int(m.group()) for m in YEAR.finditer(text) if not _NO_YEAR_BEFORE.search(text[: m.start()][-20:])]


def find_challenges(text: str) -> tuple[Challenge, ...]:
    """The challenges whose signs a question shows; ``simple`` where it shows none (S4-09, 10, 12)."""
    text = one_line(text)
    found: list[Challenge] = []
    if _TEMPORAL.search(text) or years_in(text):
        found.append("temporal")
    if _SEQUENTIAL.search(text):
        found.append("multi_hop")
    if _PARALLEL.search(text) or text.count("?") + text.count("\uff1f") > 1 or _count_and(text) > 1:
        found.append("decomposition")
    return tuple(found) or ("simple",)


def _count_and(text: str) -> int:
    return len(re.findall(r"\band\b", text, re.I))
