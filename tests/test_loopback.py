from __future__ import annotations

import pytest

from acqo_rl.errors import ConfigError
from acqo_rl.language_models.openai import OpenAIModel
from acqo_rl.loopback import is_loopback
from acqo_rl.retrieval.http_calls import connect


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST",
        "localhost.",
        "models.localhost",
        "user:word@localhost",
        "127.0.0.1",
        "127.8.9.1",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
    ],
)
def test_this_machine(host):
    assert is_loopback(f"http://{host}:8000/v1")
    assert is_loopback(f"https://{host}")


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org",
        "http://localhost.example.org",
        "http://notlocalhost",
        "http://127.0.0.1.example.org",
        "http://10.0.0.1:80",
        "http://[2001:db8::1]/v1",
        "http://[::1",
        "word",
    ],
)
def test_other_machines(url):
    assert not is_loopback(url)
    assert not is_loopback("")


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:9", "gopher://127.0.0.1:9"])
def test_a_proxy_that_the_client_cannot_use_is_named(monkeypatch, proxy):
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(ConfigError, match="ALL_PROXY"):
        connect("http://192.0.2.1:8100", None, 1, "An index")
    with pytest.raises(ConfigError, match="ALL_PROXY"):
        OpenAIModel("m", base_url="http://192.0.2.1:8000/v1")
