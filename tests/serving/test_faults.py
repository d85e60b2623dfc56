"""32 clients and an index that fails or stalls, over real sockets."""

from __future__ import annotations

import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import tenacity
from serving_stand_ins import Words, collection, serving, serving_index

from acqo_rl.errors import SearchError
from acqo_rl.retrieval.remote import RemoteRetriever
from acqo_rl.searching.searcher import Timeouts
from acqo_rl.serving.limits import Limits

CLIENTS, REQUESTS = 32, 96
CAPITAL = {"Peru": "lima", "Chad": "ndjamena", "Japan": "tokyo"}


class Faulty(Words):
    """Every fifth call, or every call, fails or stalls."""

    def __init__(self):
        super().__init__()
        self.fault, self.every, self.asked = "", 5, 0
        self.numbers, self.over = itertools.count(1), threading.Event()

    def search(self, texts, k):
        self.asked = next(self.numbers)
        if self.fault and self.asked % self.every == 0:
            if self.fault == "error":
                raise SearchError("the index is down", public="the index is down")
            self.over.wait(20)
        return super().search(texts, k)


@pytest.fixture
def index():
    faulty = Faulty()
    with serving_index(faulty, limits=Limits(max_queued=REQUESTS)) as client:
        faulty.url = str(client.base_url)
        yield faulty
        faulty.over.set()


@pytest.fixture
def connect(index):
    def connected(*, attempts=30, **settings):
        made = RemoteRetriever(index.url, name="dense", **settings)
        retrying = made._server._retrying
        retrying.wait, retrying.stop = tenacity.wait_fixed(0.02), retrying.stop | tenacity.stop_after_attempt(attempts)
        return made

    return connected


def places(number):
    names = list(CAPITAL)
    return names[number % 3], names[(number // 3 + 1) % 3]


def ask(client, number):
    """Sends a request with two parts that no other request has; returns the response and its duration."""
    query = " and ".join(f"part{number}x{i} in {name}" for i, name in enumerate(places(number)))
    begin = time.monotonic()
    answer = client.post(
        "/v1/search", json={"query": query, "include_rankings": True}, headers={"X-Request-ID": f"request-{number}"}
    )
    return number, query, answer, time.monotonic() - begin


def all_at_once(client):
    with ThreadPoolExecutor(CLIENTS) as pool:
        return list(pool.map(lambda number: ask(client, number), range(REQUESTS)))


def check_own(number, query, answer):
    """Checks that a response belongs to its request and reports missing lists; returns the parts that failed."""
    body = answer.json()
    assert answer.headers["x-request-id"] == f"request-{number}"
    assert body["query_rewrite_info"]["original_query"] == query
    parts = query.split(" and ")
    lists = {ranking["query"]: ranking["documents"] for ranking in body["rankings"]}
    failed = [failure["sub_query"] for failure in body["failures"]]
    assert sorted([*lists, *failed]) == sorted(parts)
    for part, name in zip(parts, places(number), strict=True):
        if part in lists:
            assert lists[part][0]["document_id"] == CAPITAL[name]
    firsts = {documents[0]["document_id"] for documents in lists.values()}
    assert {row["document_id"] for row in body["results"]} >= firsts
    return failed


class TestOneCallInFiveFails:
    def test_without_retries_failures_are_reported(self, index, connect):
        """The other part is returned, and partial results are not cached."""
        index.fault = "error"
        pool = [collection("world", connect(attempts=1))]
        with serving(pool, timeouts=Timeouts(20, 20, 20), limits=Limits(max_queued=REQUESTS)) as client:
            outcomes = all_at_once(client)
            statuses = [answer.status_code for _, _, answer, _ in outcomes]
            assert set(statuses) <= {200, 503}
            failed = sum(
                len(check_own(number, query, answer)) for number, query, answer, _ in outcomes if answer.is_success
            )
            nothing = [answer for _, _, answer, _ in outcomes if answer.status_code == 503]
            assert not [answer for _, _, answer, _ in outcomes if "127.0.0.1" in answer.text]
            assert all("503" in answer.json()["detail"] and answer.headers["retry-after"] for answer in nothing)
            assert failed + 2 * len(nothing) == index.asked // 5 > 0
            index.fault = ""
            for number, query, answer, _ in all_at_once(client):
                assert check_own(number, query, answer) == []
