"""Writes the judged queries of a log as a data set, with a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from acqo_rl.data.beir import write_beir
from acqo_rl.data.draw import split_by_hash
from acqo_rl.errors import DataError
from acqo_rl.files import write_atomic
from acqo_rl.labelling.agreement import Agreement, RewardAgreement
from acqo_rl.measures import gold_of
from acqo_rl.types import Document, Qrels, Query

SPLITS = ("train", "dev", "test")


@dataclass(frozen=True)
class Judged:
    """A log with its judgements.

    Attributes:
        queries: all queries of the log.
        qrels: their judgements, 0 for documents that are not relevant.
        pairs: number of pairs of query and document in the pool.
        failed: number of pairs without a grade, by reason.
        judge: name of the judge.
        command: command that judged.
    """

    queries: Sequence[Query]
    qrels: Qrels
    pairs: int
    failed: Counter[str]
    judge: str
    command: str


def split_of(query: Query) -> str:
    """The split of a query, by a hash (8 : 1 : 1); the turns of one conversation have the same split."""
    return split_by_hash(query.history[0].text if query.history else query.text)


def write_judged(
    folder: Path,
    documents: Mapping[str, Document],
    judged: Judged,
    agreed: tuple[Agreement, RewardAgreement] | None,
) -> dict[str, int]:
    """Writes the BEIR folder with the queries that have a relevant document; returns their number by split.

    Raises:
        DataError: no query is left for training or for dev.
    """
    kept = [query for query in judged.queries if query.id in judged.qrels and gold_of(judged.qrels, query.id)]
    qrels: dict[str, Qrels] = {split: {} for split in SPLITS}
    for query in kept:
        qrels[split_of(query)][query.id] = judged.qrels[query.id]
    numbers = {split: len(some) for split, some in qrels.items()}
    write_atomic(folder / "report.md", [report_of(judged, numbers, agreed)])
    if not numbers["train"] or not numbers["dev"]:
        raise DataError(
            f"{numbers['train']} train and {numbers['dev']} dev queries have a relevant document, and both are needed;"
            f" see {folder / 'report.md'}. Judge more queries, or use a better judge."
        )
    write_beir(folder, documents.values(), kept, qrels)
    write_atomic(folder / "README.md", [f"# Queries judged by {judged.judge}\n\n`{judged.command}`\n\nSee report.md."])
    return numbers


def report_of(judged: Judged, numbers: Mapping[str, int], agreed: tuple[Agreement, RewardAgreement] | None) -> str:
    """The report in Markdown."""
    relevant = [sum(r > 0 for r in documents.values()) for documents in judged.qrels.values()]
    found = [n for n in relevant if n]
    left_out = len(judged.queries) - len(found)
    lines = [
        f"# Queries judged by {judged.judge}",
        f"`{judged.command}`",
        f"{judged.pairs:,} pairs of {len(judged.queries):,} queries were pooled; {judged.failed.total():,} got no grade"
        + "".join(f" (most often: {reason})" for reason, _ in judged.failed.most_common(1))
        + ".",
        f"{left_out:,} queries have no relevant document and are left out. The others have "
        f"{sum(found) / max(1, len(found)):.1f} on average: "
        + ", ".join(f"{number:,} {split}" for split, number in numbers.items())
        + ".",
    ]
    if agreed:
        documents, rewards = agreed
        lines += [
            "## Agreement with gold",
            f"Of {documents.pairs:,} pairs: Cohen's kappa {documents.kappa:.2f}, precision {documents.precision:.2f}, "
            f"recall {documents.recall:.2f}.",
            f"Rewards of the warm start's candidates for {rewards.queries:,} queries: correlation "
            f"{rewards.correlation:.2f}. Mean reward by gold: raw query {rewards.raw:.3f}, the candidate that the "
            f"judgements choose {rewards.by_judge:.3f}, the candidate that gold chooses {rewards.by_gold:.3f}.",
        ]
    return "\n\n".join(lines)
