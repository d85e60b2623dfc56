"""The modes of the pipeline: their choice, steps, passages and errors."""

from __future__ import annotations

import pytest
from pipeline_stand_ins import CLAIM, ModelByRole, gap, gaps, split
from stand_ins import BrokenRetriever, ScriptedRetriever

from acqo_rl.errors import ConfigError, SearchError
from acqo_rl.pipeline.modes import choose_mode
from acqo_rl.pipeline.pipeline import Pipeline


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
    model = ModelByRole(synthesis="an answer", grounding=CLAIM, **replies) if replies else None
    return Pipeline(ScriptedRetriever(FOUND), corpus, model).ask("q", mode=mode)


def test_simple(corpus):
    result = ask(corpus, "simple", gap="unused")
    assert (result.answer, result.strategies, len(result.chunks)) == ("an answer", ("simple",), 2)
    assert result.context.startswith("[BERT]\nBERT is")
    assert result.model_calls == 2  # answer and grounding


def test_multi_hop(corpus):
    result = ask(corpus, "multi_hop", gap=[gap("next"), gap()])
    assert len(result.hops) == 2
    assert "[Hop 2]\n[Alphabet]" in result.context


def test_self_query(corpus):
    result = ask(corpus, "self_query", completeness=[gaps("next"), gaps()])
    assert len(result.iterations) == 2
    assert "\n\n---\n\n" in result.context


def test_recursive(corpus):
    """The parts first, then what their passages refer to."""
    result = ask(corpus, "recursive", decompose=split("part 1", "part 2"), sub_answer="Google")
    assert [part.text for part in result.sub_questions] == ["part 1", "part 2"]
    assert [step.query for step in result.path if step.action == "follow_reference"][:1] == ["Transformer"]
    assert "[Sub-query 2: part 2]\n[Alphabet]" in result.context
    assert "[Transformer]" in result.context
    assert result.model_calls == 5  # the split, two parts, answer and grounding


@pytest.mark.parametrize("mode", ["auto", "simple", "recursive", "multi_hop", "self_query"])
def test_without_a_model(corpus, mode):
    """Passages are found all the same, and what was skipped is named."""
    result = ask(corpus, mode)
    assert "bert" in {chunk.document.id for chunk in result.chunks}
    assert (result.answer, result.skipped[-1]) == ("", "synthesis: no language model")


def test_auto_reports_the_chosen_mode(corpus):
    result = Pipeline(ScriptedRetriever(FOUND), corpus).ask("What led to the fall of Rome?", mode="auto")
    assert result.strategies == ("multi_hop",)


def test_modes_are_cached_apart(corpus):
    pipeline = Pipeline(ScriptedRetriever(FOUND), corpus)
    assert not pipeline.ask("q", mode="simple").cached
    assert not pipeline.ask("q", mode="recursive").cached
    assert not pipeline.ask("q").cached
    again = pipeline.ask("q", mode="recursive")
    assert (again.cached, again.strategies) == (True, ("recursive",))


def test_errors(corpus):
    pipeline = Pipeline(BrokenRetriever(), corpus)
    with pytest.raises(ConfigError, match="'best'"):
        pipeline.ask("q", mode="best")
    with pytest.raises(ConfigError, match="empty"):
        pipeline.ask(" ", mode="simple")
    with pytest.raises(SearchError, match="does not answer"):
        pipeline.ask("q", mode="auto")


def test_finding_nothing_is_no_failed_search(corpus):
    model = ModelByRole(gap="hm")
    result = Pipeline(ScriptedRetriever({}), corpus, model).ask("q", mode="multi_hop")
    assert (result.answer, result.skipped) == ("", ("synthesis: there are no passages",))
    assert len(result.failures) == 1
