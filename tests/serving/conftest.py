"""A service of stand-ins behind a real server."""

import pytest
from serving_stand_ins import serving


@pytest.fixture(scope="module")
def client():
    """A service shared by several tests."""
    with serving() as client:
        yield client
