import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.errors import ConfigError
from acqo_rl.retrieval.engines.filters import read_filter
from acqo_rl.types import Condition, Scope


def test_values_lists_and_bounds_become_conditions():
    given = {"year": {"lt": 2025, "gte": 2020}, "tag": ["b", "a", "b"], "author.city": "Lima"}

    assert read_filter(given) == (
        Condition("author.city", ("Lima",)),
        Condition("tag", ("a", "b")),
        Condition("year", bounds=(("gte", 2020), ("lt", 2025))),
    )
    assert read_filter({}) == ()


def test_conditions_of_different_types_are_different():
    assert read_filter({"draft": True}) != read_filter({"draft": 1})
    assert read_filter({"year": 2020.0}) == read_filter({"year": 2020})
    assert len({Scope(read_filter({"draft": value})) for value in (True, 1, "1", [1])}) == 3


@pytest.mark.parametrize(
    "given",
    [
        "lang",
        ["lang"],
        {"a b": 1},
        {"a..b": 1},
        {"a' OR 1=1": 1},
        {"": 1},
        {"lang": None},
        {"lang": []},
        {"lang": [["en"]]},
        {"lang": {}},
        {"year": {"above": 3}},
        {"year": {"gte": "many"}},
        {"year": {"gte": True}},
        {"year": {"gte": 1, "lt": "2024-01-01"}},
        {"year": math.nan},
        {"year": 2**70},
        {"lang": "x" * 2000},
        *({"lang": wanted} for code in (0, 10, 31, 127, 159) for wanted in (f"e{chr(code)}n", ["en", f"{chr(code)}"])),
        {f"f{i}": 1 for i in range(21)},
    ],
)
def test_what_is_no_filter_is_refused(given):
    with pytest.raises(ConfigError):
        read_filter(given)


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(json)
def test_any_json_is_read_or_refused(value):
    try:
        conditions = read_filter(value)
    except ConfigError:
        return
    assert all(isinstance(condition, Condition) for condition in conditions)
