from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event

import httpx
import pytest
from shared import in_thread

from acqo_rl.errors import ConfigError, SearchError
from acqo_rl.language_models.anthropic import AnthropicModel
from acqo_rl.language_models.loopback import is_loopback, proxy_note
from acqo_rl.language_models.openai import OpenAIModel
from acqo_rl.retrieval.remote import RemoteRetriever

FAR = "http://192.0.2.1:8100"
ASK = [[{"role": "user", "content": "a"}]]
CLIENTS = {
    "index": lambda: RemoteRetriever(FAR, seconds=0.2).search(["a"], 1),
    "openai": lambda: OpenAIModel("m", base_url=FAR, max_retries=0).generate(ASK),
    "anthropic": lambda: AnthropicModel("m", base_url=FAR, max_retries=0).generate(ASK),
}


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "a secret key")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a secret key")
    for name in ("NO_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def failure(client):
    """The error message of a call that fails."""
    try:
        answers = CLIENTS[client]()
    except (SearchError, ConfigError) as error:
        return str(error)
    return answers[0].problem


@pytest.mark.parametrize(
    "host",
    ["LOCALHOST.", "models.localhost", "user:word@localhost", "127.8.9.1", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]"],
)
def test_this_machine(host):
    assert is_loopback(f"http://{host}:8000/v1")
    assert is_loopback(f"https://{host}")


@pytest.mark.parametrize(
    "url", ["http://localhost.example.org", "http://127.0.0.1.example.org", "http://10.0.0.1:80", "http://[::1", "word"]
)
def test_other_machines(url):
    assert not is_loopback(url)
    assert not is_loopback("")


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    ("variable", "proxy"),
    [
        ("HTTP_PROXY", "socks5://127.0.0.1:9"),
        ("ALL_PROXY", "gopher://127.0.0.1:9"),
        ("HTTP_PROXY", "http://127.0.0.1:x"),
    ],
)
def test_a_proxy_that_the_client_cannot_use_is_named(monkeypatch, client, variable, proxy):
    monkeypatch.setenv(variable, proxy)
    with pytest.raises(ConfigError, match=variable.upper()):
        CLIENTS[client]()


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("variable", ["HTTP_PROXY", "all_proxy"])
@pytest.mark.parametrize("proxy", ["http://ann:word@127.0.0.1:9", "127.0.0.1:9"])
def test_a_proxy_that_does_not_answer_is_named(monkeypatch, client, variable, proxy):
    monkeypatch.setenv(variable, proxy)
    message = failure(client)
    assert f"127.0.0.1:9 of {variable.upper()}" in message
    assert "word" not in message


@pytest.mark.parametrize(("status", "is_named"), [(407, True), (502, True), (404, False)])
@pytest.mark.parametrize("client", CLIENTS)
def test_a_proxy_that_may_have_answered_is_named(monkeypatch, client, status, is_named):
    class Refuses(BaseHTTPRequestHandler):
        def do_POST(self):
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_):
            pass

    with in_thread(ThreadingHTTPServer(("127.0.0.1", 0), Refuses), Event()) as server:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{server.server_port}")
        assert ("HTTP_PROXY" in failure(client)) == is_named


@pytest.mark.parametrize("exempt", ["192.0.2.1", "*"])
def test_no_proxy_is_named_if_none_was_used(monkeypatch, exempt):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", exempt)
    error = httpx.ConnectError("refused", request=httpx.Request("GET", FAR))
    assert proxy_note(error) == ""
    monkeypatch.delenv("NO_PROXY")
    assert "HTTP_PROXY" in proxy_note(error)
    assert proxy_note(httpx.ConnectError("refused")) == ""
    assert proxy_note(httpx.ConnectError("refused", request=httpx.Request("GET", "http://localhost:1"))) == ""


@pytest.mark.parametrize(
    "url", ["http://host:port", "http://[::1", "localhost:8000/v1", "host", "ftp://host", "http://", "http:///v1"]
)
def test_an_invalid_url_is_refused_whether_or_not_there_is_a_proxy(monkeypatch, url):
    for proxy in ("", "http://127.0.0.1:9"):
        monkeypatch.setenv("HTTP_PROXY", proxy)
        for make in (RemoteRetriever, lambda base: OpenAIModel("m", base_url=base)):
            with pytest.raises(ConfigError, match="no URL"):
                make(url)


def test_an_exception_that_is_its_own_cause_has_no_note():
    error = ValueError("a")
    error.__cause__ = error

    assert proxy_note(error) == ""


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("key", ["schl\u00fcssel", "\u201ckey\u201d", "one\ntwo"])
def test_a_key_that_cannot_be_sent_is_refused_by_its_name(monkeypatch, client, key):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "RERANK_API_KEY", "ACQO_RETRIEVER_KEY"):
        monkeypatch.setenv(name, key)
    with pytest.raises(ConfigError, match="_KEY"):
        CLIENTS[client]()


@pytest.mark.parametrize("client", CLIENTS)
def test_certificates_that_cannot_be_read_are_named(monkeypatch, tmp_path, client):
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    with pytest.raises(ConfigError, match=r"SSL_CERT_FILE=.*none\.pem"):
        CLIENTS[client]()
