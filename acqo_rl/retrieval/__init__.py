"""Retrievers (text in, ranking out): dense (FAISS), sparse (BM25) and hybrid; functions to build and load indexes."""

from acqo_rl.retrieval.bm25 import Bm25Retriever
from acqo_rl.retrieval.build import build_bm25_index, build_dense_index, build_hybrid_index
from acqo_rl.retrieval.encoder import SentenceTransformerEncoder
from acqo_rl.retrieval.faiss_index import FaissRetriever
from acqo_rl.retrieval.hybrid import HybridRetriever
from acqo_rl.retrieval.load import load_retriever
from acqo_rl.retrieval.manifest import Manifest, read_manifest
from acqo_rl.retrieval.passage import passage_text

__all__ = [
    "Bm25Retriever",
    "FaissRetriever",
    "HybridRetriever",
    "Manifest",
    "SentenceTransformerEncoder",
    "build_bm25_index",
    "build_dense_index",
    "build_hybrid_index",
    "load_retriever",
    "passage_text",
    "read_manifest",
]
