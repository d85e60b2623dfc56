"""The plain search function, by itself and in DSPy where that is installed."""

from __future__ import annotations

import inspect
import sys
import types

import pytest
from small_world import CORPUS, QUERY

from acqo_rl.errors import ConfigError, SearchError
from acqo_rl.integrations.dspy import make_search


def test_a_function_with_name_docstring_and_types(searcher):
    search = make_search(searcher, CORPUS, k=2)
    assert search.__name__ == "search"
    assert "query: what to look for" in search.__doc__
    assert str(inspect.signature(search, eval_str=True)) == "(query: str, k: int = 2) -> list[str]"
    assert search(QUERY) == [
        "CFA franc | The CFA franc is the currency of Chad.",
        "Lima | Lima is the capital of Peru.",
    ]
    assert search("currency of Peru", k=1) == ["The sol is the currency of Peru."]


def test_errors_are_raised(searcher, broken_searcher):
    with pytest.raises(ConfigError, match="empty"):
        make_search(searcher, CORPUS)("")
    with pytest.raises(ConfigError, match="at least 1"):
        make_search(searcher, CORPUS)(QUERY, k=0)
    with pytest.raises(SearchError, match="does not answer"):
        make_search(broken_searcher, CORPUS)(QUERY)


def test_the_example_up_to_dspy(run_example, monkeypatch):
    """A stand-in for the package records what its agent is given."""
    stand_in = types.ModuleType("dspy")
    stand_in.ReAct = lambda signature, tools: (signature, tools)
    monkeypatch.setitem(sys.modules, "dspy", stand_in)
    made, _ = run_example("dspy")
    signature, [search] = made["agent"]
    assert signature == "question -> answer"
    assert search(QUERY, k=1) == ["CFA franc | The CFA franc is the currency of Chad."]
