"""Details of documents, and the error for a missing framework."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from serving_stand_ins import Words
from small_world import CORPUS, FOUND_BY, PARTS, QUERY, SCORES
from stand_ins import BrokenRetriever

from acqo_rl.errors import IndexMismatchError
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.integrations.hits import KEY, hits, metadata_of
from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.searching.searcher import AdaptiveSearcher


def test_details_of_each_document(searcher):
    found = searcher.search(QUERY, 4)
    results = hits(found, CORPUS)
    assert [document for document, _ in results] == [CORPUS[doc_id] for doc_id in FOUND_BY]
    assert {metadata["doc_id"]: metadata["found_by"] for _, metadata in results} == FOUND_BY
    assert [metadata["score"] for _, metadata in results] == pytest.approx(SCORES)
    for rank, (document, metadata) in enumerate(results, start=1):
        assert (metadata["doc_id"], metadata["title"], metadata["rank"]) == (document.id, document.title, rank)
        assert metadata["similarity"] == found.fused.similarities[rank - 1]
        assert (metadata["route"], metadata["sub_queries"]) == ("decompose", PARTS)
        assert (metadata["problem"], metadata["failures"]) == (None, [])
    written = [metadata for _, metadata in results]
    assert json.loads(json.dumps(written)) == written


def test_a_document_missing_from_the_corpus_is_an_error(searcher):
    found = searcher.search(QUERY, 4)
    older = {doc_id: document for doc_id, document in CORPUS.items() if doc_id != found.fused.doc_ids[0]}
    with pytest.raises(IndexMismatchError, match=repr(found.fused.doc_ids[0])):
        hits(found, older)


def test_a_partial_result_lists_its_failures():
    searcher = AdaptiveSearcher(Heuristic(), [Words(CORPUS), BrokenRetriever()], RankScoreFusion())
    for _, metadata in hits(searcher.search(QUERY, 4), CORPUS):
        assert [failure.partition(": ")[0] for failure in metadata["failures"]] == ["retrieval broken"] * 2
        assert "does not answer" in metadata["failures"][0]


def test_the_error_for_a_missing_package_names_the_extra():
    code = """
import sys
from dataclasses import replace
for package in ("langchain_core", "llama_index", "haystack", "mcp", "dspy"):
    sys.modules[package] = None
import importlib
import acqo_rl.integrations.dspy
from acqo_rl.errors import ConfigError
for module in ("langchain", "llama_index", "haystack", "mcp"):
    try:
        importlib.import_module(f"acqo_rl.integrations.{module}")
    except ImportError as error:
        assert isinstance(error, ConfigError)
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        f"This integration needs the package {package}: pip install 'acqo-rl[{extra}]'."
        for package, extra in (
            ("langchain_core", "langchain"),
            ("llama_index", "llama-index"),
            ("haystack", "haystack"),
            ("mcp", "mcp"),
        )
    ]


DETAILS = ("doc_id", "title", "rank", "score", "similarity", "route", "sub_queries", "problem", "failures", "found_by")


@given(st.dictionaries(st.sampled_from([*DETAILS, "url", "page", KEY]), st.one_of(st.none(), st.integers(), st.text())))
def test_metadata_of_a_document_is_never_lost(searcher, own):
    corpus = {key: replace(document, metadata=own) for key, document in CORPUS.items()}
    for document, details in hits(searcher.search(QUERY, 4), corpus):
        metadata = metadata_of(document, details)
        assert metadata.items() >= {key: value for key, value in own.items() if key != KEY}.items()
        assert metadata.keys() - own.keys() <= {KEY, "title"}
        assert {key: metadata[KEY][key] for key in DETAILS} == details
        assert metadata[KEY].get(KEY) == own.get(KEY)


def test_the_metadata_of_a_document_without_title_has_no_title(searcher):
    [(sol, details)] = [hit for hit in hits(searcher.search(QUERY, 4), CORPUS) if hit[0].id == "sol"]
    assert metadata_of(sol, details) == {KEY: details}
