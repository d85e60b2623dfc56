"""Stores and retrievers of LangChain as indexes: by their location, in Python and in a command."""

import json
import sys

import pytest

from acqo_rl.cli import main
from acqo_rl.errors import ConfigError, SearchError
from acqo_rl.retrieval.engines.filters import read_filter
from acqo_rl.retrieval.engines.opening import documents_of
from acqo_rl.retrieval.load import load_retriever
from acqo_rl.types import Scope

MODULE = """
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore

TEXTS = {"lima": "Lima is the capital of Peru.", "franc": "The franc is the currency of Chad."}


def store():
    made = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    made.add_documents([Document(text, id=name, metadata={"title": name}) for name, text in TEXTS.items()])
    return made


class Listed(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(text, metadata={"title": name}) for name, text in TEXTS.items()]


class Distances(InMemoryVectorStore):
    def similarity_search_with_score(self, *given, **named):
        return [(found, 1 - score) for found, score in super().similarity_search_with_score(*given, **named)]

    def get_by_ids(self, ids):
        raise ConnectionError("the store is down")


def distances():
    made = Distances(DeterministicFakeEmbedding(size=8))
    made.store = store().store
    return made


listed = Listed()
number = 3
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Location of a module with stores, without the name."""
    name = f"stores_of_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.setattr(sys, "path", [*sys.path])
    return f"langchain:{tmp_path}/{name}"


def test_a_store_ranks_by_its_scores_and_looks_up_its_documents(module):
    place = f"{module}:store"
    retriever = load_retriever(place)
    text = "Lima is the capital of Peru."

    [ranking] = retriever.search([text], 5)
    assert (ranking.doc_ids[0], ranking.scores[0]) == ("lima", pytest.approx(1))
    assert [*retriever.search([text], 1)[0].doc_ids] == ["lima"]
    found = documents_of(place).fetch(["franc", "nothing"])
    assert [(d.title, d.text) for d in found.values()] == [("franc", "The franc is the currency of Chad.")]
    assert load_retriever(f"{module}:distances").search([text], 5)[0].doc_ids == ranking.doc_ids
    with pytest.raises(SearchError, match="the store is down"):
        documents_of(f"{module}:distances").fetch(["lima"])


def test_a_retriever_gives_an_order_and_its_hits_are_the_documents(module):
    place = f"{module}:listed"
    documents = documents_of(place)

    [ranking] = load_retriever(place).search(["a"], 5)
    assert ranking.scores == (1, 0.5)
    assert [documents[doc_id].title for doc_id in ranking.doc_ids] == ["lima", "franc"]
    with pytest.raises(ConfigError):
        documents.values()


def test_a_command_searches_a_store(module, capsys):
    main(["search", "--index", f"{module}:store", "--reformulator", "auto", "--query", "franc", "--json", "True"])
    printed = json.loads(capsys.readouterr().out)
    assert {document["id"] for document in printed["documents"]} == {"lima", "franc"}


@pytest.mark.parametrize("name", [":number", ":missing", "", ":store.missing", ":store?tenant=a", ":store?mode=text"])
def test_what_is_no_store_is_refused(module, name):
    with pytest.raises(ConfigError):
        load_retriever(f"{module}{name}")


def test_a_filter_is_refused(module):
    with pytest.raises(ConfigError):
        load_retriever(f"{module}:store").restrict(Scope(read_filter({"lang": "en"})))
