"""A policy and the rules: the rules split compound questions, the policy is asked about the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from acqo_rl.conversations import read_history
from acqo_rl.reformulation.in_turn import InTurn, with_rules
from acqo_rl.reformulation.pass_through import pass_through
from acqo_rl.roles import Reformulator
from acqo_rl.types import FeedbackSpec, Query, Reformulation, SubQuery


class Policy(Reformulator):
    """Splits what holds "split", fails on "fail", passes the others; each costs one call and three tokens."""

    name = "policy"
    feedback = FeedbackSpec(2, 9)

    def __init__(self):
        self.asked = []

    def reformulate(self, queries):
        self.asked.append([query.text for query in queries])
        return [replace(self._answer(query), calls=1, tokens=3) for query in queries]

    def _answer(self, query):
        if "split" in query.text:
            parts = (SubQuery("a", "part"), SubQuery("b", "part"))
            return Reformulation(query, "decompose", parts, self.name, "split\na\nb")
        answer = replace(pass_through(query, self.name), completion="pass")
        return replace(answer, problem="late", failed_calls=1) if "fail" in query.text else answer


def queries(*texts):
    return [Query(str(i), text) for i, text in enumerate(texts)]


def talk(text, *turns):
    return Query("q", text, read_history(turns))


def test_each_reformulator_is_asked_once_and_only_what_all_before_it_passed():
    first, second = Policy(), Policy()
    answers = InTurn([first, second], "both").reformulate(queries("Peru", "split this"))
    assert (first.asked, second.asked) == ([["Peru", "split this"]], [["Peru"]])
    assert [a.query.text for a in answers] == ["Peru", "split this"]
    assert [a.route for a in answers] == ["pass", "decompose"]
    assert [a.calls for a in answers] == [2, 1]
    assert InTurn([first, second], "both").reformulate([]) == []


TURNS = ("Who designed the Atomium?", "Andre Waterkeyn did.")


@pytest.mark.parametrize(
    ("query", "made_by", "route", "calls"),
    [
        (Query("q", "compare tin and zinc"), "rules", "decompose", 0),
        (Query("q", "split"), "policy", "decompose", 1),
        (Query("q", "Peru"), "policy", "pass", 1),
        (Query("q", "Are both Lima and Quito capitals?"), "rules", "decompose", 1),  # yes or no: the policy first
        (talk("split tin and zinc", *TURNS), "policy", "decompose", 1),  # a conversation: the policy first
        (talk("compare tin and zinc", *TURNS), "rules", "decompose", 1),
        (talk("Where was he born?", *TURNS), "rules", "disambiguate", 1),
        (talk("birthplace?", *TURNS), "policy", "pass", 1),  # without a pronoun
    ],
)
def test_a_policy_with_the_rules(query, made_by, route, calls):
    both = with_rules(Policy(), None)
    assert (both.name, both.feedback) == ("policy_with_rules", FeedbackSpec(2, 9))
    [answer] = both.reformulate([query])
    assert (answer.made_by, answer.route, answer.calls, answer.tokens) == (made_by, route, calls, 3 * calls)


def test_a_failure_of_the_policy_is_reported_if_the_rules_answer():
    [answer] = with_rules(Policy(), None, "mine").reformulate([talk("compare tin and failure", "Hello.")])
    assert (answer.route, answer.problem, answer.failed_calls) == ("decompose", "late", 1)
