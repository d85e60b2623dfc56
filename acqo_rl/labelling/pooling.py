"""Collects the documents that are worth judging: the top results of several reformulations of each query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from acqo_rl.roles import Fusion, Reformulator, Retriever
from acqo_rl.searching.path import SearchPath, search
from acqo_rl.training.candidates import Candidate
from acqo_rl.types import Query, Reformulation

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

    lists: dict[str, list[tuple[str, ...]]] = {query.id: [] for query in queries}
    for start in tqdm(range(0, len(queries), _BATCH), desc="pool", unit="batch"):
        batch = queries[start : start + _BATCH]
        found = [one for made in reformulators for one in SearchPath(made, retriever, fusion).search(batch, depth)]
        made = [
            Reformulation(query, candidate.route, candidate.sub_queries, candidate.form)
            for query in batch
            for candidate in candidates.get(query.id, ())
        ]
        found += search(made, retriever, fusion, _CANDIDATE_DEPTH, _CANDIDATE_DEPTH)
        for result in found:
            lists[result.reformulation.query.id].append(result.fused.doc_ids)
    by_rank = {query_id: [d for rank in zip_longest(*some) for d in rank if d] for query_id, some in lists.items()}
    return {query_id: list(dict.fromkeys(ids))[:most] for query_id, ids in by_rank.items()}
