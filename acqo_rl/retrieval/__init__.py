"""Retrievers (text in, ranking out): dense (FAISS), sparse (BM25) and hybrid; functions to build and load indexes.

The names below are imported when they are first used, so that the help of a command is printed without numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from acqo_rl.retrieval.bm25 import Bm25Retriever as Bm25Retriever
    from acqo_rl.retrieval.build import build_bm25_index as build_bm25_index
    from acqo_rl.retrieval.build import build_dense_index as build_dense_index
    from acqo_rl.retrieval.build import build_hybrid_index as build_hybrid_index
    from acqo_rl.retrieval.encoder import SentenceTransformerEncoder as SentenceTransformerEncoder
    from acqo_rl.retrieval.faiss_index import FaissRetriever as FaissRetriever
    from acqo_rl.retrieval.hybrid import HybridRetriever as HybridRetriever
    from acqo_rl.retrieval.load import load_retriever as load_retriever
    from acqo_rl.retrieval.manifest import Manifest as Manifest
    from acqo_rl.retrieval.manifest import read_manifest as read_manifest
    from acqo_rl.retrieval.passage import passage_text as passage_text

_MODULES = {
    "Bm25Retriever": "bm25",
    "FaissRetriever": "faiss_index",
    "HybridRetriever": "hybrid",
    "Manifest": "manifest",
    "SentenceTransformerEncoder": "encoder",
    "build_bm25_index": "build",
    "build_dense_index": "build",
    "build_hybrid_index": "build",
    "load_retriever": "load",
    "passage_text": "passage",
    "read_manifest": "manifest",
}

__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
