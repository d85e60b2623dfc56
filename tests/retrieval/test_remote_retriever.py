"""An index behind a real server against the same index in this process."""

import pytest
from json_server import JsonServer
from serving_stand_ins import running
from stand_ins import ScriptedRetriever

from acqo_rl.data.beir import corpus_hash
from acqo_rl.errors import IndexMismatchError, SearchError
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.retrieval.build import build_bm25_index
from acqo_rl.retrieval.load import describe, load_retriever
from acqo_rl.retrieval.remote import RemoteRetriever
from acqo_rl.searching.path import SearchPath
from acqo_rl.searching.sub_queries import searched_text
from acqo_rl.serving.limits import Limits
from acqo_rl.serving.retriever_app import make_retriever_app
from acqo_rl.text import MAX_QUERY
from acqo_rl.types import Document, Passage, Query, SubQuery

DOCUMENTS = [
    Document(f"d{i}", f"Title {i}", f"passage {i} about {w}") for i, w in enumerate(["red", "green", "blue"] * 9)
]
TEXTS = ["about red", "passage 7", "", "nothing of this", "about red", "caf\u00e9 \ud800 \U0001f600"]


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("remote") / "index"
    build_bm25_index(folder, DOCUMENTS)
    return str(folder)


@pytest.fixture(scope="module")
def url(index):
    app = make_retriever_app(load_retriever(index), describe(index), Limits(body_bytes=100_000))
    with running(app) as url:
        yield url


def test_rankings_are_equal_position_for_position(index, url):
    """Ids, scores to the last bit, names and texts."""
    local = load_retriever(index)
    behind = load_retriever(url, expected_corpus_hash=corpus_hash(DOCUMENTS))
    for k in (1, 100):
        assert behind.search(TEXTS, k) == local.search(TEXTS, k)
    assert (behind.cosine, behind.fingerprint) == (False, local.fingerprint)


def test_passages_arrive_as_such(url):
    """HyDE by way of a server; one who sends none asks as before."""
    index = ScriptedRetriever({"b": ("d1",)}, {"d1": (3, 7)})
    with running(make_retriever_app(index, RemoteRetriever(url).info(), Limits())) as address:
        found = RemoteRetriever(address).search(["a", Passage("b")], 3)
        RemoteRetriever(address).search(["a"], 3)
    assert [[type(text) for text in call] for call in index.calls] == [[str, Passage], [str]]
    assert [r.doc_ids for r in found] == [(), ("d1",)]
    assert found[1].spans == {"d1": (3, 7)}


def test_a_text_is_at_most_as_long_as_a_query_and_the_path_shortens_longer_ones(url):
    behind = RemoteRetriever(url)
    long = "red " * MAX_QUERY
    with pytest.raises(SearchError):
        behind.search([long], 1)
    [found] = SearchPath(PassThrough(), behind, RankScoreFusion()).search([Query("q", long)])
    assert found.fused.doc_ids
    assert len(searched_text(SubQuery(f"U: Lima {long}", "reading"))) <= MAX_QUERY


def test_another_corpus_or_index_is_refused(index, url):
    assert describe(url) == describe(index)
    with pytest.raises(IndexMismatchError):
        load_retriever(url, expected_corpus_hash="0" * 64)
    assert RemoteRetriever(url, fingerprint=describe(index).fingerprint).search(["x"], 1)
    with pytest.raises(SearchError):
        RemoteRetriever(url, fingerprint="other").search(["x"], 1)


ROW = {"doc_ids": ["a"], "scores": [0.1]}


class Fixed(JsonServer):
    """Gives every search the same rankings."""

    def answer(self, path, body):
        return 200, {"rankings": self.rankings, "fingerprint": ""}


@pytest.mark.parametrize(
    "rankings",
    [
        [],
        [ROW, ROW],
        *(
            [ROW | odd]
            for odd in (
                {"scores": [float("nan")]},
                {"scores": []},
                {"ceiling": float("inf")},
                {"windows": -3},
                {"doc_ids": [1]},
                {"doc_ids": ["a", "b", "c"], "scores": [0.3, 0.2, 0.1]},
                {"doc_ids": ["a", "a"], "scores": [0.2, 0.1]},
                {"doc_ids": ["a", "b"], "scores": [0.1, 0.2]},
            )
        ),
    ],
)
def test_an_answer_of_another_form_is_refused(rankings):
    """Also one with more documents than were asked for, with a document twice, or in another order."""
    with Fixed() as server:
        server.rankings = rankings
        with pytest.raises(SearchError, match="cannot be read"):
            RemoteRetriever(f"http://{server.address}").search(["x"], 2)
