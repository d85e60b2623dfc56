"""Places of indexes: one parser for the ``+`` of every command."""

import pytest

from acqo_rl.errors import ConfigError
from acqo_rl.retrieval.places import split_places


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working folder with indexes, two of them with a ``+`` in their names."""
    for name in ("dense", "bm25", "c++", "a+b"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("missing", ["missing"]),
        ("dense+bm25", ["dense", "bm25"]),
        ("c+++dense+bm25", ["c++", "dense", "bm25"]),
        ("c++", ["c++"]),
        ("c+++bm25", ["c++", "bm25"]),
        ("a+b", ["a+b"]),
        ("a+b+bm25", ["a+b", "bm25"]),
        ("http://one:8100/a+c", ["http://one:8100/a+c"]),
        ("http://one:8100+https://two/x", ["http://one:8100", "https://two/x"]),
        ("http://one:8100/a+c+bm25", ["http://one:8100/a+c", "bm25"]),
        ("dense+http://one:8100", ["dense", "http://one:8100"]),
    ],
)
def test_a_plus_joins_what_is_there(here, text, places):
    assert split_places(text) == places


@pytest.mark.parametrize("text", ["dense+missing", "missing+bm25", "dense+", "+bm25", "dense++bm25"])
def test_a_plus_between_what_is_not_there_is_refused(here, text):
    with pytest.raises(ConfigError):
        split_places(text)
