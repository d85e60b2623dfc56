"""Places of indexes: one parser for the ``+`` of every command."""

import pytest

from acqo_rl.errors import ConfigError
from acqo_rl.retrieval.places import parts_of, place_of, split_places
from acqo_rl.searching.names import name_indexes


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
        ("dense", ["dense"]),
        ("missing", ["missing"]),
        ("dense+bm25", ["dense", "bm25"]),
        ("dense+bm25+c++", ["dense", "bm25", "c++"]),
        ("c++", ["c++"]),
        ("c+++bm25", ["c++", "bm25"]),
        ("a+b", ["a+b"]),
        ("bm25+a+b", ["bm25", "a+b"]),
        ("http://one:8100", ["http://one:8100"]),
        ("http://one:8100/a+c", ["http://one:8100/a+c"]),
        ("http://one:8100+https://two/x", ["http://one:8100", "https://two/x"]),
        ("http://one:8100/a+c+bm25", ["http://one:8100/a+c", "bm25"]),
        ("dense+http://one:8100", ["dense", "http://one:8100"]),
    ],
)
def test_a_plus_joins_what_is_there(here, text, places):
    assert split_places(text) == places


@pytest.mark.parametrize("text", ["dense+missing", "missing+bm25", "dense+", "+bm25", "dense++bm25", "x+y"])
def test_a_plus_between_what_is_not_there_is_refused(here, text):
    with pytest.raises(ConfigError):
        split_places(text)


def test_a_joined_place_is_the_same_from_every_folder(here):
    assert place_of("dense+bm25") == f"{here}/dense+{here}/bm25"
    assert place_of("http://one:8100+bm25") == f"http://one:8100+{here}/bm25"
    assert place_of("a+b") == f"{here}/a+b"
    assert parts_of(place_of("dense+bm25")) == [f"{here}/dense", f"{here}/bm25"]


def test_a_comparison_joins_names_and_places_alike(here):
    given = ["meaning=dense", "words=bm25", "both=meaning+words", "same=dense+bm25", "mixed=meaning+bm25@original"]
    assert name_indexes(given) == {
        "meaning": ("dense",),
        "words": ("bm25",),
        "both": ("meaning", "words"),
        "same": ("dense", "bm25"),
        "mixed": ("meaning", "bm25@original"),
    }
    assert name_indexes(["x=a+b", "y=http://one:8100/a+c"]) == {"x": ("a+b",), "y": ("http://one:8100/a+c",)}
