"""What every retriever has to keep, whatever searches."""

import pytest
from engine_cases import CORPUS, ENGINES, WORDS, UnitEncoder, put_documents
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from serving_stand_ins import running

from acqo_rl.errors import ConfigError, SearchError
from acqo_rl.retrieval.build import build_bm25_index, build_dense_index
from acqo_rl.retrieval.composite import FederatedRetriever, InCollection
from acqo_rl.retrieval.load import describe, load_retriever
from acqo_rl.serving.limits import Limits
from acqo_rl.serving.retriever_app import make_retriever_app
from acqo_rl.types import Passage

OWN = ("dense", "bm25", "hybrid", "federated", "remote")
OF_ENGINES = tuple(f"{engine} {mode}" for engine in ENGINES for mode in ("dense", "text", "hybrid"))


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("indexes") / "hybrid"
    build_dense_index(folder / "dense", CORPUS, UnitEncoder())
    build_bm25_index(folder / "bm25", CORPUS)
    return folder


@pytest.fixture(scope="module", params=[*OWN, *OF_ENGINES])
def retriever(request, folders, engine_index):
    """One retriever of each kind over the same documents."""
    if " " in request.param:
        engine, mode = request.param.split()
        index = put_documents(engine, engine_index(engine, "contract"), CORPUS)
        yield load_retriever(index(mode), encoder=UnitEncoder())
    elif request.param == "hybrid":
        yield load_retriever(folders, encoder=UnitEncoder())
    elif request.param == "federated":
        parts = [load_retriever(folders / "dense", encoder=UnitEncoder()) for _ in range(2)]
        yield FederatedRetriever([InCollection(part, name, "dense") for part, name in zip(parts, "ab", strict=True)])
    elif request.param == "remote":
        index = str(folders / "bm25")
        with running(make_retriever_app(load_retriever(index), describe(index), Limits())) as url:
            yield load_retriever(url)
    else:
        yield load_retriever(folders / request.param, encoder=UnitEncoder())


words = st.lists(st.sampled_from([*WORDS, "passage", "7", "nothing"]), max_size=4).map(" ".join)
texts = st.lists(st.one_of(words, words.map(Passage), st.text(max_size=20)), max_size=6)


# The pool of psycopg draws its pauses from the module random, in a thread of its own.
@pytest.mark.filterwarnings("ignore:Do not use the .random. module inside strategies")
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=texts, k=st.sampled_from([1, 3, len(CORPUS), 10 * len(CORPUS)]))
def test_every_retriever_returns_one_ranking_per_text_in_order(retriever, texts, k):
    rankings = retriever.search(texts, k)
    # FederatedFusion needs the best k documents of each collection
    most = k * len(retriever.parts) if isinstance(retriever, FederatedRetriever) else k

    assert [ranking.query for ranking in rankings] == texts
    for text, ranking in zip(texts, rankings, strict=True):
        assert len(ranking.doc_ids) == len(ranking.scores) <= most
        assert len(set(ranking.doc_ids)) == len(ranking.doc_ids)
        assert all(isinstance(score, float) for score in ranking.scores)
        assert list(ranking.scores) == sorted(ranking.scores, reverse=True)
        [alone] = retriever.search([text], k)
        assert alone.scores == pytest.approx(ranking.scores, abs=1e-4)
        assert alone.doc_ids == ranking.doc_ids


def test_an_empty_batch_gives_no_rankings_and_k_is_positive(retriever):
    assert retriever.search([], 5) == []
    with pytest.raises((ConfigError, SearchError)):
        retriever.search(["river"], 0)


def test_a_word_of_a_document_is_found(retriever):
    [ranking] = retriever.search(["river"], 200)

    relevant = {document.id for document in CORPUS if "river" in document.text}
    assert relevant <= {doc_id.rpartition("/")[2] for doc_id in ranking.doc_ids}
