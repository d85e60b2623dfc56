"""Reverse proxies with a prefix, other origins and names of both servers."""

import pytest
from serving_stand_ins import serving, serving_index

from acqo_rl.retrieval.remote import RemoteRetriever
from acqo_rl.serving.http import Web, accepted_hosts
from acqo_rl.serving.limits import Limits

ORIGIN = "https://app.example.org"


@pytest.mark.parametrize(("serve", "path"), [(serving, "/v1/strategies"), (serving_index, "/info")])
def test_an_allowed_origin_gets_headers_even_on_errors(serve, path):
    ask = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type,x-api-key"}
    web = Web(cors_origins=(ORIGIN,))
    limits = Limits(keys=("sesame",))
    with serve(web=web, limits=limits) as client, serve() as closed:
        before = client.options(path, headers={"Origin": ORIGIN, **ask})
        answers = [
            client.get(path, headers={"Origin": origin, "X-API-Key": key})
            for origin, key in ((ORIGIN, "sesame"), (ORIGIN, "wrong"), ("https://evil.example", "sesame"))
        ]
        answers.append(closed.get(path, headers={"Origin": ORIGIN}))
    assert (before.status_code, before.headers["access-control-allow-origin"]) == (200, ORIGIN)
    assert "x-api-key" in before.headers["access-control-allow-headers"].lower()
    assert [answer.status_code for answer in answers] == [200, 401, 200, 200]
    assert [a.headers.get("access-control-allow-origin") for a in answers] == [ORIGIN, ORIGIN, None, None]


@pytest.mark.parametrize("passed_on", [True, False])
def test_a_reverse_proxy_may_pass_its_prefix_on_or_strip_it(passed_on):
    prefix = "/tools/search" if passed_on else ""
    key = {"X-API-Key": "sesame"}
    with serving(web=Web("/tools/search"), limits=Limits(keys=("sesame",))) as client:
        for path in ("/", "/page/main.js", "/healthz", "/openapi.json"):
            assert client.get(prefix + path).status_code == 200, path
        found = client.post(f"{prefix}/v1/search", json={"query": "capital of Peru"}, headers=key)
        assert found.json()["results"][0]["document_id"] == "lima"
        assert 'path="/v1/search",status="200"' in client.get(f"{prefix}/metrics").text
        assert client.get(f"{prefix}/v1/strategies").status_code == 401
        assert client.get(f"{prefix}/nowhere", headers=key).status_code == 404
        assert "'/tools/search/openapi.json'" in client.get(f"{prefix}/docs").text
    with serving_index(web=Web("/tools/search")) as client:
        retriever = RemoteRetriever(f"{client.base_url}{prefix}")
        assert retriever.search(["capital of Peru"], 1)[0].doc_ids == ("lima",)


@pytest.mark.parametrize(
    ("address", "names", "host", "status"),
    [
        ("127.0.0.1", [], "127.0.0.1:8080", 200),
        ("127.0.0.1", [], "localhost", 200),
        ("::1", [], "[::1]:8080", 200),
        ("127.0.0.1", [], "rebound.example", 400),
        ("localhost", [], "rebound.example:8080", 400),
        ("127.0.0.1", ["search.example.org"], "Search.Example.org", 200),
        ("0.0.0.0", [], "any.example", 200),
        ("0.0.0.0", ["search.example.org"], "any.example", 400),
    ],
)
def test_a_service_of_this_machine_checks_the_name_by_which_it_is_called(address, names, host, status):
    """A web page can let its own name point to a loopback address."""
    with serving(web=Web(hosts=accepted_hosts(address, names))) as client:
        for path in ("/v1/strategies", "/healthz", "/"):
            assert client.get(path, headers={"Host": host}).status_code == status


def test_what_can_be_read_has_a_head_without_a_body(client):
    for path in ("/", "/page/main.js", "/healthz", "/readyz", "/metrics", "/v1/strategies"):
        head = client.head(path)
        whole = client.get(path)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-type"] == whole.headers["content-type"]
    assert client.head("/v1/search").status_code == 405
