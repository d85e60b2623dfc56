"""Limits of a server, over real sockets."""

import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from serving_stand_ins import DOCUMENTS, Gate, Scripted, post, serving

from acqo_rl.searching.searcher import Timeouts
from acqo_rl.serving.limits import Limits

SEARCH = {"query": "capital of Peru"}
KEYS = ("first-secret", "second-secret")


def search(client, **headers):
    return client.post("/v1/search", json=SEARCH, headers=headers)


def test_only_requests_with_a_valid_key_are_accepted():
    with serving(limits=Limits(keys=KEYS)) as client:
        wrong = [{}, {"Authorization": "Bearer wrong"}, {"X-API-Key": ""}, {"Authorization": f"Basic {KEYS[0]}"}]
        for headers in [*wrong, {"X-API-Key": KEYS[0][:-1]}, {"X-API-Key": "\xe9".encode("latin-1")}]:
            refused = search(client, **headers)
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
            assert KEYS[0] not in refused.text
        assert search(client, Authorization=f"Bearer {KEYS[0]}").status_code == 200
        assert search(client, **{"X-API-Key": KEYS[1]}).status_code == 200
        assert client.get("/v1/strategies").status_code == 401
        for path in ("/healthz", "/readyz", "/metrics", "/openapi.json"):
            assert client.get(path).status_code == 200
        assert 'acqo_http_requests_refused_total{reason="key"} 7.0' in client.get("/metrics").text


@pytest.mark.parametrize("chunked", [False, True])
def test_a_large_body_is_rejected_and_the_next_request_is_served(chunked):
    body = b'{"query": "' + b"x" * 3_000_000 + b'"}'
    parts = (body[i : i + 65536] for i in range(0, len(body), 65536))
    with serving(limits=Limits(body_bytes=1000)) as client:
        refused = client.post("/v1/search", content=parts if chunked else body)
        assert refused.status_code == 413
        assert "1000" in refused.json()["detail"]
        assert search(client).status_code == 200


def test_an_incomplete_body_times_out():
    with serving(limits=Limits(body_timeout=0.2)) as client:
        address = (client.base_url.host, client.base_url.port)
        with socket.create_connection(address, timeout=10) as slow:
            slow.sendall(b"POST /v1/search HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n{")
            assert b" 408 " in slow.recv(1000)


def test_excess_requests_are_rejected_at_once_and_the_others_succeed():
    """One request runs and one waits; the others get 429 while the first still runs."""
    gate = Gate()
    limited = Limits(concurrency=1, max_queued=1, queue_timeout=20)
    with serving(limits=limited, strategies=Scripted(gate=gate), cache_size=0) as client:
        with ThreadPoolExecutor(2) as pool:
            accepted = [pool.submit(search, client)]
            assert gate.entered.acquire(timeout=10)
            accepted.append(pool.submit(search, client))
            begin = time.monotonic()
            while "acqo_http_requests_waiting 1.0" not in client.get("/metrics").text:
                assert time.monotonic() - begin < 10
            refused = [search(client) for _ in range(3)]
            assert [answer.status_code for answer in refused] == [429] * 3
            assert "acqo_http_requests_in_flight 1.0" in client.get("/metrics").text
            gate.open.set()
            assert [future.result(20).status_code for future in accepted] == [200, 200]
        assert {answer.headers["retry-after"] for answer in refused} == {"1"}
        assert search(client).status_code == 200


def test_waiting_is_limited():
    gate = Gate()
    limited = Limits(concurrency=1, max_queued=5, queue_timeout=0.1)
    with serving(limits=limited, strategies=Scripted(gate=gate)) as client, ThreadPoolExecutor(1) as pool:
        first = pool.submit(search, client)
        assert gate.entered.acquire(timeout=10)
        assert search(client).status_code == 429
        gate.open.set()
        assert first.result(20).status_code == 200


def test_clients_at_the_same_time_get_their_own_results():
    capitals = list(DOCUMENTS)

    def ask(number):
        asked = {f"part{number} of {name}": name for name in (capitals[number % 3], capitals[(number + 1) % 3])}
        body = post(client, query=" and ".join(asked), include_rankings=True).json()
        return {ranking["query"]: ranking["documents"][0]["document_id"] for ranking in body["rankings"]} == asked

    with serving(limits=Limits(max_queued=96), timeouts=Timeouts(20, 20, 20)) as client, ThreadPoolExecutor(32) as pool:
        assert all(pool.map(ask, range(96)))
