"""Prompting a language model with one or several strategies."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from stand_ins import ScriptedLanguageModel

from acqo_rl.language_models.structured import example
from acqo_rl.reformulation.prompted import Prompted
from acqo_rl.reformulation.strategies import ClassifyAndRewrite, HyDE, MultiQuery, StepBack
from acqo_rl.roles import LanguageModel
from acqo_rl.types import Completion, Query, SubQuery

QUERY = Query("q", "Compare the moons of Mars and Jupiter")


class BySchema(LanguageModel):
    """Returns the reply for the first field of the schema, and records the schemas."""

    def __init__(self, **replies):
        self.replies = replies
        self.schemas = []

    def generate(self, conversations, schema=None):
        self.schemas.append(schema)
        reply = self.replies[next(iter(schema["properties"]))]
        reply = reply if isinstance(reply, Completion) else Completion(reply, len(reply.split()))
        return [reply] * len(conversations)


@given(st.text())
def test_every_reply_gives_something_to_search(reply):
    for strategy in (ClassifyAndRewrite(), MultiQuery()):
        [answer] = Prompted(ScriptedLanguageModel(reply), [strategy]).reformulate([QUERY])
        assert 1 <= len(answer.sub_queries) <= 4
        assert answer.completion == reply


def test_one_call_for_a_batch():
    model = ScriptedLanguageModel(
        example(kind="simple", searches=[]), example(kind="compound", searches=["a b", "c d"])
    )
    answers = Prompted(model, name="baseline").reformulate([QUERY, Query("r", "a b and c d")])
    assert [len(call) for call in model.calls] == [2]
    assert [a.route for a in answers] == ["pass", "decompose"]
    assert {a.made_by for a in answers} == {"baseline"}


class TestSeveralStrategies:
    def test_one_call_each_with_its_schema_and_a_path_of_its_own(self):
        model = BySchema(
            searches=example(searches=["Mars moons", "Jupiter moons"]), sentences=example(sentences=["Mars has moons."])
        )
        strategies = [MultiQuery(variants=2), HyDE()]
        [answer] = Prompted(model, strategies).reformulate([QUERY])
        assert sorted(map(str, model.schemas)) == sorted(str(strategy.schema) for strategy in strategies)
        assert answer.sub_queries == (
            SubQuery(QUERY.text, "original", 1.0),
            SubQuery("Mars moons", "variant", 0.8),
            SubQuery("Jupiter moons", "variant", 0.8),
            SubQuery("Mars has moons.", "hypothetical", 1.5),
        )
        assert (answer.calls, answer.made_by) == (2, "multi_query+hyde")
        assert answer.completion == "\n\n".join(model.replies.values())

    def test_one_that_fails_leaves_the_other(self):
        model = BySchema(searches=Completion("", 0, problem="timed out"), search="moons")
        [answer] = Prompted(model, [MultiQuery(), StepBack()]).reformulate([QUERY])
        assert [s.text for s in answer.sub_queries] == [QUERY.text, "moons"]
        assert (answer.problem, answer.route) == ("multi_query: timed out", "expand")
        assert (answer.calls, answer.failed_calls) == (2, 1)

    def test_what_two_search_is_searched_once_at_the_greater_weight(self):
        model = BySchema(searches="moons\nrings", sentences="Moons.")
        [answer] = Prompted(model, [MultiQuery(), HyDE()]).reformulate([QUERY])
        assert [(s.text, s.weight) for s in answer.sub_queries[1:]] == [("moons", 1.5), ("rings", 0.8)]

    def test_no_query_no_call(self):
        model = ScriptedLanguageModel("moons")
        assert Prompted(model, [HyDE(), StepBack()]).reformulate([]) == []
        assert model.calls == []
