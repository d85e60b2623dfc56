"""Collects the documents that are worth judging: the top results of several reformulations of each query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acqo_rl.roles import Fusion, Reformulator, Retriever
from acqo_rl.searching.path import SearchPath, search
from acqo_rl.training.candidates import Candidate
from acqo_rl.types import Query, Ranking, Reformulation

_BATCH = 64
_CANDIDATE_DEPTH = 3  # documents of each candidate of the warm start


def pool(
    queries: Sequence[Query],
    reformulators: Sequence[Reformulator],
    candidates: Mapping[str, Sequence[Candidate]],
    retriever: Retriever,
    fusion: Fusion,
    *,
    depth: int,
    most: int,
) -> dict[str, list[str]]:
    """Query id -> document ids, in the order in which they should be judged.

    Documents of all lists alternate by rank, so that ``most`` drops the lowest ranks. The candidates of the warm start
    take part, because a document that only a candidate finds must be judged too: otherwise the reward would count it
    as not relevant.

    Args:
        queries: to pool for.
        reformulators: whose fused rankings take part.
        candidates: query id -> candidates of the warm start.
        retriever: searched.
        fusion: of sub-queries.
        depth: documents of each reformulator.
        most: maximum number of documents per query.
    """
    from tqdm import tqdm

    pooled: dict[str, list[str]] = {}
    for start in tqdm(range(0, len(queries), _BATCH), desc="pool", unit="batch"):
        batch = queries[start : start + _BATCH]
        found = [SearchPath(made, retriever, fusion).search(batch, depth) for made in reformulators]
        of_candidates = _search_candidates(batch, candidates, retriever, fusion)
        for query, *results in zip(batch, *found, strict=True):
            rankings = [*(result.fused for result in results), *of_candidates[query.id]]
            pooled[query.id] = _alternate(rankings)[:most]
    return pooled


def _search_candidates(
    queries: Sequence[Query],
    candidates: Mapping[str, Sequence[Candidate]],
    retriever: Retriever,
    fusion: Fusion,
) -> dict[str, list[Ranking]]:
    made = [
        Reformulation(query, candidate.route, candidate.sub_queries, candidate.form)
        for query in queries
        for candidate in candidates.get(query.id, ())
    ]
    rankings: dict[str, list[Ranking]] = {query.id: [] for query in queries}
    for found in search(made, retriever, fusion, _CANDIDATE_DEPTH, _CANDIDATE_DEPTH):
        rankings[found.reformulation.query.id].append(found.fused)
    return rankings


def _alternate(rankings: Sequence[Ranking]) -> list[str]:
    """Document ids by rank, each once: all first documents, then all second ones."""
    deepest = max((len(ranking.doc_ids) for ranking in rankings), default=0)
    ids = (ranking.doc_ids[place] for place in range(deepest) for ranking in rankings if place < len(ranking.doc_ids))
    return list(dict.fromkeys(ids))
