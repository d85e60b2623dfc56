"""A few documents, a question with two parts, and a searcher."""

from acqo_rl.fusion import RankScoreFusion
from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.retrieval.bm25 import Bm25Retriever
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.text import passage_text
from acqo_rl.types import Document

QUERY = "What is the capital of Peru, and what is the currency of Chad?"
PARTS = ["What is the capital of Peru", "what is the currency of Chad"]
DOCUMENTS = [
    Document("lima", "Lima", "Lima is the capital of Peru."),
    Document("franc", "CFA franc", "The CFA franc is the currency of Chad.", {"url": "https://franc.example"}),
    Document("tokyo", "Tokyo", "Tokyo is the capital of Japan."),
    Document("sol", "", "The sol is the currency of Peru."),
]
CORPUS = {document.id: document for document in DOCUMENTS}
FOUND_BY = {"franc": PARTS[1:], "lima": PARTS[:1], "sol": PARTS, "tokyo": PARTS[:1]}
"""Fused order: the first two documents are first in one list, the third is second in both, the last is third."""
SCORES = [1.0, 1.0, 1.0, 1 / 3]
HISTORY = ["U: Tell me about Chad.", "S: Chad is a country."]
"""Earlier turns of the query "its currency?"; without them, the currency of Peru is found as well."""


def make_searcher(reformulator=None, **settings):
    """A searcher over BM25; the default reformulator is the rules."""
    retriever = Bm25Retriever.build([passage_text(d) for d in DOCUMENTS], list(CORPUS))
    return AdaptiveSearcher(reformulator or Heuristic(), retriever, RankScoreFusion(), **settings)
