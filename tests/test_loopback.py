from __future__ import annotations

import pytest

from acqo_rl.loopback import is_loopback


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
