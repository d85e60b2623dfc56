"""Details of documents, and the error for a missing framework."""

import subprocess
import sys
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from serving_stand_ins import Words
from small_world import CORPUS, QUERY
from stand_ins import BrokenRetriever

from acqo_rl.fusion import RankScoreFusion
from acqo_rl.integrations.hits import KEY, hits, metadata_of
from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.searching.searcher import AdaptiveSearcher


def test_a_partial_result_lists_its_failures():
    searcher = AdaptiveSearcher(Heuristic(), [Words(CORPUS), BrokenRetriever()], RankScoreFusion())
    for _, details in hits(searcher.search(QUERY, 4), CORPUS):
        assert [failure.partition(": ")[0] for failure in details["failures"]] == ["retrieval broken"] * 2
        assert "does not answer" in details["failures"][0]


EXTRAS = {"langchain": "langchain_core", "mcp": "mcp"}


def test_the_error_for_a_missing_package_names_the_extra():
    code = f"""
import importlib, sys
sys.modules.update(dict.fromkeys([{", ".join(map(repr, EXTRAS.values()))}]))
from acqo_rl.errors import ConfigError
for module in {[*EXTRAS]}:
    try:
        importlib.import_module("acqo_rl.integrations." + module)
    except ImportError as error:
        assert isinstance(error, ConfigError)
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        f"This integration needs the package {package}; run: pip install 'acqo-rl[{extra}]'"
        for extra, package in EXTRAS.items()
    ]


def test_of_a_long_document_a_part_is_returned_with_its_place_or_the_whole(searcher):
    text = f"{'Filler of many words. ' * 200}Lima is the capital of Peru. {'More of them. ' * 300}"
    corpus = {doc_id: replace(document, text=text) for doc_id, document in CORPUS.items()}
    found = searcher.search("capital of Peru", 4)
    for document, details in hits(found, corpus):
        assert document.text == text[details["start"] :][: len(document.text)] != text[: details["length"]]
    assert {document.text for document, _ in hits(found, corpus, whole=True)} == {text}
    found = replace(found, fused=replace(found.fused, spans=dict.fromkeys(corpus, (30, 90))))
    assert {document.text for document, _ in hits(found, corpus)} == {text[30:90]}


DETAILS = (
    "doc_id",
    "title",
    "rank",
    "start",
    "length",
    "score",
    "scored_by",
    "similarity",
    "route",
    "sub_queries",
    "problem",
    "notes",
    "failures",
    "found_by",
)


@given(st.dictionaries(st.sampled_from([*DETAILS, "url", "page", KEY]), st.one_of(st.none(), st.integers(), st.text())))
def test_metadata_of_a_document_is_never_lost(searcher, own):
    corpus = {key: replace(document, metadata=own) for key, document in CORPUS.items()}
    for document, details in hits(searcher.search(QUERY, 4), corpus):
        metadata = metadata_of(document, details)
        assert metadata.items() >= {key: value for key, value in own.items() if key != KEY}.items()
        assert metadata.keys() - own.keys() <= {KEY, "title"}
        assert {key: metadata[KEY][key] for key in DETAILS} == details
        assert metadata[KEY].get(KEY) == own.get(KEY)
