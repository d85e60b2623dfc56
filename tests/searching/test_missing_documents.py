"""Documents of a search engine that were deleted since a search are left out by everything that reads them."""

from stand_ins import ScoredRetriever

from acqo_rl.fusion import RankScoreFusion
from acqo_rl.integrations.hits import hits
from acqo_rl.pipeline.calls import PassageSearch
from acqo_rl.pipeline.state import RetrievalState
from acqo_rl.reformulation.pass_through import PassThrough, pass_through
from acqo_rl.roles import RemoteCorpus
from acqo_rl.searching.feedback import with_feedback
from acqo_rl.searching.result import SearchResult
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.types import Document, FeedbackSpec, Query, Ranking, Snippet

QUERY = Query("q", "text")
RANKING = Ranking(("a", "gone", "b"), (3.0, 2.0, 1.0), similarities=(0.3, 0.2, 0.1))


class Remote(dict, RemoteCorpus):
    def fetch(self, doc_ids):
        return {doc_id: self[doc_id] for doc_id in doc_ids if doc_id in self}


CORPUS = Remote({doc_id: Document(doc_id, doc_id.upper(), "text") for doc_id in "ab"})


def test_hits_feedback_and_passages_are_of_documents_that_exist_with_their_own_scores():
    found = SearchResult(pass_through(QUERY, "raw"), (RANKING,), RANKING)
    assert [(d.id, h["rank"], h["similarity"]) for d, h in hits(found, CORPUS)] == [("a", 1, 0.3), ("b", 2, 0.1)]

    [query] = with_feedback([QUERY], [RANKING], CORPUS, FeedbackSpec(2, 1))
    assert query.feedback == (Snippet("A", "text"),)

    found = {"text": dict(RANKING.pairs)}
    searcher = AdaptiveSearcher(PassThrough(), ScoredRetriever(found), RankScoreFusion())
    [passages] = PassageSearch(searcher, CORPUS).passages(RetrievalState(QUERY), "test", ["text"], 3)
    assert [(chunk.document.id, chunk.similarity) for chunk in passages] == [("a", 3.0), ("b", 1.0)]
