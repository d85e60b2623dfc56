"""Candidates from teachers."""

from __future__ import annotations

import pytest
from stand_ins import ScriptedLanguageModel

from acqo_rl.errors import ConfigError
from acqo_rl.reformulation import load
from acqo_rl.reformulation.names import Lexicon
from acqo_rl.training.teachers import candidates_of_teachers, name_teachers
from acqo_rl.types import Completion, Query

QUERIES = [Query("1", "who runs it"), Query("2", "where is it")]
LEXICON = Lexicon.of([])


@pytest.fixture
def ask(tmp_path, monkeypatch):
    def ask(given, first, second, most=3):
        model = ScriptedLanguageModel(first, second)
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


@pytest.mark.parametrize("most", [2, 3])
def test_an_answer_becomes_a_candidate_without_the_raw_query(ask, most):
    found, _ = ask("multi_query=m", "manager of the ferry\ndirector of it\nferry head", "ferry harbour", most)
    [candidate] = found["1"]
    written = ["manager of the ferry", "director of it", "ferry head"]
    assert [s.text for s in candidate.sub_queries] == written[:most]
    assert (candidate.route, candidate.form) == ("disambiguate", "multi_query")


def test_a_second_run_reads_the_answers_from_disk(ask):
    first, model = ask("rewrite=m", "ferry manager", "ferry harbour")
    again, other = ask("rewrite=m", "something else", "or this")
    assert again == first
    assert (sum(map(len, model.calls)), other.calls) == (2, [])


def test_failed_calls_are_counted_and_stop_the_run_if_all_fail(ask, caplog):
    failed = Completion("", 0, problem="no server")
    ask("rewrite=m", "ferry manager", failed)
    [record] = caplog.records
    assert record.args[:3] == ("rewrite", 1, 2)
    with pytest.raises(ConfigError):
        ask("hyde=m", failed, failed)
