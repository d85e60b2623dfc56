"""A policy and the rules: the rules split compound questions, the policy is asked about the others."""

from __future__ import annotations

from dataclasses import replace

from acqo_rl.conversations import read_history
from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.reformulation.pass_through import PassThrough, pass_through
from acqo_rl.reformulation.with_rules import WithRules, with_rules
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


class Second(Heuristic):
    def __init__(self):
        super().__init__()
        self.asked = []

    def reformulate(self, queries):
        self.asked.append([query.text for query in queries])
        return super().reformulate(queries)


def queries(*texts):
    return [Query(str(i), text) for i, text in enumerate(texts)]


def test_each_is_asked_once_a_batch_and_the_policy_only_what_the_rules_do_not_split():
    first, second = Policy(), Second()
    texts = ("capital of Peru", "split this", "compare tin and zinc")
    answers = WithRules(first, second).reformulate(queries(*texts))
    assert (first.asked, second.asked) == ([["capital of Peru", "split this"]], [list(texts)])
    assert [a.query.text for a in answers] == list(texts)
    assert [a.route for a in answers] == ["pass", "decompose", "decompose"]
    assert [[s.text for s in a.sub_queries] for a in answers] == [["capital of Peru"], ["a", "b"], ["tin", "zinc"]]


def test_the_answer_says_who_wrote_it_and_what_that_cost():
    passed, own, other = WithRules(Policy(), Second()).reformulate(queries("Peru", "split", "compare tin and zinc"))
    assert [a.made_by for a in (passed, own, other)] == ["policy", "policy", "rules"]
    assert [(a.calls, a.tokens) for a in (passed, own, other)] == [(1, 3), (1, 3), (0, 0)]
    assert other.reasoning
    assert passed.reasoning == own.reasoning == ""


def test_a_question_of_a_conversation_goes_to_the_policy_first():
    asked = [
        Query("1", "split tin and zinc", read_history(("Tell me about metals.",))),
        Query("2", "compare tin and zinc", read_history(("Hello.",))),
    ]
    written, passed = WithRules(Policy(), Second()).reformulate(asked)
    assert [s.text for s in written.sub_queries] == ["a", "b"]
    assert (passed.made_by, passed.calls, passed.completion, passed.route) == ("rules", 1, "pass", "decompose")


def test_a_failure_of_the_policy_is_reported_though_the_rules_answer():
    [answer] = WithRules(Policy(), Second()).reformulate(
        [Query("q", "compare tin and failure", read_history(("Hello.",)))]
    )
    assert (answer.route, answer.problem, answer.failed_calls) == ("decompose", "late", 1)


def test_the_policy_is_not_asked_where_the_rules_split_everything():
    policy = Policy()
    assert WithRules(policy, Second()).reformulate([]) == []
    WithRules(policy, Second()).reformulate(queries("compare tin and zinc"))
    assert policy.asked == []


def test_it_wants_the_feedback_of_the_first():
    assert WithRules(Policy(), Second()).feedback == FeedbackSpec(2, 9)
    assert WithRules(PassThrough(), Second()).feedback.results == 0
    assert WithRules(Policy(), Second()).name == "policy_with_rules"
    assert WithRules(Policy(), Second(), "mine").name == "mine"


def test_a_question_of_a_conversation_that_the_policy_passes_gets_its_names():
    talk = ("Who designed the Atomium?", "Andre Waterkeyn did.")
    [answer] = WithRules(Policy(), Second()).reformulate([Query("q", "Where was he born?", read_history(talk))])
    assert (answer.made_by, answer.route) == ("rules", "disambiguate")


def test_rules_behind_a_policy_add_names_only_for_a_pronoun():
    talk = ("Who designed the Atomium?", "Andre Waterkeyn did.")
    both = with_rules(Policy(), None)
    assert both.name == "policy_with_rules"
    asked = [Query("1", "Where was he born?", read_history(talk)), Query("2", "birthplace?", read_history(talk))]
    assert [answer.made_by for answer in both.reformulate(asked)] == ["rules", "policy"]
