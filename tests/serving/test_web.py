"""Reverse proxies with a prefix, other origins and names of both servers."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
from page_stand_ins import CHROMIUM, served
from serving_stand_ins import DOCUMENTS, serving, serving_index
from shared import in_thread

from acqo_rl.errors import ConfigError
from acqo_rl.retrieval.remote import RemoteRetriever
from acqo_rl.serving.http import Web, accepted_hosts
from acqo_rl.serving.limits import Limits

ORIGIN = "https://app.example.org"


@contextmanager
def proxied(client, prefix, *, strips):
    """Runs a reverse proxy that serves a server under a prefix; yields its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            if not self.path.startswith(f"{prefix}/"):
                return self.answer(404, {}, b"")
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            path = self.path.removeprefix(prefix) if strips else self.path
            kept = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "connection", "accept-encoding")}
            answer = client.request(self.command, path, content=body, headers=kept)
            return self.answer(answer.status_code, answer.headers, answer.content)

        do_POST = do_GET

        def answer(self, status, headers, body):
            self.send_response(status)
            for name in ("content-type", "etag", "location"):
                if name in headers:
                    self.send_header(name, headers[name])
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with in_thread(server, threading.Event()):
        yield f"http://127.0.0.1:{server.server_port}{prefix}"


@pytest.mark.parametrize(("serve", "path"), [(serving, "/v1/strategies"), (serving_index, "/info")])
def test_an_allowed_origin_gets_headers_even_on_errors(serve, path):
    ask = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type,x-api-key"}
    web, limits = Web(cors_origins=(ORIGIN,)), Limits(keys=("sesame",))
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


@pytest.mark.parametrize(
    "web",
    [
        {"cors_origins": ("app.example.org",)},
        {"cors_origins": ("https://app.example.org/page",)},
        {"cors_origins": ("https://*.example.org",)},
        {"root_path": "https://example.org/a"},
        {"root_path": "/a b"},
        {"hosts": ("https://example.org",)},
        {"hosts": ("example.org:80",)},
    ],
)
def test_invalid_settings_are_rejected(web):
    with pytest.raises(ConfigError):
        Web(**web)


@pytest.mark.parametrize("strips", [True, False])
class TestPrefix:
    def test_paths_keys_and_metrics_are_the_same(self, strips):
        web, limits = Web("/tools/search"), Limits(keys=("sesame",))
        with serving(web=web, limits=limits) as direct, proxied(direct, "/tools/search", strips=strips) as url:
            for path in ("/", "/page/main.js", "/healthz", "/openapi.json"):
                assert httpx.get(url + path).status_code == 200, path
            key = {"X-API-Key": "sesame"}
            found = httpx.post(f"{url}/v1/search", json={"query": "capital of Peru"}, headers=key)
            counted = httpx.get(f"{url}/metrics").text
            assert httpx.get(f"{url}/v1/strategies").status_code == 401
            assert httpx.get(f"{url}/nowhere", headers=key).status_code == 404
            assert "'/tools/search/openapi.json'" in httpx.get(f"{url}/docs").text
            assert direct.get("/healthz").status_code == 200  # monitors bypass the proxy
        assert found.json()["results"][0]["document_id"] == "lima"
        assert 'path="/v1/search",status="200"' in counted

    def test_a_remote_index_is_searched(self, strips):
        with serving_index(web=Web("/index")) as direct, proxied(direct, "/index", strips=strips) as url:
            retriever = RemoteRetriever(url)
            assert retriever.info().document_count == len(DOCUMENTS)
            assert retriever.search(["capital of Peru"], 1)[0].doc_ids == ("lima",)
            retriever.close()

    @pytest.mark.skipif(not CHROMIUM, reason="There is no Chromium on PATH: apt-get install chromium.")
    def test_the_page_works(self, strips):
        from playwright.sync_api import sync_playwright

        with (
            served(web=Web("/a/b")) as address,
            httpx.Client(base_url=address) as direct,
            proxied(direct, "/a/b", strips=strips) as url,
            sync_playwright() as playwright,
            playwright.chromium.launch(executable_path=CHROMIUM) as browser,
        ):
            page, asked, failed = browser.new_page(), [], []
            page.set_default_timeout(20_000)
            page.on("request", lambda request: asked.append(request.url))
            page.on("response", lambda response: failed.append(response.url) if response.status >= 400 else None)
            page.goto(f"{url}/")
            page.fill("#question", "capital of Peru")
            page.click("button[type=submit]")
            page.locator("#results:not([hidden])").wait_for()
            page.click("#ask-answer")
            page.locator("#answer[aria-busy=false]").wait_for()
            assert page.locator("#answer-text").inner_text() == "Lima."
            assert page.evaluate("document.querySelector('a[href=docs]').href") == f"{url}/docs"
        assert len(asked) > 8
        assert [one for one in asked if not one.startswith(f"{url}/")] == []
        assert failed == []


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
