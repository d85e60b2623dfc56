"""What an evaluation and a service are asked for."""

from __future__ import annotations

import pytest

from acqo_rl.errors import ConfigError
from acqo_rl.evaluation.inputs import name_reformulators


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
    assert name_reformulators([given, "raw"], None) == {name: given, "raw": ""}
    assert name_reformulators([given], "other") == {name: given}


def test_a_given_name_is_kept():
    assert name_reformulators(["mine=trained:demo", "policy"], "a/b") == {"mine": "trained:demo", "policy": "a/b"}


@pytest.mark.parametrize(
    "given", [["trained:demo", "trained/demo"], ["trained:demo", "trained:demo"], ["://"], ["policy"]]
)
def test_what_names_nothing_or_twice_is_refused(given):
    with pytest.raises(ConfigError):
        name_reformulators(given, None)
