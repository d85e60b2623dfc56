"""Candidates from teachers."""

from __future__ import annotations

import pytest
from stand_ins import ScriptedRetriever

from acqo_rl.errors import ConfigError
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.reformulation import load
from acqo_rl.reformulation.names import Lexicon
from acqo_rl.roles import LanguageModel
from acqo_rl.training.rewards import Reward
from acqo_rl.training.teachers import candidates_of_teachers, name_teachers
from acqo_rl.training.warm_start import score_candidates, verified_examples
from acqo_rl.types import Completion, Query

QUERIES = [Query("1", "who runs it"), Query("2", "where is it")]
LEXICON = Lexicon.of([])


class Replies(LanguageModel):
    """Returns one reply for the first query and another one for the second."""

    def __init__(self, first, second):
        self.replies = {"who runs it": first, "where is it": second}
        self.calls = 0

    def generate(self, conversations, schema=None):
        self.calls += len(conversations)
        return [
            reply if isinstance(reply, Completion) else Completion(reply, 1)
            for conversation in conversations
            for text, reply in self.replies.items()
            if text in conversation[-1]["content"]
        ]


@pytest.fixture
def ask(tmp_path, monkeypatch):
    def ask(given, first, second, most=3):
        model = Replies(first, second)
        monkeypatch.setattr(load, "load_strategy_model", lambda *_: model)
        return candidates_of_teachers(
            name_teachers([given], "base"), QUERIES, most, LEXICON, tmp_path / "t.sqlite"
        ), model

    return ask


def test_a_server_becomes_a_prompted_teacher_and_a_strategy_without_model_uses_the_base_model():
    assert name_teachers(["openai:m@http://x/v1"], "base") == {"prompted": "openai:m@http://x/v1"}
    assert name_teachers(["hyde", "turns", "rewrite=openai:m"], "base") == {
        "hyde": "base", "turns": "", "rewrite": "openai:m",
    }  # fmt: skip
    assert name_teachers([], "base") == {}


def test_an_answer_becomes_a_candidate_without_the_raw_query(ask):
    found, _ = ask("multi_query=m", "manager of the ferry\ndirector of the ferry", "ferry harbour")
    [candidate] = found["1"]
    assert [s.text for s in candidate.sub_queries] == ["manager of the ferry", "director of the ferry"]
    assert (candidate.route, candidate.form) == ("disambiguate", "multi_query")


def test_sub_queries_beyond_the_maximum_are_dropped(ask):
    found, _ = ask("multi_query=m", "one wording\nanother wording\nthird wording", "", most=2)
    assert [len(candidate.sub_queries) for candidate in found["1"]] == [2]


def test_a_second_run_reads_the_answers_from_disk(ask):
    first, model = ask("rewrite=m", "ferry manager", "ferry harbour")
    again, other = ask("rewrite=m", "something else", "or this")
    assert again == first
    assert (model.calls, other.calls) == (2, 0)


def test_a_teacher_whose_calls_all_fail_stops_the_run(ask):
    with pytest.raises(ConfigError):
        ask("rewrite=m", Completion("", 0, problem="no server"), Completion("", 0, problem="no server"))


def test_replies_that_cannot_be_used_are_counted(ask, caplog):
    ask("rewrite=m", "ferry manager", Completion("", 0, problem="no server"))

    [record] = caplog.records
    assert record.args[:3] == ("rewrite", 1, 2)


def test_only_answers_that_beat_the_raw_query_become_targets(ask):
    found, _ = ask("rewrite=m", "ferry manager", "nonsense")
    retriever = ScriptedRetriever({"ferry manager": ("d1",), "where is it": ("d2",)})
    reward = Reward("converge", retriever, RankScoreFusion())
    qrels = {"1": {"d1": 1}, "2": {"d2": 1}}
    options = [one for batch in score_candidates(QUERIES, qrels, found, reward) for one in batch]
    assert [example.completion for example in verified_examples(options)] == ["resolve\nferry manager", "pass"]
