"""Writes the judged queries of a log as a data set, with a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from acqo_rl.data.draw import split_by_hash
from acqo_rl.labelling.drafts import SPLITS
from acqo_rl.labelling.judging import Grade, Pair, relevance
from acqo_rl.labelling.output import write_labelled
from acqo_rl.measures import judged as with_relevant
from acqo_rl.types import Document, Qrels, Query


def split_of(query: Query) -> str:
    """The split of a query, by a hash (8 : 1 : 1); the turns of one conversation have the same split."""
    return split_by_hash(query.history[0].text if query.history else query.text)


def write_judged(
    folder: Path,
    documents: Mapping[str, Document],
    queries: Sequence[Query],
    graded: Mapping[Pair, Grade],
    *,
    judge: str,
    command: str,
) -> dict[str, int]:
    """Writes the BEIR folder with the queries that have a relevant document; returns their number by split.

    Args:
        folder: output folder.
        documents: the corpus.
        queries: all queries of the log.
        graded: the grade of each pair in the pool.
        judge: name of the judge.
        command: command that judged.

    Raises:
        DataError: no query is left for training or for dev.
    """
    judged = with_relevant(relevance(graded))
    kept = [query for query in queries if query.id in judged]
    qrels: dict[str, Qrels] = {split: {} for split in SPLITS}
    for query in kept:
        qrels[split_of(query)][query.id] = judged[query.id]
    numbers = {split: len(some) for split, some in qrels.items()}
    failed = Counter(grade for grade in graded.values() if isinstance(grade, str))
    often = "".join(f" (most often: {reason})" for reason, _ in failed.most_common(1))
    relevant = sum(r > 0 for documents in judged.values() for r in documents.values())
    report = [
        f"# Queries judged by {judge}",
        f"`{command}`",
        f"{len(graded):,} pairs of {len(queries):,} queries were pooled; {failed.total():,} got no grade{often}.",
        f"{len(queries) - len(kept):,} queries have no relevant document and are left out. The others have "
        f"{relevant / max(1, len(kept)):.1f} on average: "
        + ", ".join(f"{number:,} {split}" for split, number in numbers.items())
        + ".",
    ]
    write_labelled(folder, documents, kept, qrels, report)
    return numbers
