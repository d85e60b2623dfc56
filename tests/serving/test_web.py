"""HEAD requests, reverse proxies with a prefix, and CORS, for both servers."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
from page_stand_ins import CHROMIUM, served
from serving_stand_ins import DOCUMENTS, Words, running
from shared import in_thread

from acqo_rl.errors import ConfigError
from acqo_rl.retrieval.remote import IndexInfo, RemoteRetriever
from acqo_rl.serving.limits import Limits
from acqo_rl.serving.metrics import Metrics
from acqo_rl.serving.retriever_app import make_retriever_app
from acqo_rl.serving.web import AT_ROOT, Web, accepted_hosts

ORIGIN = "https://app.example.org"


@contextmanager
def served_index(*, limits=None, web=AT_ROOT):
    info = IndexInfo("dense", "fingerprint", "corpus", len(DOCUMENTS), "encoder")
    with running(make_retriever_app(Words(), info, Metrics(), limits or Limits(), web)) as url:
        yield url


BOTH = pytest.mark.parametrize(
    ("serve", "paths"),
    [
        (served, ["/", "/page/main.js", "/v1/strategies", "/v1/collections"]),
        (served_index, ["/info"]),
    ],
)
SHARED = ["/healthz", "/readyz", "/metrics", "/docs", "/openapi.json"]


@contextmanager
def proxied(url, prefix, *, strips):
    """Runs a reverse proxy that serves a server under a prefix; yields its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            if not self.path.startswith(f"{prefix}/"):
                return self.answer(404, {}, b"")
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            path = self.path.removeprefix(prefix) if strips else self.path
            kept = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "connection", "accept-encoding")}
            answer = httpx.request(self.command, url + path, content=body, headers=kept, timeout=10)
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


class TestHead:
    @BOTH
    def test_head_equals_get_without_a_body(self, serve, paths):
        with serve() as url, httpx.Client(base_url=url) as client:
            for path in [*paths, *SHARED]:
                got, head = client.get(path), client.head(path)
                assert (head.status_code, head.content) == (got.status_code, b"") == (200, b""), path
                assert head.headers["content-type"] == got.headers["content-type"]
                if path != "/metrics":  # its content changes with each request
                    assert head.headers["content-length"] == str(len(got.content))

    @BOTH
    def test_head_is_rejected_like_get(self, serve, paths):
        with serve(limits=Limits(keys=("sesame",))) as url, httpx.Client(base_url=url) as client:
            statuses = [client.head(path).status_code for path in ("/healthz", paths[-1], "/v1/search", "/nowhere")]
            with_key = client.head("/nowhere", headers={"X-API-Key": "sesame"})
        assert statuses == [200, 401, 401, 401]
        assert with_key.status_code == 404

    def test_a_path_without_get_has_no_head(self):
        with served() as url:
            assert httpx.head(f"{url}/v1/search").status_code == 405


class TestOtherOrigins:
    @BOTH
    def test_other_origins_are_not_allowed_by_default(self, serve, paths):
        with serve() as url:
            answer = httpx.get(f"{url}{paths[-1]}", headers={"Origin": ORIGIN})
        assert "access-control-allow-origin" not in answer.headers

    @BOTH
    def test_an_allowed_origin_gets_headers_even_on_errors(self, serve, paths):
        ask = {
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "content-type,x-api-key,traceparent,baggage",
        }
        web, limits = Web(cors_origins=(f"{ORIGIN}/",)), Limits(keys=("sesame",))
        with serve(web=web, limits=limits) as url, httpx.Client(base_url=url) as client:
            before = client.options(paths[-1], headers={"Origin": ORIGIN, **ask})
            answers = [
                client.get(paths[-1], headers={"Origin": origin, "X-API-Key": key})
                for origin, key in ((ORIGIN, "sesame"), (ORIGIN, "wrong"), ("https://evil.example", "sesame"))
            ]
        assert (before.status_code, before.headers["access-control-allow-origin"]) == (200, ORIGIN)
        assert "x-api-key" in before.headers["access-control-allow-headers"].lower()
        assert [answer.status_code for answer in answers] == [200, 401, 200]
        assert [a.headers.get("access-control-allow-origin") for a in answers] == [ORIGIN, ORIGIN, None]
        assert "X-Request-ID" in answers[0].headers["access-control-expose-headers"]

    def test_an_allowed_origin_gets_headers_on_internal_errors(self):
        class Surprise(Words):
            @property
            def fingerprint(self):
                raise RuntimeError("secret words")

        with served(retriever=Surprise(), web=Web(cors_origins=("*",))) as url:
            answer = httpx.post(f"{url}/v1/search", json={"query": "capital"}, headers={"Origin": ORIGIN})
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (500, "*")

    @pytest.mark.parametrize("origin", ["app.example.org", "https://app.example.org/page", "https://*.example.org", ""])
    def test_an_invalid_origin_is_rejected(self, origin):
        with pytest.raises(ConfigError, match="origin"):
            Web(cors_origins=(origin,))


@pytest.mark.parametrize("strips", [True, False])
class TestPrefix:
    def test_paths_keys_and_metrics_are_the_same(self, strips):
        web, limits = Web(root_path="tools/search/"), Limits(keys=("sesame",))
        with served(web=web, limits=limits) as direct, proxied(direct, "/tools/search", strips=strips) as url:
            for path in ("/", "/page/main.js", *SHARED):
                assert httpx.get(url + path).status_code == 200, path
            key = {"X-API-Key": "sesame"}
            found = httpx.post(f"{url}/v1/search", json={"query": "capital of Peru"}, headers=key)
            counted = httpx.get(f"{url}/metrics").text
            assert httpx.get(f"{url}/v1/strategies").status_code == 401
            assert httpx.get(f"{url}/nowhere", headers=key).status_code == 404
            assert httpx.get(f"{direct}/healthz").status_code == 200  # monitors bypass the proxy
        assert found.json()["results"][0]["document_id"] == "lima"
        assert 'path="/v1/search",status="200"' in counted

    def test_the_documentation_uses_the_prefix(self, strips):
        with served(web=Web("/a")) as direct, proxied(direct, "/a", strips=strips) as url:
            assert "'/a/openapi.json'" in httpx.get(f"{url}/docs").text
            assert httpx.get(f"{url}/openapi.json").json()["servers"] == [{"url": "/a"}]

    def test_a_remote_index_is_searched(self, strips):
        with served_index(web=Web("/index")) as direct, proxied(direct, "/index", strips=strips) as url:
            retriever = RemoteRetriever(url, attempts=1)
            assert retriever.info().document_count == len(DOCUMENTS)
            assert retriever.search(["capital of Peru"], 1)[0].doc_ids == ("lima",)
            retriever.close()

    @pytest.mark.skipif(not CHROMIUM, reason="There is no Chromium on PATH: apt-get install chromium.")
    def test_the_page_works(self, strips):
        from playwright.sync_api import sync_playwright

        with (
            served(web=Web("/a/b")) as direct,
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


class TestSettings:
    def test_the_prefix_without_a_slash_redirects_to_the_page(self):
        with served(web=Web("/a")) as url:
            answer = httpx.get(f"{url}/a")
        assert (answer.status_code, answer.headers["location"]) == (307, "/a/")

    @pytest.mark.parametrize("prefix", ["https://example.org/a", "a b", "/a?b", "a//b"])
    def test_an_invalid_prefix_is_rejected(self, prefix):
        with pytest.raises(ConfigError, match="root_path"):
            Web(prefix)

    @pytest.mark.parametrize(("serve", "prefix"), [(served, "/v1"), (served, "/page"), (served_index, "/search")])
    def test_a_prefix_that_conflicts_with_a_path_is_rejected(self, serve, prefix):
        with pytest.raises(ConfigError, match=prefix), serve(web=Web(prefix)):
            pass


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
    with served(web=Web(hosts=accepted_hosts(address, names))) as url:
        for path in ("/v1/strategies", "/healthz", "/"):
            assert httpx.get(url + path, headers={"Host": host}).status_code == status
