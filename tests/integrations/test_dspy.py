"""The search function, alone and in DSPy (if DSPy is installed)."""

from __future__ import annotations

import inspect

import pytest
from small_world import CORPUS, QUERY, make_searcher

from acqo_rl.integrations.dspy import make_search
from acqo_rl.reformulation.turns import RecentTurns


def test_the_function_has_a_name_a_docstring_and_types(searcher):
    search = make_search(searcher, CORPUS, k=2)
    assert search.__name__ == "search"
    assert "query: " in search.__doc__
    assert str(inspect.signature(search, eval_str=True)) == "(query: str, k: int = 2) -> list[str]"
    assert search(QUERY) == [
        "CFA franc | The CFA franc is the currency of Chad.",
        "Lima | Lima is the capital of Peru.",
    ]
    assert search("currency of Peru", k=1) == ["The sol is the currency of Peru."]


def test_the_conversation_is_read_again_in_every_call():
    conversation = []
    search = make_search(make_searcher(RecentTurns()), CORPUS, k=1, history=conversation)
    search("its currency?")
    conversation.append(("Tell me about Chad.", "Chad is a country."))
    assert search("its currency?") == ["CFA franc | The CFA franc is the currency of Chad."]


def test_a_dspy_agent_searches_and_reads_errors(searcher):
    """Runs only if DSPy is installed; it is not a dependency of the tests."""
    dspy = pytest.importorskip("dspy")
    from dspy.utils import DummyLM

    steps = [
        {"next_thought": "search", "next_tool_name": "search", "next_tool_args": {"query": QUERY, "k": 2}},
        {"next_thought": "search nothing", "next_tool_name": "search", "next_tool_args": {"query": ""}},
        {"next_thought": "done", "next_tool_name": "finish", "next_tool_args": {}},
        {"reasoning": "read", "answer": "Lima and the CFA franc"},
    ]
    agent = dspy.ReAct("question -> answer", tools=[make_search(searcher, CORPUS)])
    with dspy.context(lm=DummyLM(steps)):
        prediction = agent(question=QUERY)
    assert prediction.answer == "Lima and the CFA franc"
    assert "Lima | Lima is the capital of Peru." in prediction.trajectory["observation_0"]
    assert "A query is empty" in prediction.trajectory["observation_1"]
    tool = agent.tools["search"]
    assert tool.args == {"query": {"type": "string"}, "k": {"type": "integer", "default": 5}}
    assert "Search the document collection" in tool.desc
