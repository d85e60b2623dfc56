"""The search function for DSPy, which is not installed for tests."""

from __future__ import annotations

import inspect

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
