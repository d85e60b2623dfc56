"""Proxies, certificates and URLs, for the client of an index and that of a language model."""

import pytest

from acqo_rl.errors import ConfigError
from acqo_rl.language_models.http_clients import is_loopback
from acqo_rl.language_models.server_model import ANTHROPIC, ServerModel
from acqo_rl.retrieval.remote import RemoteRetriever

FAR = "http://192.0.2.1:8100"
ASK = [[{"role": "user", "content": "a"}]]
CLIENTS = [RemoteRetriever, lambda url: ServerModel("m", ANTHROPIC, base_url=url, max_retries=0)]


@pytest.mark.parametrize(
    "host",
    ["LOCALHOST.", "models.localhost", "user:word@localhost", "127.8.9.1", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]"],
)
def test_this_machine(host):
    assert is_loopback(f"http://{host}:8000/v1")
    assert is_loopback(f"https://{host}")


@pytest.mark.parametrize(
    "url", ["http://localhost.example.org", "http://127.0.0.1.example.org", "http://10.0.0.1:80", "http://[::1", ""]
)
def test_other_machines(url):
    assert not is_loopback(url)


def test_other_servers_are_asked_through_the_proxy_of_the_environment(server, monkeypatch):
    """The server plays the proxy: it is asked with the whole address."""
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, server.url)
    model = ServerModel("m", base_url="http://models.example", max_retries=0)
    assert model.generate(ASK)[0].text == "reply to a"
    assert server.requests[0][0].startswith("http://models.example/")
    model.close()


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HTTP_PROXY", "socks5://127.0.0.1:9"),
        ("ALL_PROXY", "gopher://127.0.0.1:9"),
        ("HTTP_PROXY", "http://127.0.0.1:x"),
        ("SSL_CERT_FILE", "none.pem"),
    ],
)
def test_a_part_of_the_environment_that_the_client_cannot_use_is_named(monkeypatch, client, variable, value):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigError, match=variable):
        client(FAR)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    "url", ["http://host:port", "http://[::1", "localhost:8000/v1", "host", "ftp://host", "http://", "http:///v1"]
)
def test_an_invalid_url_is_refused(client, url):
    with pytest.raises(ConfigError, match="no URL"):
        client(url)


def test_a_server_on_this_machine_is_not_asked_through_a_proxy(dead_proxy, server):
    model = ServerModel("m", base_url=server.url, max_retries=0)
    assert model.generate(ASK)[0].text == "reply to a"
    model.close()
