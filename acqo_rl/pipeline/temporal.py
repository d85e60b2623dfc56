"""Temporal reranking: boosts passages whose dates match the time in a question, without a model."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from acqo_rl.pipeline.passages import Chunk
from acqo_rl.pipeline.state import RetrievalState
from acqo_rl.reformulation.lexicon import years_in
from acqo_rl.text import one_line

_PERIOD = re.compile(
    r"\b(?:(?P<bound>since|after|from|before|until|between)\s+(?:[^\W\d]+\s+|\d{1,2}(?:st|nd|rd|th)?\s+){0,3})?"
    r"(?P<first>\d{4})(?P<decade>'?s)?\b(?:\s*(?P<to>to|until|till|through|and|[-\u2013])\s*(?P<last>\d{4})\b)?",
    re.I,
)
"""Years with what makes them a period: a word before them, a second year, or the ending of a decade."""
_TREND = re.compile(
    r"\b(?:trends?|over time|over the (?:years|decades)|evol(?:ved?|ution)|history of"
    r"|how (?:did|have|has|do) .{1,80} (?:change|develop)d?)\b",
    re.I,
)

_AGES = ((2, 1.4), (5, 1.2), (10, 1.0))
"""(Maximum age in years, factor); the factor of older passages is 0.8."""

_DATE_KEY = re.compile(r"(?:date|year|timestamp|(?:publish|creat|updat|modifi)ed)(?:at|on|date)?", re.I)
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?=\D|$|(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?!\d))")
"""A year, alone or at the beginning of YYYYMMDD."""


@dataclass(frozen=True)
class TemporalReranker:
    """Boosts the rank of passages whose dates match the question; the similarity itself does not change.

    The years of a passage are those of its metadata (:func:`stated_years`) and those in its title and text, without
    future years. If the question asks for the newest, passages without years keep factor 1.

    Attributes:
        today: returns the current date; called for every question.
    """

    today: Callable[[], date] = date.today

    name = "temporal"

    def run(self, state: RetrievalState) -> RetrievalState:
        """Sets the boost of the state, which applies to present and later passages."""
        today = self.today()
        text = one_line(state.query.text)
        asked = {year for year in years_in(text) if year <= today.year}
        period = period_in(text)
        trend = _TREND.search(text)

        def boost(chunk: Chunk) -> float:
            document = chunk.document
            stated = stated_years(document.metadata).union(years_in(f"{document.title} {document.text}"))
            years = {year for year in stated if year <= today.year}
            if period:
                return 1.0 if not years else 1.2 if any(year in period for year in years) else 0.8
            if trend:
                return 1.3 if len(years) >= 3 else 1.2 if len(years) == 2 else 0.9
            if asked:
                return 1.0 + 0.3 * len(years & asked) / len(asked)
            age = today.year - max(years, default=today.year)
            return next((factor for limit, factor in _AGES if age <= limit), 0.8) if years else 1.0

        state.passages.boost = boost
        intent = "trend" if trend else "years" if asked else "latest"
        if period:
            intent = f"years {period[0]} to {period[-1]}"
        state.journal.trace.add(self.name, f"intent {intent}, as of {today.isoformat()}")
        return state


def period_in(question: str) -> range | None:
    """The years of the first period in a question: "since March 2020", "2010 to 2016", "in the 1990s", "before 1950".

    An open end is 2099, an open beginning 1500. ``None`` if there are only single years, or none.
    """
    for match in _PERIOD.finditer(question):
        bound = (match["bound"] or "").lower()
        first = int(match["first"])
        if match["decade"]:
            return range(first, first + 10)
        if match["last"] and (match["to"] != "and" or bound == "between"):
            return range(first, int(match["last"]) + 1)
        if bound in ("since", "after", "from"):
            return range(first, 2100)
        if bound in ("before", "until"):
            return range(1500, first + 1)
    return None


def stated_years(metadata: Mapping[str, Any]) -> set[int]:
    """The years of a document's dates in its metadata.

    A date has the key ``date``, ``year``, ``timestamp``, ``published``, ``created``, ``updated`` or ``modified``, also
    with ``_at``, ``_on`` or ``_date``, in any case. Its value has a year of four digits; Unix times are not read.
    """
    stated = [str(value) for key, value in metadata.items() if _DATE_KEY.fullmatch(re.sub(r"[\W_]", "", key))]
    return {int(year) for text in stated for year in _YEAR.findall(text)}
