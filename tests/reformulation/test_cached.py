"""The cache of reformulations."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from stand_ins import ScriptedLanguageModel

from acqo_rl.conversations import read_history
from acqo_rl.reformulation.cached import Cached, reformulation_cache
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.reformulation.prompted import Prompted
from acqo_rl.reformulation.strategies import StepBack
from acqo_rl.types import Completion, Query, Snippet, SubQuery


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def cached(*replies, cache_key="step_back 1", cache=None):
    model = ScriptedLanguageModel(*replies)
    return Cached(Prompted(model, [StepBack()]), cache_key, cache or reformulation_cache()), model


def asked(model):
    return sum(map(len, model.calls))


def test_a_second_time_costs_nothing():
    reformulator, model = cached("reply")
    [first] = reformulator.reformulate([Query("1", "What is FAISS?")])
    [again] = reformulator.reformulate([Query("2", "What is FAISS?")])
    assert (first.calls, first.tokens, again.calls, again.tokens) == (1, 1, 0, 0)
    assert asked(model) == 1
    assert again.query == Query("2", "What is FAISS?")
    assert again.sub_queries == first.sub_queries
    assert reformulator.name == "step_back"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Query("q", "C++"), Query("q", "C#")),
        (Query("q", "US politics"), Query("q", "us politics")),
        (Query("q", "???"), Query("q", "!!!")),
        (Query("q", "its capital"), Query("q", "its capital", history=read_history(("Peru?",)))),
        (Query("q", "capital"), Query("q", "capital", feedback=(Snippet("Peru", "Lima"),))),
    ],
)
def test_other_queries_are_others(one, other):
    reformulator, model = cached("reply")
    reformulator.reformulate([one])
    reformulator.reformulate([other])
    assert asked(model) == 2


def test_other_models_prompts_and_settings_are_others():
    cache = reformulation_cache()
    for cache_key in ("model a, prompt 1", "model b, prompt 1", "model a, prompt 2"):
        reformulator, model = cached("reply", cache_key=cache_key, cache=cache)
        reformulator.reformulate([Query("q", "Peru")])
        assert asked(model) == 1
    reformulator, model = cached("reply", cache_key="model b, prompt 1", cache=cache)
    reformulator.reformulate([Query("q", "Peru")])
    assert asked(model) == 0


def test_a_batch_asks_for_each_query_once_and_for_unknown_ones_only():
    reformulator, model = cached("reply")
    reformulator.reformulate([Query("0", "Peru")])
    same = Query("1", "Chad")
    answers = reformulator.reformulate([same, Query("2", "Peru"), Query("3", "Chad"), same])
    assert [len(call) for call in model.calls] == [1, 1]
    assert [a.calls for a in answers] == [1, 0, 0, 0]
    assert [a.query.id for a in answers] == ["1", "2", "3", "1"]


@pytest.mark.parametrize("number", [1, 3])
def test_a_reformulator_that_returns_too_few_or_too_many_is_an_error(number):
    class Wrong(PassThrough):
        def reformulate(self, queries):
            return [*super().reformulate(queries), *super().reformulate(queries)][:number]

    with pytest.raises(ValueError):
        Cached(Wrong(), "wrong", reformulation_cache()).reformulate([Query("1", "Peru"), Query("2", "Chad")])


def test_a_failure_is_not_kept():
    reformulator, model = cached(Completion("", 0, problem="timed out"), "reply")
    assert reformulator.reformulate([Query("q", "Peru")])[0].problem
    assert reformulator.reformulate([Query("q", "Peru")])[0].problem is None
    assert asked(model) == 2


def test_bounded_in_time_and_number():
    clock = Clock()
    reformulator, _ = cached("reply", cache=reformulation_cache(ttl=10, size=2, clock=clock))

    def calls(text):
        return reformulator.reformulate([Query("q", text)])[0].calls

    assert [calls("a"), calls("b"), calls("a"), calls("c")] == [1, 1, 0, 1]
    assert [calls("a"), calls("b")] == [0, 1]
    clock.now = 11
    assert calls("b") == 1


def test_without_time_nothing_is_kept():
    reformulator, _ = cached("reply", cache=reformulation_cache(ttl=0))
    assert [reformulator.reformulate([Query("q", "a")])[0].calls for _ in range(2)] == [1, 1]


def test_many_threads():
    reformulator, _ = cached("reply", cache=reformulation_cache(size=5))
    queries = [[Query(f"{i}", f"query {i * j % 7}") for i in range(10)] for j in range(40)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(reformulator.reformulate, queries))
    for batch, made in zip(queries, answers, strict=True):
        assert [a.query for a in made] == batch
        assert [a.sub_queries[0] for a in made] == [SubQuery(q.text, "original") for q in batch]
