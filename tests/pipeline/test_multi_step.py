"""The modes, and who goes where."""

from __future__ import annotations

import pytest
from pipeline_stand_ins import ModelByRole
from stand_ins import BrokenRetriever, ScriptedRetriever

from acqo_rl.errors import ConfigError, SearchError
from acqo_rl.pipeline.multi_step import MultiStepRetriever, choose_mode


@pytest.mark.parametrize(
    ("question", "mode"),
    [
        # chains, and needs side by side
        ("Who is the spouse of the CEO of Microsoft?", "multi_hop"),
        ("Which company acquired the firm that developed BERT?", "multi_hop"),
        ("Compare BERT and Transformer", "recursive"),
        ("What is the relationship between sleep and memory?", "multi_hop"),
        ("How does Sleep affect Memory?", "multi_hop"),
        ("What led to the fall of Rome?", "multi_hop"),
        (" ".join(["word"] * 21), "recursive"),
        ("Who wrote Dune? Who filmed it?", "self_query"),
        ("What is FAISS?", "simple"),
        ("which color is the sky", "simple"),
    ],
)
def test_auto(question, mode):
    assert choose_mode(question) == mode


FOUND = {
    "q": ("bert", "undated"),
    "Transformer": ("transformer",),
    "part 1": ("bert",),
    "part 2": ("alphabet",),
    "next": ("alphabet",),
}


def ask(corpus, mode, **replies):
    model = ModelByRole(synthesis="an answer", **replies) if replies else None
    return MultiStepRetriever(ScriptedRetriever(FOUND), corpus, model).query("q", mode)


def test_simple(corpus):
    result = ask(corpus, "simple", gap="unused")
    assert (result.answer, result.mode, result.retrieval_info["total_documents"]) == ("an answer", "simple", 2)
    assert result.context.startswith("[BERT]\nBERT is")
    assert result.context_length == len(result.context)


def test_multi_hop(corpus):
    result = ask(corpus, "multi_hop", gap=["answerable: no\nnext_query: next", "answerable: yes"])
    assert result.retrieval_info["total_hops"] == 2
    assert "[Hop 2]\n[Alphabet]" in result.context


def test_self_query(corpus):
    result = ask(corpus, "self_query", completeness=['{"sufficient": false, "missing": ["next"]}', "sufficient: yes"])
    assert result.retrieval_info["total_iterations"] == 2
    assert "\n\n---\n\n" in result.context


def test_recursive(corpus):
    """The parts first, then what their passages refer to."""
    result = ask(corpus, "recursive", decompose='["part 1", "part 2"]', sub_answer="Google")
    assert [part.text for part in result.retrieval_info["decomposition"]] == ["part 1", "part 2"]
    assert result.retrieval_info["total_retrieval_steps"] == 4  # 2 parts, Transformer, what that refers to
    assert "[Sub-query 2: part 2]\n[Alphabet]" in result.context
    assert "[Transformer]" in result.context
    assert result.retrieval_info["model_calls"] == 4


@pytest.mark.parametrize("mode", ["auto", "simple", "recursive", "multi_hop", "self_query"])
def test_without_a_model(corpus, mode):
    """Passages are found all the same, and what was skipped is named."""
    result = ask(corpus, mode)
    assert "bert" in result.state.chunks
    assert (result.answer, result.state.skipped[-1]) == ("", "synthesis: no language model")


def test_what_is_refused(corpus):
    front = MultiStepRetriever(BrokenRetriever(), corpus)
    with pytest.raises(ConfigError, match="'best'"):
        front.query("q", "best")
    with pytest.raises(ConfigError, match="empty"):
        front.query(" ")
    with pytest.raises(SearchError, match="does not answer"):
        front.query("q")


def test_nothing_found_is_no_failed_search(corpus):
    model = ModelByRole(gap="hm")
    result = MultiStepRetriever(ScriptedRetriever({}), corpus, model).query("q", "multi_hop")
    assert (result.answer, result.state.skipped) == ("", ["synthesis: there are no passages"])
    assert len(result.state.failures) == 1
