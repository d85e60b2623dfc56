"""Dates that fit the question, by an injected clock; similarities stay what they are."""

from datetime import date

import pytest

from acqo_rl.pipeline.state import RetrievalState
from acqo_rl.pipeline.temporal import TemporalReranker, period_in, stated_years
from acqo_rl.types import Document, Query

TODAY = date(2025, 6, 1)


def boosts(question, *texts, today=TODAY, metadata=None):
    state = RetrievalState(Query("q", question))
    state = TemporalReranker(lambda: today).run(state)
    documents = [Document(str(i), "", text, metadata or {}) for i, text in enumerate(texts)]
    state.passages.add([(document, 0.5) for document in documents], "initial")
    assert all(chunk.similarity == 0.5 for chunk in state.passages.found.values())
    return [round(state.passages.boost(chunk), 3) for chunk in state.passages.found.values()]


def test_the_newest():
    """By age, as of 2025; an undated passage is not punished, and a year to come is none."""
    texts = ("in 2024", "in 2023", "in 2021", "in 2015", "in 2014", "no date", "2048 tokens, port 2021", "by 2050")
    assert boosts("latest model", *texts) == [1.4, 1.4, 1.2, 1.0, 0.8, 1.0, 1.0, 1.0]
    assert boosts("latest model", "in 2024", today=date(2040, 1, 1)) == [0.8]


@pytest.mark.parametrize(
    ("question", "text", "dated", "undated"),
    [
        ("latest model", "about 1999", 1.4, 0.8),
        ("the trend of prices", "2010, 2015 and 2020", 1.3, 1.3),
        ("the trend of prices", "2010 and 2020", 1.3, 1.2),
        ("the trend of prices", "no year", 0.9, 0.9),
        ("what happened since 2023", "in 2018", 1.2, 0.8),
        ("2018 and 2024 compared", "in 2018", 1.3, 1.15),
        ("latest model", "by 2050", 1.4, 1.0),
    ],
)
def test_dates_and_years_of_the_text_both_count(question, text, dated, undated):
    assert boosts(question, text) == [undated]
    assert boosts(question, text, metadata={"date": "2024-03-01"}) == [dated]


@pytest.mark.parametrize(
    ("question", "years"),
    [
        ("what happened since March 2020", (2020, 2099)),
        ("coal production 2010\u20132016", (2010, 2016)),
        ("Between 1930 and 1974", (1930, 1974)),
        ("from 1999 until 2003", (1999, 2003)),
        ("fashion in the 1920s", (1920, 1929)),
        ("in 2018 and 2024", None),
        ("who ruled from the north", None),
    ],
)
def test_a_period_means_its_years(question, years):
    period = period_in(question)
    assert (period and (period[0], period[-1])) == years
    if period:
        texts = [f"in {year}" for year in (period[0] - 1, period[0], min(period[-1], TODAY.year), period[-1] + 1)]
        inside = [period[0] - 1 > 1499 and 0.8, 1.2, 1.2, period[-1] + 1 <= TODAY.year and 0.8]
        assert boosts(question, *texts) == [factor or 1.0 for factor in inside]


@pytest.mark.parametrize(
    "key", ["date", "Published", "publishedAt", "updated_at", "created-on", "modified_date", "year"]
)
@pytest.mark.parametrize(
    "value",
    ["2019-11-27T08:45:00Z", "27 Nov 2019", "20191127", 2019, date(2019, 11, 27)],
)
def test_dates_of_documents(key, value):
    assert stated_years({key: value, "size": 2024}) == {2019}


@pytest.mark.parametrize(
    "metadata",
    [{"birth_date": "2019"}, {"url": "2019"}, {"date": "unknown"}, {"date": None}, {"date": True}, {"date": 7}],
)
def test_no_dates(metadata):
    assert stated_years(metadata) == set()
