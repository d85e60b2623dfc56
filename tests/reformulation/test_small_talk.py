"""Greetings and thanks are searched unchanged, whatever the reformulator."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stand_ins import ScriptedLanguageModel

from acqo_rl.conversations import read_history
from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.reformulation.load import load_reformulator
from acqo_rl.reformulation.pass_through import RecentTurns, past_small_talk
from acqo_rl.reformulation.policy import Policy, PolicySettings, prompt_of
from acqo_rl.reformulation.settings import STRATEGIES
from acqo_rl.types import Query, Reformulation, SubQuery

TALK = ("U: Tell me about Oslo.", "S: Oslo is the capital of Norway.")


def everyone(model):
    settings = PolicySettings()
    policy = Policy(model, prompt_of(settings, len), settings)
    prompted = [load_reformulator(name, "stand-in", language_model=model) for name in ("prompted", *STRATEGIES)]
    return [policy, Heuristic(), RecentTurns(), *prompted]


@pytest.mark.parametrize("text", ["hi", "Good morning!", "ok, thanks", "Thank you very much.", "谢谢。", "Danke"])
def test_every_reformulator_passes_small_talk_without_a_model_call(text):
    model = ScriptedLanguageModel("resolve\nOslo weather")
    for reformulator in everyone(model):
        [answer] = reformulator.reformulate([Query("q", text, read_history(TALK))])
        assert (answer.route, answer.sub_queries) == ("pass", (SubQuery(text, "original"),))
        assert (answer.problem, answer.calls) == (None, 0)
    assert model.calls == []


@given(st.lists(st.sampled_from(["hi", "thanks!", "yes", "hello kitty", "hi, where is Oslo?", "???"]), max_size=8))
def test_answers_stay_in_the_order_of_the_queries_and_only_questions_are_reformulated(texts):
    asked = []

    def reformulate(queries):
        asked.extend(query.text for query in queries)
        return [Reformulation(q, "disambiguate", (SubQuery(f"{q.text}!", "reading"),), "test") for q in queries]

    queries = [Query(str(i), text) for i, text in enumerate(texts)]
    answers = past_small_talk(queries, reformulate, "test")
    assert [answer.query for answer in answers] == queries
    assert asked == [text for text in texts if text not in ("hi", "thanks!")]
    assert [answer.route == "pass" for answer in answers] == [text in ("hi", "thanks!") for text in texts]
