"""Temporal reranking: boosts passages whose dates match the time in a question, without a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date

from acqo_rl.pipeline.dates import stated_years
from acqo_rl.pipeline.state import Chunk, RetrievalState
from acqo_rl.reformulation.signals import has, years_in
from acqo_rl.text import one_line

_SINCE = re.compile(r"\b(?:since|after|from)\s+(?:the year\s+)?(\d{4})\b", re.I)
_TREND = re.compile(r"\b(?:trends?|over time|over the (?:years|decades)|evol(?:ved?|ution)|history of)\b", re.I)

_AGES = ((2, 1.4), (5, 1.2), (10, 1.0))
"""(Maximum age in years, factor); the factor of older passages is 0.8."""


class TemporalReranker:
    """Boosts the rank of passages whose dates match the question; the similarity itself does not change.

    The years of a passage are those of its dates and those in its title and text, without future years. If the question
    asks for the newest, passages without years keep factor 1.
    """

    name = "temporal"

    def __init__(self, dates: Mapping[str, date] | None = None, today: Callable[[], date] = date.today) -> None:
        """Creates the step.

        Args:
            dates: document id -> date, for documents without a date in their metadata; see
                :func:`acqo_rl.pipeline.dates.stated_years`.
            today: returns the current date; called for every question.
        """
        self._dates = dates or {}
        self._today = today

    def run(self, state: RetrievalState) -> None:
        """Sets the boost of the state, which applies to present and later passages."""
        today = self._today()
        text = one_line(state.query.text)
        asked = [year for year in years_in(text) if year <= today.year]
        since, trend = _SINCE.search(text), _TREND.search(text) or has("development", text)

        def boost(chunk: Chunk) -> float:
            years = self._years(chunk, today)
            if since:
                return _since(years, int(since.group(1)))
            if trend:
                return 1.3 if len(years) >= 3 else 1.2 if len(years) == 2 else 0.9
            if asked:
                return 1.0 + 0.3 * len(years & set(asked)) / len(set(asked))
            return _latest(years, today.year)

        state.boost = boost
        intent = "since" if since else "trend" if trend else "years" if asked else "latest"
        state.trace.add(self.name, f"intent {intent}, as of {today.isoformat()}")

    def _years(self, chunk: Chunk, today: date) -> set[int]:
        document = chunk.document
        years = stated_years(document.metadata).union(years_in(f"{document.title} {document.text}"))
        if document.id in self._dates:
            years.add(self._dates[document.id].year)
        return {year for year in years if year <= today.year}


def _latest(years: set[int], now: int) -> float:
    if not years:
        return 1.0
    age = now - max(years)
    return next((factor for limit, factor in _AGES if age <= limit), 0.8)


def _since(years: set[int], start: int) -> float:
    if not years:
        return 1.0
    return 1.2 if max(years) >= start else 0.8
