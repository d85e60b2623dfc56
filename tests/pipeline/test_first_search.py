"""The first search of pipeline and multi-step retrieval is the adaptive one, with and without a conversation."""

import pytest
from pipeline_stand_ins import CLAIM, ModelByRole, gaps, split
from stand_ins import BrokenRetriever, ScoredRetriever, ScriptedReformulator, ScriptedRetriever

from acqo_rl.conversations import read_history
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.language_models.structured import example
from acqo_rl.pipeline.calls import FirstSearch, PassageSearch
from acqo_rl.pipeline.pipeline import Pipeline
from acqo_rl.pipeline.state import RetrievalState
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.types import Document, Query

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
    "sub_answer": example(answer="Alphabet"),
    "gap": gaps(),
    "synthesis": "Alphabet.",
    "grounding": CLAIM,
}


@pytest.fixture
def ask(corpus):
    """Returns the result, the model, the retriever and the pipeline."""

    def make(reformulator, query=QUESTION, retrievers=(), mode="pipeline", **settings):
        retriever = ScriptedRetriever(FOUND)
        model = ModelByRole(**REPLIES)
        searcher = AdaptiveSearcher(reformulator, [retriever, *retrievers], RankScoreFusion())
        pipeline = Pipeline(searcher, corpus, model, **settings)
        return pipeline.ask(query, mode=mode), model, retriever, pipeline

    return make


def test_the_fused_order_is_kept_and_later_passages_join_it_by_similarity(corpus):
    """The queries of two lists are not equally close to their documents, so cosines say little between the lists."""
    corpus["new"] = Document("new", "New", "A new passage.")
    first = {"bert": 0.9, "transformer": 0.8, "attention": 0.7}
    second = {"alphabet": 0.4, "undated": 0.3}
    gap = {"new": 0.75, "alphabet": 0.2}
    retriever = ScoredRetriever({"first": first, "second": second, "gap": gap})
    searcher = AdaptiveSearcher(ScriptedReformulator("first", "second"), retriever, RankScoreFusion())
    search = PassageSearch(AdaptiveSearcher(PassThrough(), retriever, RankScoreFusion()), corpus)
    state = RetrievalState(Query("q", "both"))
    state = FirstSearch(search, searcher).run(state)
    assert [c.document.id for c in state.chunks] == list(searcher.search("both").fused.doc_ids)
    assert [(c.document.id, c.similarity) for c in state.chunks][:2] == [("bert", 0.9), ("alphabet", 0.4)]
    search.passages(state, "hop", ["gap"], 2)
    assert [c.document.id for c in state.chunks][:4] == ["bert", "alphabet", "new", "transformer"]
    state.passages.boost = lambda chunk: 1.2 if chunk.document.id == "alphabet" else 1.0
    assert state.chunks[0].document.id == "alphabet"


def test_what_is_split_is_not_split_again(ask):
    """Its parts are answered from their own passages: one call of the reformulator, two parts, answer and grounding."""
    result, model, retriever, _ = ask(ScriptedReformulator(*PARTS))
    assert retriever.calls == [PARTS]
    assert [s.text for s in result.reformulation.sub_queries] == PARTS
    assert result.strategies == ("decomposition",)
    assert (model.count("decompose"), model.count("sub_answer"), result.model_calls) == (0, 2, 5)
    first, second = (content for role, content in model.asked if role == "sub_answer")
    assert "(1) BERT" in first and "(3) Attention" in first and "Undated" not in first
    assert first.endswith(PARTS[0]) and second.endswith(PARTS[1])
    [written] = [content for role, content in model.asked if role == "synthesis"]
    assert f"{PARTS[1]} Alphabet" in written


def test_what_is_passed_is_split_by_the_model(ask):
    result, _, retriever, _ = ask(PassThrough())  # the call that is granted to the reformulator is given back
    assert (retriever.calls, result.model_calls) == ([[QUESTION], ["BERT", "Alphabet"]], 5)


def test_without_room_in_the_budget_the_question_is_searched_as_it_stands(ask):
    result, _, retriever, _ = ask(ScriptedReformulator(*PARTS), max_model_calls=2)
    assert (retriever.calls, result.reformulation.route, result.model_calls) == ([[QUESTION]], "pass", 2)


@pytest.mark.parametrize("mode", ["simple", "recursive", "multi_hop", "self_query"])
def test_every_mode_begins_with_it(ask, mode):
    result, model, retriever, _ = ask(ScriptedReformulator(*PARTS), mode=mode)
    assert retriever.calls[0] == PARTS
    assert ([QUESTION] in retriever.calls, model.count("decompose"), result.answer) == (False, 0, "Alphabet.")


FOLLOW_UP = Query("q", "and who owns it?", read_history(("U: Who developed BERT?", "S: Google did.")))


def test_a_follow_up_is_searched_as_what_it_asks_and_answered_in_the_light_of_the_turns(ask):
    resolver = ScriptedReformulator("BERT", "Alphabet", kind="reading", route="disambiguate")
    result, model, retriever, pipeline = ask(resolver, FOLLOW_UP)
    assert pipeline.ask(FOLLOW_UP).journal.cached and len(resolver.asked) == 1
    assert retriever.calls == [["BERT", "Alphabet"]]
    assert {chunk.document.id for chunk in result.chunks} == {"bert", "alphabet"}
    assert result.model_calls == 3
    steps = [step.name for step in result.journal.trace.steps]
    assert steps[:5] == ["analyzer", "reformulation", "retrieval", "fusion", "initial"]
    [content] = [content for role, content in model.asked if role == "synthesis"]
    assert content.endswith("\n\nU: Who developed BERT?\nS: Google did.\nQuestion: and who owns it?")


@pytest.mark.parametrize(
    ("reformulator", "retrievers", "failed"),
    [
        (ScriptedReformulator(error=ConnectionError("down")), (), "reformulation"),
        (ScriptedReformulator(*PARTS), [BrokenRetriever()], "retrieval"),
    ],
)
def test_what_fails_is_named_counted_and_not_kept(ask, reformulator, retrievers, failed):
    result, _, retriever, pipeline = ask(reformulator, retrievers=retrievers)
    assert {failure.step for failure in result.failures} == {failed}
    assert retriever.calls[0] == ([QUESTION] if failed == "reformulation" else PARTS)
    assert (result.answer, result.model_calls) == ("Alphabet.", 6 if failed == "reformulation" else 5)
    assert not pipeline.ask(QUESTION).journal.cached
