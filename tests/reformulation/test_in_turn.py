"""A policy and the rules: the rules split compound questions, the policy is asked about the others."""

from __future__ import annotations

from dataclasses import replace

from acqo_rl.conversations import read_history
from acqo_rl.reformulation.in_turn import InTurn, with_rules
from acqo_rl.reformulation.pass_through import PassThrough, pass_through
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


def test_the_rules_split_first_and_get_what_the_policy_passes():
    policy = Policy()
    both = with_rules(policy, None)
    compound, own, passed = queries("compare tin and zinc", "split", "Peru")
    answers = both.reformulate([compound, own, passed])
    assert policy.asked == [["split", "Peru"]]
    assert [(a.made_by, a.route, a.calls, a.tokens) for a in answers] == [
        ("rules", "decompose", 0, 0),
        ("policy", "decompose", 1, 3),
        ("policy", "pass", 1, 3),
    ]
    assert (both.name, both.feedback) == ("policy_with_rules", FeedbackSpec(2, 9))
    assert with_rules(PassThrough(), None, "mine").name == "mine"


def test_a_question_of_a_conversation_goes_to_the_policy_first():
    asked = [talk("split tin and zinc", "Tell me about metals."), talk("compare tin and zinc", "Hello.")]
    written, passed = with_rules(Policy(), None).reformulate(asked)
    assert [s.text for s in written.sub_queries] == ["a", "b"]
    assert (passed.made_by, passed.calls, passed.completion, passed.route) == ("rules", 1, "pass", "decompose")


def test_a_question_for_yes_or_no_goes_to_the_policy_first():
    policy = Policy()
    [answer] = with_rules(policy, None).reformulate(queries("Are both Lima and Quito capitals?"))
    assert policy.asked == [["Are both Lima and Quito capitals?"]]
    assert (answer.made_by, answer.calls, answer.tokens) == ("rules", 1, 3)


def test_a_failure_of_the_policy_is_reported_though_the_rules_answer():
    [answer] = with_rules(Policy(), None).reformulate([talk("compare tin and failure", "Hello.")])
    assert (answer.route, answer.problem, answer.failed_calls) == ("decompose", "late", 1)


def test_rules_after_a_policy_rewrite_only_questions_with_a_pronoun():
    turns = ("Who designed the Atomium?", "Andre Waterkeyn did.")
    answers = with_rules(Policy(), None).reformulate([talk("Where was he born?", *turns), talk("birthplace?", *turns)])
    assert [(a.made_by, a.route) for a in answers] == [("rules", "disambiguate"), ("policy", "pass")]
