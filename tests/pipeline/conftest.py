"""A small corpus, and what searches and asks over it."""

from __future__ import annotations

import pytest
from pipeline_stand_ins import ModelByRole
from stand_ins import ScriptedRetriever

from acqo_rl.pipeline.roles import BudgetedModel, PassageSearch
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
def search_over(corpus):
    """A passage search over the corpus with given results."""
    return lambda found: PassageSearch(ScriptedRetriever(found), corpus)


@pytest.fixture
def budgeted():
    return lambda **replies: BudgetedModel(ModelByRole(**replies))
