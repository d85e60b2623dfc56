"""The names by which a server may be called."""

import pytest
from serving_stand_ins import serving

from acqo_rl.serving.http import accepted_hosts


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
    with serving(hosts=accepted_hosts(address, names)) as client:
        for path in ("/v1/strategies", "/healthz", "/"):
            assert client.get(path, headers={"Host": host}).status_code == status
