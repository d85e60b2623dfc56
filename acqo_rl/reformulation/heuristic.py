"""Rules: the baseline that costs nothing, and a source of candidates for the warm start.

Signals are matched at word boundaries ("android" holds no "and"), and an ambiguous name counts only where nothing
beside it says which reading is meant ("apple pie recipe" is about fruit).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from acqo_rl.reformulation.pass_through import pass_through
from acqo_rl.text import distinct, normalised, one_line
from acqo_rl.types import Query, Reformulation, Route, SubQuery

READINGS = {
    "apple": ("company", "fruit"),
    "jaguar": ("animal", "car"),
    "java": ("programming language", "island"),
    "mercury": ("planet", "element", "mythology"),
    "python": ("programming language", "snake"),
    "saturn": ("planet", "mythology"),
}

_LONGEST = 1_000
"""Characters; a longer text is no question that the rules were made for, and they would take long to fail on it."""

NAME_WORD = r"[^\W\d_a-z](?:\.(?=\s)|[\w'\u2019-]*(?:\.[\w'\u2019-]+)*)"
"""A capitalised word or an initial; the dot that ends a sentence is no part of it."""
_NAME = rf"{NAME_WORD}(?:\s+(?:de|la|del|da)?\s*{NAME_WORD})*"
_CAPITALISED = re.compile(rf"\b{_NAME}")
_LIST = re.compile(
    rf"\b(?:between\s+|both\s+)?({_NAME}(?:\s*,\s*{_NAME})*)\s*,?\s*(?:\band\b|\bor\b|\bvs\b\.?|\bversus\b|&)\s*({_NAME})"
)
_COMPARATIVE = re.compile(
    r"\b(?:compare[ds]?|comparison|comparing|vs|versus|differen(?:ces?|t)|"
    r"(?:more|less|larger|smaller|higher|lower) than)\b",
    re.I,
)
_COMPARING_WORDS = re.compile(
    r"\b(?:compare|comparison of|comparing|(?:what (?:is|are) )?(?:the )?differences?(?: in| of| between)?)\b\s*",
    re.I,
)
_YEAR = re.compile(r"\b(?:1[5-9]\d\d|20\d\d)\b")
_ASK = r"(?:who|what|when|where|which|why|how|is|are|was|were|do|does|did|can|tell|give|list|name)\b"
_NEXT_NEED = re.compile(rf"\s*(?:\?|;|,?\s+and\s+(?:also\s+)?(?={_ASK}))\s*", re.I)
_REFERENCE = re.compile(
    r"\b(?:it|its|it's|they|their|them|he|she|his|her|him|this|that|these|those|there|one|former|latter|same|"
    r"what about|how about)\b",
    re.I,
)
_OPENERS = """
a an and are at can compare comparing did do does for give how i in is it list name no of on or please tell the
their there they this to u s was we were what when where which who whose why yes you
"""
_STARTERS = frozenset(_OPENERS.split())


def classify(query: Query) -> Route:
    """The route the signals of S0-02 point at: references and known ambiguous names, then signs of several needs."""
    text = one_line(query.text)
    if len(text) > _LONGEST:
        return "pass"
    if query.history and _REFERENCE.search(text):
        return "disambiguate"
    if _readings(text):
        return "disambiguate"
    several_periods = len(set(_YEAR.findall(text))) > 1
    compares = bool(_COMPARATIVE.search(text)) and len(_names(text)) > 1
    if several_periods or compares or _find_list(text) or len(_clauses(text)) > 1:
        return "decompose"
    return "pass"


def rewrite(query: Query, route: Route) -> tuple[SubQuery, ...]:
    """Self-contained sub-queries for a route; the query itself where the rules find none (S0-04, 05, 17)."""
    original = SubQuery(query.text, "original")
    text = one_line(query.text)
    if route == "disambiguate":
        mentioned = [name for turn in reversed(query.history) for name in reversed(_names(turn))]
        if mentioned and query.history and _REFERENCE.search(text):
            return (SubQuery(f"{mentioned[0]} {text}", "reading"),)
        asked = text.rstrip(" ?!.")
        return tuple(SubQuery(f"{asked} {reading}", "reading") for reading in _readings(text)) or (original,)
    if route == "decompose":
        parts = _one_for_each_name(text) or _one_for_each_period(text) or _with_subject(text)
        return distinct(SubQuery(part, "part") for part in parts) or (original,)
    return (original,)


class Heuristic:
    """Classifies and rewrites by rules alone."""

    name = "rules"

    def __init__(self, max_sub_queries: int = 3) -> None:
        self.max_sub_queries = max_sub_queries

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """One reformulation a query, position for position."""
        return [self._reformulate(query) for query in queries]

    def _reformulate(self, query: Query) -> Reformulation:
        route = classify(query)
        sub_queries = rewrite(query, route)[: self.max_sub_queries]
        if normalised(sub_queries[0].text) == normalised(query.text):
            return pass_through(query, self.name)
        return Reformulation(query, route, sub_queries, self.name)


def _names(text: str) -> list[str]:
    """Capitalised spans in order; a lone word that often opens a sentence is none."""
    spans = (match.group().strip(" .") for match in _CAPITALISED.finditer(text))
    opened = (re.sub(r"^(?:\w+'?\w*)\s+", "", s) if s.split()[0].lower() in _STARTERS else s for s in spans)
    return [s for s in opened if s.lower() not in _STARTERS]


def _readings(text: str) -> tuple[str, ...]:
    """Readings of a name that stands alone, apart from words that only ask."""
    words = [w for w in re.findall(r"\w+", text.lower()) if w not in _STARTERS and w not in ("about", "me")]
    return READINGS.get(words[0], ()) if len(words) == 1 else ()


def _clauses(text: str) -> list[str]:
    return [clause for clause in (part.strip(" ,.") for part in _NEXT_NEED.split(text)) if len(clause.split()) > 1]


def _with_subject(text: str) -> list[str]:
    """The clauses; one that only refers ("when was it built") is told the last name before it."""
    clauses: list[str] = []
    subject = ""
    for clause in _clauses(text):
        names = _names(clause)
        refers = subject and not names and _REFERENCE.search(clause)
        clauses.append(f"{subject} {clause}" if refers else clause)
        subject = names[-1] if names else subject
    return clauses


def _find_list(text: str) -> re.Match[str] | None:
    """The first list of names; a capital that only opens the sentence begins none."""
    opener, space, rest = text.partition(" ")
    return _LIST.search(f"{opener.lower()}{space}{rest}" if opener.lower() in _STARTERS else text)


def _one_for_each_name(text: str) -> list[str]:
    """The text once for each name of a list in it: what is asked of all is repeated for each."""
    match = _find_list(text)
    if match is None:
        return []
    names = [*(name.strip() for name in match.group(1).split(",")), match.group(2)]
    around = _COMPARING_WORDS.sub("", text[: match.start()]), text[match.end() :]
    return [" ".join(f"{around[0]}{name}{around[1]}".split()) for name in names]


def _one_for_each_period(text: str) -> list[str]:
    years = list(dict.fromkeys(_YEAR.findall(text)))
    if len(years) < 2:
        return []
    without = re.sub(r"\s+(?:and|or|to|versus|vs)\s+(?=\s|$|\?)", " ", _YEAR.sub("", text))
    base = " ".join(without.split()).rstrip(" ?")
    return [f"{base} {year}" for year in years]
