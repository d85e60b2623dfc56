"""Dates that fit the question, by an injected clock; similarities stay what they are."""

from __future__ import annotations

from datetime import date

import pytest

from acqo_rl.pipeline.state import RetrievalState
from acqo_rl.pipeline.temporal import TemporalReranker
from acqo_rl.types import Document, Query

TODAY = date(2025, 6, 1)


def boosts(question, *texts, dates=None, today=TODAY):
    state = RetrievalState(Query("q", question))
    TemporalReranker(dates, lambda: today).run(state)
    chunks = state.add_chunks([(Document(str(i), "", text), 0.5) for i, text in enumerate(texts)], "initial", "q")
    assert all(chunk.similarity == 0.5 for chunk in state.chunks.values())
    return [round(state.boost(chunk), 3) for chunk in chunks]


def test_the_newest():
    """S4-16 by age (D4-06), as of 2025; an undated passage is not punished, and a year to come is none."""
    texts = ("in 2024", "in 2023", "in 2021", "in 2015", "in 2014", "no date", "2048 tokens, port 2021", "by 2050")
    assert boosts("latest model", *texts) == [1.4, 1.4, 1.2, 1.0, 0.8, 1.0, 1.0, 1.0]
    assert boosts("latest model", "in 2024", today=date(2040, 1, 1)) == [0.8]


def test_the_documents_own_date_comes_first():
    assert boosts("latest model", "about 1999", dates={"0": date(2025, 1, 1)}) == [1.4]


def test_trends_want_several_years():
    """S4-17."""
    assert boosts("the trend of prices", "2010, 2015 and 2020", "2010 and 2020", "2020", "none") == [1.3, 1.2, 0.9, 0.9]


def test_since_and_comparison():
    assert boosts("what happened since 2015", "in 2018", "in 2010", "none") == [1.2, 0.8, 1.0]
    assert boosts("2008 and 2020 compared", "2008 and 2020", "2008", "1999") == [1.3, 1.15, 1.0]


def test_the_worked_figures():
    """S4-18: 0.78 x 1.4 = 1.09 stands before 0.92 x 0.8 = 0.74; D4-04: what is calibrated is 0.78."""
    state = RetrievalState(Query("q", "the newest one"))
    state.add_chunks([(Document("old", "", "2009"), 0.92), (Document("new", "", "2024"), 0.78)], "initial", "q")
    TemporalReranker(today=lambda: TODAY).run(state)
    best, second = state.ranked()
    assert (best.document.id, best.similarity) == ("new", 0.78)
    assert best.similarity * state.boost(best) == pytest.approx(1.092)
    assert second.similarity * state.boost(second) == pytest.approx(0.736)
