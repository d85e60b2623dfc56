"""Temporal reranking: what a question wants of time, and how well a passage's dates fit it. No model is asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date

from acqo_rl.pipeline.dates import stated_years
from acqo_rl.pipeline.state import Chunk, RetrievalState
from acqo_rl.reformulation.years import years_in
from acqo_rl.text import one_line

_SINCE = re.compile(r"\b(?:since|after|from)\s+(?:the year\s+)?(\d{4})\b", re.I)
_TREND = re.compile(r"\b(?:trends?|over time|over the (?:years|decades)|evol(?:ved?|ution)|history of)\b", re.I)

_AGES = ((2, 1.4), (5, 1.2), (10, 1.0))
"""Factors up to an age in years, and 0.8 above."""


class TemporalReranker:
    """Boosts the similarity of passages whose dates fit the question; the similarity itself stays as it is.

    The years of a document's dates count, and those that its title and text name; years to come do not. A passage
    without any is neither boosted nor punished where the newest are wanted.
    """

    name = "temporal"

    def __init__(self, dates: Mapping[str, date] | None = None, today: Callable[[], date] = date.today) -> None:
        """Takes the clock.

        Args:
            dates: document id -> date, for documents whose metadata does not state it; see
                :func:`acqo_rl.pipeline.dates.stated_years`.
            today: asked at every question.
        """
        self._dates = dates or {}
        self._today = today

    def run(self, state: RetrievalState) -> None:
        """Sets the state's boost, for the passages there and those still to come."""
        today = self._today()
        text = one_line(state.query.text)
        asked = [year for year in years_in(text) if year <= today.year]
        since, trend = _SINCE.search(text), _TREND.search(text)

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
