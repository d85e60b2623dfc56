"""Names of reformulators and indexes in settings."""

import pytest

from acqo_rl.errors import ConfigError
from acqo_rl.searching.names import name_indexes, name_reformulators


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("trained:demo", "trained-demo"),
        ("outputs/mine/policy", "outputs-mine-policy"),
        ("../runs/a+b/", "runs-a-b"),
        ("someone/some-policy-1.5", "someone-some-policy-1.5"),
    ],
)
def test_a_policy_needs_no_name(given, name):
    assert name_reformulators([given, "raw"], None, "transformers") == {name: (name, given), "raw": ("raw", "")}
    assert name_reformulators([given], "other", "transformers") == {name: (name, given)}


def test_a_given_name_is_kept():
    assert name_reformulators(["mine=c/d", "policy"], "a/b") == {"mine": ("mine", "c/d"), "policy": ("policy", "a/b")}


def test_a_reformulator_can_have_another_name():
    given = ["auto0=auto", "auto=a/b", "plain=raw", "h=hyde+step_back=openai:x"]
    models = name_reformulators(given, None, "transformers")
    kinds = [("auto", ""), ("auto", "a/b"), ("raw", ""), ("hyde+step_back", "openai:x")]
    assert [*models.values()] == kinds
    assert name_reformulators(["w=hyde"], "openai:y")["w"] == ("hyde", "openai:y")
    for wrong in ("a=raw=a/b", "a=hyde"):
        with pytest.raises(ConfigError):
            name_reformulators([wrong], None)


@pytest.mark.parametrize(
    "given", [["trained:demo", "trained/demo"], ["trained:demo", "trained:demo"], ["://"], ["policy"]]
)
def test_what_names_nothing_or_twice_is_refused(given):
    with pytest.raises(ConfigError):
        name_reformulators(given, None)


def test_one_index_needs_no_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("dense", "bm25", "a=b"):
        (tmp_path / name).mkdir()
    assert name_indexes(["dense"]) == {"index": ("dense",)}
    assert name_indexes(["dense+bm25@original"]) == {"index": ("dense", "bm25@original")}
    assert name_indexes(["a=b"]) == {"index": ("a=b",)}
    assert name_indexes(["dense", "words=bm25"]) == {"index": ("dense",), "words": ("bm25",)}
    with pytest.raises(ConfigError):
        name_indexes(["dense", "bm25"])


def test_a_misspelt_name_is_answered_with_the_one_that_is_meant():
    with pytest.raises(ConfigError, match=r"mean rules\?"):
        name_reformulators(["raw", "ruls"], None)
