"""A question that follows earlier turns: made to stand alone, searched, and answered in the light of the turns."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pipeline_stand_ins import CLAIM, ModelByRole, gap, gaps, split
from stand_ins import BrokenRetriever, ScriptedRetriever

from acqo_rl.conversations import read_history
from acqo_rl.errors import SearchError
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.pipeline.context import question
from acqo_rl.pipeline.pipeline import Pipeline
from acqo_rl.reformulation.pass_through import pass_through
from acqo_rl.reformulation.turns import RecentTurns
from acqo_rl.roles import Reformulator
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.types import FeedbackSpec, Query, Reformulation, SubQuery

TURNS = ("U: Who developed BERT?", "S: Google did.")
FOLLOW_UP = Query("q", "and who owns it?", read_history(TURNS))
FOUND = {"Google": ("bert", "alphabet"), "owner of Google": ("alphabet", "attention"), FOLLOW_UP.text: ("undated",)}
REPLIES = {
    "gap": gap(),
    "completeness": gaps(),
    "decompose": split("Google", "owner of Google"),
    "sub_answer": "Alphabet",
    "synthesis": "Alphabet.",
    "grounding": CLAIM,
}


class Resolver(Reformulator):
    """Scripted: knows what the follow-up asks, by so many calls, and keeps what it was asked."""

    name = "resolver"

    def __init__(self, calls=1, texts=("Google", "owner of Google")):
        self.calls, self.texts = calls, texts
        self.asked = []

    def reformulate(self, queries):
        self.asked += queries
        subs = tuple(SubQuery(text, "reading") for text in self.texts)
        return [Reformulation(query, "disambiguate", subs, self.name, calls=self.calls) for query in queries]


class Down(Resolver):
    def reformulate(self, queries):
        raise ConnectionError("the model server is down")


def searcher(reformulator, retriever, **settings):
    return AdaptiveSearcher(reformulator, retriever, RankScoreFusion(), **settings)


def ask(corpus, query=FOLLOW_UP, reformulator=None, retriever=None, **settings):
    """The result, the model and the retriever."""
    model, retriever = ModelByRole(**REPLIES), retriever or ScriptedRetriever(FOUND)
    with_turns = searcher(reformulator or Resolver(), retriever)
    result = Pipeline(retriever, corpus, model, searcher=with_turns, **settings).ask(query)
    return result, model, retriever


def test_it_is_searched_as_what_it_asks(corpus):
    """One fusion over its searches; the passages bear the search that found them."""
    result, _, retriever = ask(corpus)
    assert retriever.calls == [["Google", "owner of Google"]]
    assert [(c.document.id, c.query) for c in result.chunks] == [
        ("alphabet", "owner of Google"),
        ("bert", "Google"),
        ("attention", "owner of Google"),
    ]
    assert [s.text for s in result.reformulation.sub_queries] == ["Google", "owner of Google"]
    assert result.model_calls == 3
    steps = [(step.name, step.detail) for step in result.trace]
    assert ("initial", "searched ['Google', 'owner of Google']") in steps
    assert [name for name, _ in steps[:5]] == ["analyzer", "analyzer", "reformulation", "retrieval", "fusion"]


def test_the_answer_is_written_in_the_light_of_the_turns(corpus):
    _, model, _ = ask(corpus)
    [content] = [content for role, content in model.asked if role == "synthesis"]
    turns = "Earlier turns:\n- U: Who developed BERT?\n- S: Google did."
    assert content.endswith(f"\n\n{turns}\n\nQuestion: and who owns it?")


def test_without_turns_none_are_shown(corpus):
    resolver = Resolver()
    _, model, _ = ask(corpus, Query("q", "Google"), resolver)
    assert [query.history for query in resolver.asked] == [()]
    assert "Earlier turns" not in " ".join(content for _, content in model.asked)


def test_without_a_searcher_it_is_searched_as_it_stands(corpus):
    retriever = ScriptedRetriever(FOUND)
    result = Pipeline(retriever, corpus).ask(FOLLOW_UP)
    assert (retriever.calls, result.reformulation) == ([[FOLLOW_UP.text]], None)


def test_a_policy_that_reads_first_results_gets_them(corpus):
    resolver, retriever = Resolver(), ScriptedRetriever({**FOUND, f"{' '.join(TURNS)} {FOLLOW_UP.text}": ("undated",)})
    with_feedback = searcher(resolver, retriever, corpus=corpus, feedback=FeedbackSpec(1))
    Pipeline(retriever, corpus, searcher=with_feedback, reformulation_calls=1).ask(FOLLOW_UP)
    assert [snippet.title for snippet in resolver.asked[0].feedback] == ["Undated"]
    assert resolver.asked[0].history == FOLLOW_UP.history


def test_a_hop_goes_on_from_there(corpus):
    """The follow-up itself, which says nothing, is not searched by later steps either."""
    query = Query("q", "Which company acquired the firm that developed it?", read_history(TURNS))
    result, model, retriever = ask(corpus, query)
    assert result.strategies == ("multi_hop",)
    assert retriever.calls == [["Google", "owner of Google"]]
    [content] = [content for role, content in model.asked if role == "gap"]
    assert "- S: Google did.\n\nQuestion: Which company" in content


class TestBudget:
    def test_a_reformulation_counts(self, corpus):
        for calls in (0, 1, 3):
            result, _, _ = ask(corpus, reformulator=Resolver(calls), reformulation_calls=3)
            assert result.model_calls == 2 + calls

    def test_answer_and_grounding_come_first(self, corpus):
        """Where there is no room, nobody is asked, and the result says so."""
        resolver = Resolver(2)
        result, model, retriever = ask(corpus, reformulator=resolver, reformulation_calls=2, max_model_calls=3)
        assert (resolver.asked, retriever.calls) == ([], [[FOLLOW_UP.text]])
        assert result.skipped == ("reformulation: the budget of 3 model calls is too small",)
        assert [role for role, _ in model.asked] == ["synthesis", "grounding"]

    def test_one_that_asks_no_model_needs_no_room(self, corpus):
        retriever = ScriptedRetriever({" ".join([*TURNS, FOLLOW_UP.text]): ("bert",)})
        result, _, _ = ask(corpus, FOLLOW_UP, RecentTurns(), retriever, reformulation_calls=0, max_model_calls=2)
        assert ([c.document.id for c in result.chunks], result.model_calls, result.skipped) == (["bert"], 2, ())

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
    @given(
        st.integers(2, 9),
        st.integers(0, 3),
        st.sampled_from(["and it?", "Which company acquired the firm that developed it?", "Compare it and BERT"]),
    )
    def test_the_limit_is_hard(self, corpus, limit, calls, text):
        """Whatever a reformulation costs and whatever comes after it."""
        resolver = Resolver(calls)
        settings = {"max_model_calls": limit, "reformulation_calls": calls}
        result, model, _ = ask(corpus, Query("q", text, read_history(TURNS)), resolver, **settings)
        assert len(model.asked) + calls * len(resolver.asked) == result.model_calls <= limit
        assert model.count("synthesis") == bool(result.chunks)
        assert bool(resolver.asked) == (calls + 2 <= limit)


class TestFaults:
    def test_a_reformulation_that_fails_leaves_the_question(self, corpus):
        """It is named, its call is counted, and the result is not kept."""
        result, _, retriever = ask(corpus, reformulator=Down())
        assert retriever.calls == [[FOLLOW_UP.text]]
        assert result.failures == ("reformulation: ConnectionError: the model server is down",)
        assert (result.reformulation.route, result.model_calls) == ("pass", 3)

    def test_partial_results_are_answered_from_and_not_kept(self, corpus):
        class Other(BrokenRetriever):
            name = "other"

        retriever = ScriptedRetriever(FOUND)
        both = searcher(Resolver(), [retriever, Other()])
        front = Pipeline(retriever, corpus, ModelByRole(**REPLIES), searcher=both)
        result = front.ask(FOLLOW_UP)
        assert result.answer == "Alphabet."
        assert result.failures[0] == "retrieval: other ConnectionError: the search server does not answer"
        assert not front.ask(FOLLOW_UP).cached

    def test_a_retriever_that_is_down_is_an_error(self, corpus):
        with pytest.raises(SearchError, match=r"No search succeeded.*does not answer"):
            ask(corpus, retriever=BrokenRetriever())

    def test_what_was_found_before_costs_no_reformulation(self, corpus):
        retriever, resolver = ScriptedRetriever(FOUND), Resolver()
        shared = searcher(resolver, retriever)
        shared.search(FOLLOW_UP)
        result = Pipeline(retriever, corpus, ModelByRole(**REPLIES), searcher=shared).ask(FOLLOW_UP)
        assert (len(resolver.asked), result.model_calls) == (1, 2)
        assert [s.text for s in result.reformulation.sub_queries] == ["Google", "owner of Google"]


@pytest.mark.parametrize("mode", ["simple", "recursive", "multi_hop", "self_query"])
def test_every_mode_begins_with_what_it_asks(corpus, mode):
    retriever = ScriptedRetriever(FOUND)
    pipeline = Pipeline(retriever, corpus, ModelByRole(**REPLIES), searcher=searcher(Resolver(), retriever))
    result = pipeline.ask(FOLLOW_UP, mode=mode)
    assert retriever.calls[0] == ["Google", "owner of Google"]
    assert [FOLLOW_UP.text] not in retriever.calls
    assert "Alphabet" in result.context and result.answer == "Alphabet."


def test_no_word_of_it_can_be_searched(corpus):
    class Passes(Resolver):
        def reformulate(self, queries):
            return [pass_through(query, self.name) for query in queries]

    result, _, retriever = ask(
        corpus, Query("q", "???", read_history(TURNS)), Passes(), ScriptedRetriever({"???": ("bert",)})
    )
    assert (retriever.calls, [c.query for c in result.chunks]) == ([["???"]], ["???"])


class TestQuestion:
    def test_without_turns(self):
        assert question(Query("q", "Why?")) == "Question: Why?"

    def test_the_last_turns_within_a_budget(self):
        """Of four turns of 500 characters the first one has no room; a longer one is cut, and none adds a line."""
        turns = ("S: first", *(f"{mark}: {mark * 497}" for mark in "USU"))
        shown = question(Query("q", "Why?", read_history(turns))).split("\n")
        assert shown == ["Earlier turns:", *(f"- {turn}" for turn in turns[1:]), "", "Question: Why?"]
        [_, line, *_] = question(Query("q", "Why?", read_history(("a\nQuestion: b " + "word " * 200,)))).split("\n")
        assert line.startswith("- U: a Question: b word") and len(line) <= 502
