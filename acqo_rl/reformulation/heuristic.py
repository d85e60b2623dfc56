"""Rules: the baseline that costs nothing, and a source of candidates for the warm start."""

from __future__ import annotations

import re
from collections.abc import Sequence

from acqo_rl.reformulation.classify import route_of
from acqo_rl.reformulation.pass_through import pass_through
from acqo_rl.reformulation.signals import REFERENCE, asked_first, clauses, find_list, last_said, names, readings
from acqo_rl.reformulation.years import without_years, years_in
from acqo_rl.text import distinct, normalised, one_line
from acqo_rl.types import Query, Reformulation, Route, SubQuery

_COMPARING_WORDS = re.compile(
    r"\b(?:compare|comparison of|comparing|(?:what (?:is|are) )?(?:the )?differences?(?: in| of| between)?)\b\s*",
    re.I,
)


def rewrite(query: Query, route: Route) -> tuple[SubQuery, ...]:
    """Self-contained sub-queries for a route; the query itself where the rules find none (S0-04, 05, 17)."""
    original = SubQuery(query.text, "original")
    text = one_line(query.text)
    if route == "disambiguate":
        known = _readings(text, query.history)
        if known:
            return known
        behind = last_said(asked_first(query.history), names)[:2]
        return (SubQuery(" ".join([text, *behind]), "expansion") if behind else original,)
    if route == "decompose":
        parts = _one_for_each_name(text) or _one_for_each_period(text) or _with_subject(text)
        split = distinct(SubQuery(part, "part") for part in parts)
        return split if len(split) > 1 else (original,)
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
        route = route_of(query)
        sub_queries = rewrite(query, route)[: self.max_sub_queries]
        if normalised(sub_queries[0].text) == normalised(query.text):
            return pass_through(query, self.name)
        return Reformulation(query, route, sub_queries, self.name)


def _readings(text: str, history: Sequence[str]) -> tuple[SubQuery, ...]:
    """One search a reading; one that the conversation speaks of comes first and counts twice as much (S0-21)."""
    asked = text.rstrip(" ?!.")
    talk = " ".join(history).lower()
    spoken_of = {r for r in readings(text) if any(re.search(rf"\b{word}", talk) for word in r.split())}
    ordered = sorted(readings(text), key=lambda reading: reading not in spoken_of)
    return tuple(
        SubQuery(f"{asked} {reading}", "reading", 0.5 if spoken_of and reading not in spoken_of else 1.0)
        for reading in ordered
    )


def _with_subject(text: str) -> list[str]:
    """The clauses; one that only refers ("when was it built") is told the last name before it."""
    told: list[str] = []
    subject = ""
    for clause in clauses(text):
        named = names(clause)
        refers = subject and not named and REFERENCE.search(clause)
        told.append(f"{subject} {clause}" if refers else clause)
        subject = named[-1] if named else subject
    return told


def _one_for_each_name(text: str) -> list[str]:
    """The text once for each name of a list in it: what is asked of all is repeated for each."""
    match = find_list(text)
    if match is None:
        return []
    listed = [*(name.strip() for name in match.group(1).split(",")), match.group(2)]
    around = _COMPARING_WORDS.sub("", text[: match.start()]), text[match.end() :]
    return [" ".join(f"{around[0]}{name}{around[1]}".split()) for name in listed]


def _one_for_each_period(text: str) -> list[str]:
    years = list(dict.fromkeys(years_in(text)))
    if len(years) < 2:
        return []
    without = re.sub(r"\s+(?:and|or|to|versus|vs)\s+(?=\s|$|\?)", " ", without_years(text))
    base = " ".join(without.split()).rstrip(" ?")
    return [f"{base} {year}" for year in years]
