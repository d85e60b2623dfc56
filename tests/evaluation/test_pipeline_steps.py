"""Each system on one query: what is counted, and that nothing but its own steps is in it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pipeline_stand_ins import BrokenModel, ModelByRole
from stand_ins import BrokenRetriever, ScriptedRetriever

from acqo_rl.errors import ConfigError
from acqo_rl.evaluation.pipeline import STEPS, Components, check_steps, run_step
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.roles import LanguageModel, Reformulator
from acqo_rl.types import Completion, Document, FeedbackSpec, Query, Reformulation, SubQuery

CHAIN = Query("q", "Which company acquired the firm that developed BERT?")
CORPUS = {
    d.id: d
    for d in (
        Document("bert", "BERT", "BERT was made by Google. See also: Transformer."),
        Document("alphabet", "Alphabet", "Alphabet owns Google."),
        Document("transformer", "Transformer", "A network."),
    )
}
FOUND = {CHAIN.text: ("bert",), "owner of Google": ("alphabet",), "Transformer": ("transformer",)}
REPLIES = {
    "gap": ['{"answerable": false, "next_query": "owner of Google"}', '{"answerable": true}'],
    "completeness": '{"sufficient": false, "missing": ["owner of Google"]}',
    "decompose": '["owner of Google", "Transformer"]',
    "sub_answer": "Alphabet",
    "synthesis": "Alphabet did.",
    "grounding": '{"claims": [{"claim": "Alphabet did", "source": 2}]}',
}


class Policy(Reformulator):
    """Scripted: asks for the owner, and keeps the feedback that it was shown."""

    name = "policy"
    feedback = FeedbackSpec(1, 9)

    def reformulate(self, queries):
        self.shown = [snippet.title for query in queries for snippet in query.feedback]
        subs = (SubQuery("owner of Google", "part"), SubQuery(CHAIN.text, "original"))
        return [Reformulation(query, "decompose", subs, self.name, "split", 7, None, calls=1) for query in queries]


def parts(model=None, retriever=None, **settings):
    return Components(
        retriever or ScriptedRetriever(FOUND), CORPUS, model or ModelByRole(**REPLIES), RankScoreFusion(), **settings
    )


def test_the_pipeline_begins_with_the_search_of_the_policy():
    """As a service does, with and without a conversation; what the policy wrote is counted."""
    follow_up = Query("q", "and who owns it?", ("U: Who made BERT?", "S: Google."))
    outcome = run_step("pipeline", parts(policy=Policy()), follow_up)
    first = f"U: Who made BERT? S: Google. {follow_up.text}"
    assert outcome.searched == (first, "owner of Google", CHAIN.text)
    assert (set(outcome.doc_ids), outcome.calls) == ({"alphabet", "bert"}, 1 + 2)
    assert (outcome.tokens, "split" in outcome.replies) == (7 + 2, True)
    alone = run_step("pipeline", parts(policy=Policy()), CHAIN)
    assert "split" in alone.replies


@pytest.mark.parametrize(
    ("name", "found", "searches", "calls"),
    [
        ("plain", ("bert",), 1, 0),
        ("multi_hop", ("bert", "alphabet"), 2, 2),
        ("self_query", ("bert", "alphabet"), 2, 2),
        ("references", ("bert", "transformer"), 2, 0),
        ("decomposition", ("bert", "alphabet", "transformer"), 3, 3),
        ("recursive", ("bert", "alphabet", "transformer"), 3, 3),
        ("plain_answer", ("bert",), 1, 2),
        ("pipeline", ("bert", "alphabet"), 2, 4),
    ],
)
def test_each_system(name, found, searches, calls):
    model = ModelByRole(**REPLIES)
    outcome = run_step(name, parts(model), CHAIN)
    assert (outcome.doc_ids, len(outcome.searched), outcome.calls) == (found, searches, calls)
    assert len(model.asked) == len(outcome.replies) == outcome.tokens == calls
    assert outcome.ms > 0
    answers = name in ("plain_answer", "pipeline")
    assert (outcome.answer, outcome.confidence is None) == (("Alphabet did.", False) if answers else (None, True))
    assert not outcome.skipped and not outcome.failures and not outcome.errors


def test_the_pipeline_says_which_steps_it_took():
    assert run_step("pipeline", parts(), CHAIN).strategies == ("multi_hop",)


class BrokenPolicy(Reformulator):
    name = "policy"
    feedback = FeedbackSpec(2, 5)

    def reformulate(self, queries):
        raise ConnectionError("the policy is down")


def test_a_policy_that_fails_is_an_error_of_the_outcome():
    """Such an outcome is not kept."""
    query = replace(CHAIN, history=("U: Tell me of BERT.",))
    outcome = run_step("pipeline", parts(policy=BrokenPolicy()), query)
    assert outcome.errors == ("ConnectionError: the policy is down",)


def test_the_policy_reads_the_results_of_a_first_search():
    policy = Policy()
    run_step("pipeline", parts(policy=policy), CHAIN)
    assert policy.shown == ["BERT"]


def test_the_budget_is_that_of_the_pipeline():
    """The answer and its grounding are kept."""
    outcome = run_step("pipeline", parts(max_model_calls=2), CHAIN)
    assert (outcome.calls, outcome.answer) == (2, "Alphabet did.")
    assert outcome.skipped == ("multi_hop: the budget of 2 model calls is used up",)


def test_a_model_that_fails_is_told_apart_from_a_reply_that_cannot_be_read():
    broken = run_step("multi_hop", parts(BrokenModel()), CHAIN)
    assert broken.errors == ("ConnectionError: the model server is down",)

    class Refused(LanguageModel):
        def generate(self, conversations):
            return [Completion("", 0, problem="time-out") for _ in conversations]

    assert run_step("multi_hop", parts(Refused()), CHAIN).errors == ("time-out",)
    unread = run_step("multi_hop", parts(ModelByRole(gap="hm")), CHAIN)
    assert (unread.errors, len(unread.failures)) == ((), 1)


@pytest.mark.parametrize("name", STEPS)
def test_a_failing_retriever_is_no_outcome(name):
    with pytest.raises(Exception, match="the search server does not answer"):
        run_step(name, parts(retriever=BrokenRetriever()), CHAIN)


def test_a_search_that_fails_later_is_no_outcome_either():
    class Once(ScriptedRetriever):
        def search(self, texts, k):
            if self.calls:
                raise ConnectionError("gone")
            return super().search(texts, k)

    with pytest.raises(ConnectionError, match="gone"):
        run_step("pipeline", parts(retriever=Once(FOUND)), CHAIN)


@pytest.mark.parametrize("names", [["plain", "magic"], ["policy"], ["plain", "plain"]])
def test_unknown_and_repeated_steps_are_refused(names):
    with pytest.raises(ConfigError):
        check_steps(names)
