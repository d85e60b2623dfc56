"""Retrievers (text in, ranking out): dense (FAISS), sparse (BM25), hybrid, search engines; their indexes."""
