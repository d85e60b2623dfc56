"""A small corpus, and a model that answers by what it is asked for."""

from __future__ import annotations

import pytest
from stand_ins import ScriptedRetriever

from acqo_rl.pipeline.roles import Asker, PassageSearch
from acqo_rl.types import Completion, Document

DOCUMENTS = (
    Document("bert", "BERT", "BERT is a language model that was developed by Google in 2018. See also: Transformer."),
    Document("alphabet", "Alphabet", "Alphabet became the parent company of Google in 2015."),
    Document("transformer", "Transformer", "The Transformer is a network, as described in Attention Is All You Need."),
    Document("attention", "Attention Is All You Need", "A paper of 2017 about attention."),
    Document("undated", "Undated", "A page without a date."),
)
ROLES = {
    "analyzer": "hard to answer by one search",
    "gap": '"answerable"',
    "completeness": '"sufficient"',
    "decompose": "Split the question",
    "sub_answer": "Briefly answer",
    "synthesis": "comprehensively",
    "grounding": "Split the answer",
}


class ModelByRole:
    """Scripted: answers each kind of request with its replies in turn, the last one again and again."""

    def __init__(self, **replies):
        self.replies = {role: [r] if isinstance(r, str) else list(r) for role, r in replies.items()}
        self.asked = []

    def generate(self, conversations):
        return [Completion(self._reply(conversation), 1) for conversation in conversations]

    def _reply(self, conversation):
        [role] = [role for role, words in ROLES.items() if words in conversation[0]["content"]]
        self.asked.append((role, conversation[1]["content"]))
        replies = self.replies[role]
        return replies.pop(0) if len(replies) > 1 else replies[0]

    def count(self, role):
        return sum(asked == role for asked, _ in self.asked)


class BrokenModel:
    def generate(self, conversations):
        raise ConnectionError("the model server is down")


@pytest.fixture
def corpus():
    return {document.id: document for document in DOCUMENTS}


@pytest.fixture
def search_over(corpus):
    """A passage search over the corpus that finds what it is told."""
    return lambda found: PassageSearch(ScriptedRetriever(found), corpus)


@pytest.fixture
def asker():
    return lambda **replies: Asker(ModelByRole(**replies))
