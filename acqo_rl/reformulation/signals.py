"""Surface signals of a question that the rules and the classifier share: names, lists, clauses, years, references.

Signals are matched at word boundaries ("android" holds no "and"), and an ambiguous name counts only where nothing
beside it says which reading is meant ("apple pie recipe" is about fruit).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

READINGS = {
    "apple": ("company", "fruit"),
    "jaguar": ("animal", "car"),
    "java": ("programming language", "island"),
    "mercury": ("planet", "element", "mythology"),
    "python": ("programming language", "snake"),
    "saturn": ("planet", "mythology"),
}

LONGEST = 1_000
"""Characters; a longer text is no question that the rules were made for, and they would take long to fail on it."""

NAME_WORD = r"[^\W\d_a-z](?:\.(?=\s)|[\w'\u2019-]*(?:\.[\w'\u2019-]+)*)"
"""A capitalised word or an initial; the dot that ends a sentence is no part of it."""
_NAME = rf"{NAME_WORD}(?:\s+(?:de|la|del|da)?\s*{NAME_WORD})*"
_CAPITALISED = re.compile(rf"\b{_NAME}")
_LIST = re.compile(
    rf"\b(?:between\s+|both\s+)?({_NAME}(?:\s*,\s*{_NAME})*)\s*,?\s*(?:\band\b|\bor\b|\bvs\b\.?|\bversus\b|&)\s*({_NAME})"
)
HAN = r"\u4e00-\u9fff"
_HAN_WORDS = re.compile(rf"[{HAN}]{{2}}")
_ASK = (
    r"(?:who|what|when|where|which|why|how|is|are|was|were|do|does|did|can|tell|give|list|name"
    r"|wer|was|wann|wo|welche[mnrs]?|warum|wie|qui[e\u00e9]n(?:es)?|qu\u00e9|cu[a\u00e1]ndo|d[o\u00f3]nde|c[o\u00f3]mo"
    r"|cu[a\u00e1]nt[oa]s?|cu[a\u00e1]l(?:es)?|por\s+qu\u00e9|wieso|wem|wen|quand|o\u00f9|quel(?:le)?s?|combien|comment|pourquoi|qui)\b"
)
_BEFORE_ASK = r"(?:in|at|to|from|by|for|on|with|ab|an|auf|zu|mit|von|seit|a|de|en|por|con|\u00e0|par|pour|avec)"
_NEXT_NEED = re.compile(
    rf"\s*(?:[?;\uff1f\uff1b]|,?\s+(?:and|plus|und|y|et)\s+(?:also\s+|auch\s+|tambi\u00e9n\s+)?(?=(?:{_BEFORE_ASK}\s+)?{_ASK}))\s*",
    re.I,
)
SQL = re.compile(
    r"""\s*(?:select\b.+\bfrom\s+\S+(?:\s+\w+)?\s*(?:$|[;,)]|\b(?:where|join|inner|left|group|order|limit)\b)
    |insert\s+into\s+\w+\s*[(]|update\s+\S+\s+set\b.+=|delete\s+from\s+\w+\s*(?:$|;|where\b)|create\s+table\s+\w+\s*[(])""",
    re.I | re.X,
)
"""A statement in a query language is no question: nothing in it is to be said otherwise (S2-08)."""
REFERENCE = re.compile(
    r"\b(?:it|its|it's|they|their|them|he|she|his|her|him|this|that|these|those|there|one|former|latter|same|"
    r"what about|how about)\b",
    re.I,
)
_SPEAKER = re.compile(r"^\s*(?:[A-Z]|\w{2,12}):\s+")
_OPENERS = """
a an and are at can compare comparing did do does for give how i in is it list name no of on or please tell the
their there they this to u s was we were what when where which who whose why yes you
"""
_STARTERS = frozenset(_OPENERS.split())


def newest_first(history: Sequence[str]) -> list[str]:
    """The turns without the marks of their speakers."""
    return [_SPEAKER.sub("", turn) for turn in reversed(history)]


def asked_first(history: Sequence[str]) -> list[str]:
    """The turns without those marks, newest first, those of the user before all of the system's."""
    turns = newest_first(history)
    return [*turns[1::2], *turns[::2]]


def last_said(turns: Iterable[str], spans: Callable[[str], Sequence[str]]) -> list[str]:
    """The distinct spans of the turns, turn by turn, in each the last one first."""
    return list(dict.fromkeys(span for turn in turns for span in reversed(spans(turn))))


def names(text: str) -> list[str]:
    """Capitalised spans in order; a lone word that often opens a sentence is none."""
    spans = (match.group().strip(" .") for match in _CAPITALISED.finditer(text))
    opened = (re.sub(r"^(?:\w+'?\w*)\s+", "", s) if s.split()[0].lower() in _STARTERS else s for s in spans)
    return [s for s in opened if s.lower() not in _STARTERS]


def readings(text: str) -> tuple[str, ...]:
    """Readings of a name that stands alone, apart from words that only ask."""
    words = [w for w in re.findall(r"\w+", text.lower()) if w not in _STARTERS and w not in ("about", "me")]
    return READINGS.get(words[0], ()) if len(words) == 1 else ()


def clauses(text: str) -> list[str]:
    """What the text asks one after the other; a single word is no clause, but two Chinese characters may be."""
    parts = (part.strip(" ,.") for part in _NEXT_NEED.split(text))
    return [part for part in parts if len(part.split()) > 1 or _HAN_WORDS.search(part)]


def find_list(text: str) -> re.Match[str] | None:
    """The first list of names; a capital that only opens the sentence begins none."""
    opener, space, rest = text.partition(" ")
    return _LIST.search(f"{opener.lower()}{space}{rest}" if opener.lower() in _STARTERS else text)
