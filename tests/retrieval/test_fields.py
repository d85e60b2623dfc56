"""Index folders with filters and tenants; what filters mean is in test_engine_filters."""

import json

import numpy as np
import pytest
from engine_cases import CORPUS, FOLDERS, UnitEncoder, index_folder

from acqo_rl.errors import ConfigError, IndexMismatchError
from acqo_rl.retrieval.build import build_bm25_index, build_dense_index
from acqo_rl.retrieval.engines.filters import read_filter
from acqo_rl.retrieval.load import load_retriever
from acqo_rl.types import Document, Scope


@pytest.mark.parametrize("factory", ["Flat", "HNSW8", "IVF8,Flat", "OPQ4,IVF4,Flat", "PCA8,HNSW8"])
def test_the_best_of_the_documents_that_match_are_found(tmp_path, factory):
    """One of forty matches, so a part of the best of all would miss them."""
    documents = [Document(f"d{i}", "", f"text {i}", {"part": i % 40}) for i in range(800)]
    build_dense_index(tmp_path, documents, UnitEncoder(), factory=factory)
    retriever = load_retriever(tmp_path, encoder=UnitEncoder())
    everything = Scope(read_filter({"part": {"gte": 0}}))
    [of_all] = retriever.restrict(everything).search(["query"], 800)
    assert len(of_all.doc_ids) == 800

    for part in (0, 7):
        [found] = retriever.restrict(Scope(read_filter({"part": part}))).search(["query"], 5)
        wanted = [doc_id for doc_id in of_all.doc_ids if int(doc_id[1:]) % 40 == part]
        assert list(found.doc_ids) == wanted[:5]
        scores = dict(of_all.pairs)
        assert np.allclose(found.scores, [scores[doc_id] for doc_id in found.doc_ids], atol=1e-6)


@pytest.mark.parametrize("kind", FOLDERS)
def test_the_fingerprint_of_a_part_depends_on_the_part_and_on_the_metadata(tmp_path, kind):
    for number, lang in enumerate(("en", "fr")):
        documents = [Document(d.id, d.title, d.text, {"lang": lang}) for d in CORPUS]
        index_folder(kind, tmp_path / str(number), documents)
    first, second = (load_retriever(tmp_path / str(number), encoder=UnitEncoder()) for number in range(2))

    scopes = [Scope(read_filter({"lang": lang})) for lang in ("en", "fr")]
    parts = [retriever.restrict(scope).fingerprint for retriever in (first, second) for scope in scopes]
    assert len({first.fingerprint, *parts}) == 5
    assert first.fingerprint == second.fingerprint == first.restrict(Scope()).fingerprint


def test_an_index_of_other_metadata_is_another_index(tmp_path):
    build_bm25_index(tmp_path, CORPUS)
    build_bm25_index(tmp_path, CORPUS)
    with pytest.raises(IndexMismatchError, match="metadata"):
        build_bm25_index(tmp_path, [Document(d.id, d.title, d.text) for d in CORPUS])


def test_tenants_and_filters_are_refused_where_the_index_does_not_know_them(tmp_path):
    build_bm25_index(tmp_path, CORPUS)
    with pytest.raises(IndexMismatchError, match="nobody"):
        load_retriever(f"{tmp_path}?tenant=nobody")
    with pytest.raises(ConfigError):
        load_retriever(tmp_path).restrict(Scope(tenant="de"))
    with pytest.raises(ConfigError):
        load_retriever(f"{tmp_path}?tenant=lang").restrict(Scope(read_filter({"year": 1990})))


def test_an_index_that_is_older_than_filters_is_searched_without_one(tmp_path):
    build_bm25_index(tmp_path, CORPUS)
    (tmp_path / "fields.json").unlink()
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    del manifest["checksums"]["fields.json"]
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))

    assert load_retriever(tmp_path).search(["river"], 3)[0].doc_ids
    with pytest.raises(ConfigError, match="again"):
        load_retriever(tmp_path).restrict(Scope(read_filter({"year": 1990})))
    with pytest.raises(ConfigError, match="again"):
        load_retriever(f"{tmp_path}?tenant=lang")
