"""The LlamaIndex retriever in LlamaIndex."""

from __future__ import annotations

from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode
from small_world import CORPUS, FOUND_BY, QUERY

from acqo_rl.integrations.llama_index import AdaptiveRetriever


def test_models_see_the_metadata_and_encoders_only_title_and_text(searcher):
    """In a query engine, the model reads what it may cite."""
    retriever = AdaptiveRetriever(searcher, CORPUS, similarity_top_k=4)
    answer = RetrieverQueryEngine.from_args(retriever, llm=MockLLM()).query(QUERY)
    assert [node.node_id for node in answer.source_nodes] == list(FOUND_BY)
    shown = "title: CFA franc\nurl: https://franc.example\n\nThe CFA franc is the currency of Chad."
    assert shown in answer.response
    embedded = answer.source_nodes[0].node.get_content(MetadataMode.EMBED)
    assert embedded == "title: CFA franc\n\nThe CFA franc is the currency of Chad."
