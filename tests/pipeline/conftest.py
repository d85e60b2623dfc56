"""A small corpus, and what searches and asks over it."""

import pytest
from pipeline_stand_ins import ModelByRole
from stand_ins import ScriptedRetriever

from acqo_rl.fusion import RankScoreFusion
from acqo_rl.pipeline.calls import BudgetedModel, PassageSearch
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.types import Document

DOCUMENTS = (
    Document("bert", "BERT", "BERT is a language model that was developed by Google in 2018. See also: Transformer."),
    Document("alphabet", "Alphabet", "Alphabet became the parent company of Google in 2015."),
    Document("transformer", "Transformer", "The Transformer is a network, as described in Attention Is All You Need."),
    Document("attention", "Attention Is All You Need", "A paper of 2017 about attention."),
    Document("undated", "Undated", "A page without a date."),
)


@pytest.fixture
def corpus():
    return {document.id: document for document in DOCUMENTS}


@pytest.fixture
def searching(corpus):
    """A passage search with a retriever, by default over the corpus."""

    def make(retriever, documents=corpus):
        return PassageSearch(AdaptiveSearcher(PassThrough(), retriever, RankScoreFusion(), cache_size=0), documents)

    return make


@pytest.fixture
def search_over(searching):
    """A passage search over the corpus with given results, and its retriever."""

    def make(found):
        retriever = ScriptedRetriever(found)
        return searching(retriever), retriever

    return make


@pytest.fixture
def budgeted():
    return lambda **replies: BudgetedModel(ModelByRole(**replies))
