"""32 clients and an index that fails, over real sockets."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import tenacity
from serving_stand_ins import Words, collection, serving, serving_index

from acqo_rl.errors import SearchError
from acqo_rl.retrieval.remote import RemoteRetriever
from acqo_rl.searching.searcher import Timeouts
from acqo_rl.serving.limits import Limits

CLIENTS, REQUESTS = 32, 96
CAPITAL = {"Peru": "lima", "Chad": "ndjamena", "Japan": "tokyo"}


class Faulty(Words):
    """Every fifth call fails while ``fails`` is true."""

    def __init__(self):
        super().__init__()
        self.fails, self.asked, self.numbers = True, 0, itertools.count(1)

    def search(self, texts, k):
        self.asked = next(self.numbers)
        if self.fails and self.asked % 5 == 0:
            raise SearchError("the index is down", public="the index is down")
        return super().search(texts, k)


def places(number):
    names = list(CAPITAL)
    return names[number % 3], names[(number // 3 + 1) % 3]


def ask(client, number):
    """Sends a request with two parts that no other request has."""
    query = " and ".join(f"part{number}x{i} in {name}" for i, name in enumerate(places(number)))
    headers = {"X-Request-ID": f"request-{number}"}
    return query, client.post("/v1/search", json={"query": query, "include_rankings": True}, headers=headers)


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


def test_one_call_in_five_fails_and_each_client_gets_its_own_results():
    """The other part is returned."""
    index, limits = Faulty(), Limits(max_queued=REQUESTS)
    with serving_index(index, limits=limits) as server:
        remote = RemoteRetriever(str(server.base_url), name="dense")
        remote._server._retrying.stop = tenacity.stop_after_attempt(1)
        with serving([collection("world", remote)], timeouts=Timeouts(20, 20, 20), limits=limits) as client:
            outcomes = all_at_once(client)
            assert {answer.status_code for _, answer in outcomes} <= {200, 503}
            found = [(number, *outcome) for number, outcome in enumerate(outcomes) if outcome[1].is_success]
            failed = sum(len(check_own(*one)) for one in found)
            nothing = [answer for _, answer in outcomes if answer.status_code == 503]
            assert not [answer for _, answer in outcomes if "127.0.0.1" in answer.text]
            assert all("503" in answer.json()["detail"] and answer.headers["retry-after"] for answer in nothing)
            assert failed + 2 * len(nothing) == index.asked // 5 > 0
            index.fails = False
            for number, (query, answer) in enumerate(all_at_once(client)):
                assert check_own(number, query, answer) == []
