"""The event of every reformulation."""

from __future__ import annotations

import logging
from typing import get_args

from stand_ins import ScriptedLanguageModel

from acqo_rl.reformulation.adaptive import Adaptive
from acqo_rl.reformulation.logged import EVENT, Logged
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.reformulation.prompted import Prompted
from acqo_rl.reformulation.strategies import StepBack
from acqo_rl.types import Query, QueryType


def test_one_event_a_query_without_its_text(caplog):
    reformulator = Logged(Prompted(ScriptedLanguageModel("secret reply", ""), [StepBack()]))
    with caplog.at_level(logging.INFO, logger="acqo_rl"):
        answers = reformulator.reformulate([Query("a", "secret query"), Query("b", "other")])
    assert [a.query.id for a in answers] == ["a", "b"]
    first, second = caplog.records
    assert first.message == second.message == EVENT == "query_rewriting_completed"
    assert (first.strategy, first.query_type, first.num_variants, first.original_query_length) == (
        "step_back", None, 2, 12,
    )  # fmt: skip
    assert first.asked == reformulator.name
    assert (first.model_calls, first.failed, second.failed) == (1, False, True)
    assert first.rewriting_duration_ms >= 0
    assert "secret" not in str(vars(first))


def test_the_type_of_a_query_is_told(caplog):
    strategies = {"raw": PassThrough(), "step_back": Prompted(ScriptedLanguageModel("broader"), [StepBack()])}
    adaptive = Adaptive(strategies, by_type=dict.fromkeys(get_args(QueryType), "step_back"))
    with caplog.at_level(logging.INFO, logger="acqo_rl"):
        Logged(adaptive).reformulate([Query("a", "How do I install Python?"), Query("b", "Compare Oslo and Bergen")])
    assert [record.query_type for record in caplog.records] == ["how_to", "comparison"]
