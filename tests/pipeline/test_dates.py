"""The dates of documents, in the forms that corpora write them."""

from __future__ import annotations

from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.pipeline.dates import stated_years

DAYS = st.dates(date(1975, 1, 2), date(2090, 12, 30))


@pytest.mark.parametrize(
    "value",
    [
        "2019-11-27",
        "2019-11-27T08:45:00+00:00",
        "2019-11-27 08:45:00",
        "2019/11/27",
        "27.11.2019",
        "27/11/2019",
        "November 27, 2019",
        "27 Nov 2019",
        "Wed, 27 Nov 2019 08:45:00 GMT",
        "2019 Nov",
        "2019\u5e7411\u670827\u65e5",
        "27/11/19",
        "11/27/19 08:45",
        {"iso": "2019-11-27", "zone": "UTC"},
        {"date-parts": [[2019, 11, 27]]},
        "20191127",
        "20191127T084500Z",
        "20191127084500",
        "201911270845",
        "2019-11",
        "2019",
        2019,
        2019.0,
        20191127,
        1574844300,
        1574844300.25,
        "1574844300",
        1574844300000,
        1574844300000000,
        1574844300000000000,
        date(2019, 11, 27),
        datetime(2019, 11, 27, 8, 45),
        ["2019-11-27"],
    ],
)
def test_forms(value):
    assert stated_years({"date": value}) == {2019}


@pytest.mark.parametrize(
    "key",
    ["date", "Date", "published", "published_at", "publishedAt", "publication_date", "pub-date", "publish_time", "year",
     "created", "created_at", "creationDate", "timestamp", "modified", "last_modified", "updated_at", "dc.date",
     "article:published_time", "datePublished", "release_date", "date_of_publication",
     "lastmod", "mtime", "dcterms.issued", "dcterms.created", "upload_date", "uploaded", "date_added",
     "first_published", "publish_date_utc", "timestamp_ms", "last_edited_time", "created_utc", "\u65e5\u671f", "fecha"],
)  # fmt: skip
def test_keys_of_dates(key):
    assert stated_years({key: "2019-11-27"}) == {2019}


@pytest.mark.parametrize(
    "key",
    [
        "url",
        "title",
        "birth_date",
        "accessed",
        "expires",
        "pages",
        "doi",
        "updated_by",
        "event_date",
        "due_date",
        "position",
        "addon",
        "creator",
        "mode",
        "date" * 999 + "x",
    ],
)
def test_other_keys_are_no_dates(key):
    assert stated_years({key: "2019-11-27"}) == set()


@pytest.mark.parametrize("value", ["", "unknown", "3 March", None, True, 7, -1, "0000-00-00", 9e40, {"a": 1}, []])
def test_what_states_no_year(value):
    assert stated_years({"date": value}) == set()


def test_all_dates_count():
    assert stated_years({"created": "2011-01-01", "updated": ["2015-06-01", 1574844300], "size": 2020}) == {
        2011, 2015, 2019
    }  # fmt: skip


@given(DAYS, st.sampled_from(["%Y-%m-%d", "%d.%m.%Y", "%B %d, %Y", "%Y%m%d", "%d %b %Y 10:00:00 GMT", "%Y%m%d120000"]))
def test_any_day_in_any_form(day, form):
    assert stated_years({"published": day.strftime(form)}) == {day.year}


@given(DAYS, st.sampled_from([1, 1000, 10**6, 10**9]), st.booleans())
def test_any_day_since_1970(day, units, as_text):
    seconds = int((day - date(1970, 1, 1)).total_seconds()) * units
    assert stated_years({"timestamp": str(seconds) if as_text else seconds}) == {day.year}


@given(st.text() | st.integers() | st.floats() | st.lists(st.text() | st.integers()))
def test_nothing_breaks_it(value):
    assert all(1500 <= year <= 2099 for year in stated_years({"date": value}))
