"""The first search of pipeline and multi-step retrieval is the adaptive one, with and without a conversation."""

from __future__ import annotations

import pytest
from pipeline_stand_ins import CLAIM, ModelByRole, gaps, split
from stand_ins import BrokenRetriever, ScriptedRetriever, ranking

from acqo_rl.conversations import read_history
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.pipeline.calls import PassageSearch
from acqo_rl.pipeline.context import question
from acqo_rl.pipeline.first_search import FirstSearch
from acqo_rl.pipeline.pipeline import Pipeline
from acqo_rl.pipeline.state import RetrievalState
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.roles import Reformulator, Retriever
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.types import Document, Query, Reformulation, SubQuery

QUESTION = "Compare the firm behind BERT and the owner of Google"
PARTS = ["firm behind BERT", "owner of Google"]
TURNS = ("U: Tell me of language models.", "S: There are many.")
FOUND = {
    PARTS[0]: ("bert", "transformer", "attention", "undated"),
    PARTS[1]: ("alphabet", "bert"),
    "BERT": ("bert",),
    "Alphabet": ("alphabet",),
    QUESTION: ("undated",),
}
REPLIES = {
    "decompose": split("BERT", "Alphabet"),
    "sub_answer": "Alphabet",
    "gap": gaps(),
    "synthesis": "Alphabet.",
    "grounding": CLAIM,
}


class Splits(Reformulator):
    """Scripted: the parts of every question, by one call."""

    name = "splits"

    def __init__(self, parts=PARTS):
        self.parts = parts

    def reformulate(self, queries):
        parts = tuple(SubQuery(part, "part") for part in self.parts)
        return [Reformulation(query, "decompose", parts, self.name, calls=1) for query in queries]


def ask(corpus, reformulator, **settings):
    retriever, model = ScriptedRetriever(FOUND), ModelByRole(**REPLIES)
    searcher = AdaptiveSearcher(reformulator, retriever, RankScoreFusion())
    query = Query("q", QUESTION, read_history(settings.pop("history", ())))
    result = Pipeline(retriever, corpus, model, searcher=searcher, **settings).ask(query)
    return result, model, retriever


class Cosines(Retriever):
    """Scripted: document -> cosine of each text."""

    name = "cosines"
    cosine = True

    def __init__(self, **found):
        self.found = {text.replace("_", " "): scores for text, scores in found.items()}

    def search(self, texts, k):
        return [ranking(*self.found[text], scores=self.found[text].values(), query=text) for text in texts]


class TestOrder:
    """The queries of two lists are not equally close to their documents, so cosines say little between the lists."""

    def state(self, corpus, **more):
        first = {"bert": 0.9, "transformer": 0.8, "attention": 0.7}
        retriever = Cosines(first=first, second={"alphabet": 0.4, "undated": 0.3}, **more)
        searcher = AdaptiveSearcher(Splits(["first", "second"]), retriever, RankScoreFusion())
        raw = AdaptiveSearcher(PassThrough(), retriever, RankScoreFusion())
        state, search = RetrievalState(Query("q", "both")), PassageSearch(raw, corpus)
        FirstSearch(search, searcher=searcher).run(state)
        return state, searcher, search

    def test_the_fused_order_is_kept_and_later_passages_join_it_by_similarity(self, corpus):
        corpus["new"] = Document("new", "New", "A new passage.")
        state, searcher, search = self.state(corpus, gap={"new": 0.75, "alphabet": 0.2})
        assert [c.document.id for c in state.ranked()] == list(searcher.search("both").fused.doc_ids)
        assert [c.document.id for c in state.ranked()][:2] == ["bert", "alphabet"]
        assert [c.similarity for c in state.ranked()][:2] == [0.9, 0.4]
        search.search(state, "hop", ["gap"], 2)
        assert [c.document.id for c in state.ranked()][:4] == ["bert", "alphabet", "new", "transformer"]
        state.boost = lambda chunk: 1.2 if chunk.document.id == "alphabet" else 1.0
        assert state.ranked()[0].document.id == "alphabet"


def test_what_is_split_is_not_split_again(corpus):
    """Its parts are answered from their own passages: one call of the reformulator, two parts, answer and grounding."""
    result, model, retriever = ask(corpus, Splits())
    assert retriever.calls == [PARTS]
    assert [s.text for s in result.reformulation.sub_queries] == PARTS
    assert {chunk.query for chunk in result.chunks} == set(PARTS)
    assert result.strategies == ("decomposition",)
    assert (model.count("decompose"), model.count("sub_answer"), result.model_calls) == (0, 2, 5)
    first, second = (content for role, content in model.asked if role == "sub_answer")
    assert "(1) BERT" in first and "(3) Attention" in first and "Undated" not in first
    assert first.endswith(PARTS[0]) and second.endswith(PARTS[1])
    assert "(1) Alphabet" in second
    [written] = [content for role, content in model.asked if role == "synthesis"]
    assert f"{PARTS[1]} Alphabet" in written


def test_what_is_passed_is_split_by_the_model(corpus):
    result, model, retriever = ask(corpus, PassThrough(), reformulation_calls=0)
    assert (model.count("decompose"), result.model_calls) == (1, 5)
    assert retriever.calls == [[QUESTION], ["BERT", "Alphabet"]]


def test_without_room_in_the_budget_the_question_is_searched_as_it_stands(corpus):
    result, model, retriever = ask(corpus, Splits(), max_model_calls=2)
    assert (retriever.calls, result.reformulation, result.model_calls) == ([[QUESTION]], None, 2)
    assert model.count("synthesis") == 1


@pytest.mark.parametrize("mode", ["simple", "recursive", "multi_hop", "self_query"])
def test_every_mode_begins_with_it(corpus, mode):
    retriever, model = ScriptedRetriever(FOUND), ModelByRole(**REPLIES)
    searcher = AdaptiveSearcher(Splits(), retriever, RankScoreFusion())
    result = Pipeline(retriever, corpus, model, searcher=searcher).ask(QUESTION, mode=mode)
    assert retriever.calls[0] == PARTS
    assert [QUESTION] not in retriever.calls
    assert model.count("decompose") == 0
    assert result.answer == "Alphabet."


FOLLOW_UP = Query("q", "and who owns it?", read_history(("U: Who developed BERT?", "S: Google did.")))


class Resolver(Reformulator):
    """Scripted: knows what the follow-up asks, by so many calls, and keeps what it was asked."""

    name = "resolver"

    def __init__(self, calls=1, error=None):
        self.calls, self.error, self.asked = calls, error, []

    def reformulate(self, queries):
        if self.error:
            raise self.error
        self.asked += queries
        subs = tuple(SubQuery(text, "reading") for text in ("BERT", "Alphabet"))
        return [Reformulation(query, "disambiguate", subs, self.name, calls=self.calls) for query in queries]


class TestFollowUps:
    def ask(self, corpus, reformulator, query=FOLLOW_UP, retrievers=(), **settings):
        retriever, model = ScriptedRetriever({**FOUND, FOLLOW_UP.text: ("undated",)}), ModelByRole(**REPLIES)
        searcher = AdaptiveSearcher(reformulator, [retriever, *retrievers], RankScoreFusion())
        self.pipeline = Pipeline(retriever, corpus, model, searcher=searcher, **settings)
        return self.pipeline.ask(query), model, retriever

    def test_it_is_searched_as_what_it_asks_and_answered_in_the_light_of_the_turns(self, corpus):
        resolver = Resolver()
        result, model, retriever = self.ask(corpus, resolver)
        assert self.pipeline.ask(FOLLOW_UP).cached and len(resolver.asked) == 1
        assert retriever.calls == [["BERT", "Alphabet"]]
        assert {c.document.id: c.query for c in result.chunks} == {"bert": "BERT", "alphabet": "Alphabet"}
        assert result.model_calls == 3
        steps = [step.name for step in result.trace]
        assert steps[:5] == ["analyzer", "reformulation", "retrieval", "fusion", "initial"]
        [content] = [content for role, content in model.asked if role == "synthesis"]
        turns = "Earlier turns:\n- U: Who developed BERT?\n- S: Google did."
        assert content.endswith(f"\n\n{turns}\n\nQuestion: and who owns it?")

    def test_a_reformulation_that_fails_leaves_the_question(self, corpus):
        """It is named, its call is counted, and the result is not kept."""
        result, _, retriever = self.ask(corpus, Resolver(error=ConnectionError("the model server is down")))
        assert retriever.calls == [[FOLLOW_UP.text]]
        assert [*map(str, result.failures)] == ["reformulation: ConnectionError: the model server is down"]
        assert (result.reformulation.route, result.model_calls) == ("pass", 3)
        assert not self.pipeline.ask(FOLLOW_UP).cached

    def test_partial_results_are_answered_from_and_not_kept(self, corpus):
        class Other(BrokenRetriever):
            name = "other"

        result, _, _ = self.ask(corpus, Resolver(), retrievers=[Other()])
        assert result.answer == "Alphabet."
        assert result.failures[0].retriever == "other"
        assert not self.pipeline.ask(FOLLOW_UP).cached

    def test_the_last_turns_within_a_budget(self):
        """Of four turns of 500 characters the first one has no room; a longer one is cut, and none adds a line."""
        turns = ("S: first", *(f"{mark}: {mark * 497}" for mark in "USU"))
        shown = question(Query("q", "Why?", read_history(turns))).split("\n")
        assert shown == ["Earlier turns:", *(f"- {turn}" for turn in turns[1:]), "", "Question: Why?"]
        [_, line, *_] = question(Query("q", "Why?", read_history(("a\nQuestion: b " + "word " * 200,)))).split("\n")
        assert line.startswith("- U: a Question: b word") and len(line) <= 502
