"""Imports public data sets as BEIR folders: selects questions and passages, and writes a README."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from acqo_rl.data.beir import write_beir
from acqo_rl.data.draw import HELD_OUT, hashed
from acqo_rl.data.public.readers import Example
from acqo_rl.data.public.rows import OpenTable, Table
from acqo_rl.data.public.sources import Source, find_source
from acqo_rl.errors import ConfigError, DataError
from acqo_rl.files import write_atomic
from acqo_rl.types import Document, Qrels

__all__ = ["OpenTable", "Table", "write_public"]


@dataclass(frozen=True)
class Collected:
    """The selected part of a source.

    Attributes:
        documents: the corpus.
        examples: questions with a relevant document in the corpus, and their splits.
        held_out: splits that the source does not have, taken from its train split.
        left_out: number of skipped questions: no relevant passage, no text, or a repeated id.
    """

    documents: list[Document]
    examples: list[Example]
    held_out: list[str]
    left_out: int


def write_public(
    folder: str | Path,
    name: str,
    open_table: OpenTable,
    *,
    limit: int | None = None,
    distractors: int | None = None,
    seed: int = 0,
    command: str = "",
) -> None:
    """Writes a public data set as a BEIR folder with a README that names source and licence.

    The output is deterministic for the same rows and settings.

    Args:
        folder: output folder.
        name: name of the data set.
        open_table: opens a table of the Hub.
        limit: maximum number of queries per split; all by default.
        distractors: number of passages in addition to those of the selected queries; by default all of the source.
        seed: seed of the random choice of queries and distractors.
        command: command that writes the folder, for its README.

    Raises:
        ConfigError: the data set is unknown, or a setting is out of range.
        DataError: the source has changed, or none of its questions is usable.
    """
    source = find_source(name)
    if (limit is not None and limit < 1) or (distractors is not None and distractors < 0):
        raise ConfigError(
            f"limit is {limit} and distractors is {distractors}; limit must be at least 1 and distractors at least 0."
        )
    collected = collect(source, open_table, limit, distractors, seed)
    if not collected.examples:
        raise DataError(
            f"{name}: none of its {collected.left_out} questions has a relevant passage in the corpus; check the"
            f" columns of {source.tables[0].path} and its reader in acqo_rl/data/public."
        )
    qrels: dict[str, Qrels] = {}
    for example in collected.examples:
        qrels.setdefault(example.split, {})[example.query.id] = example.relevance
    queries = [example.query for example in collected.examples]
    metadata = {example.query.id: example.metadata for example in collected.examples}
    write_beir(folder, collected.documents, queries, qrels, metadata)
    write_atomic(Path(folder) / "README.md", [_readme(name, source, collected, limit, distractors, command)])


def collect(source: Source, open_table: OpenTable, limit: int | None, distractors: int | None, seed: int) -> Collected:
    """Reads a source and selects questions and passages; the selection does not depend on the order of the rows."""
    examples, passages, left_out = _read(source, open_table)
    held_out = _hold_out(examples)
    kept = _sample(examples, limit, seed)
    if source.read_corpus:
        own = {doc_id for example in kept for doc_id in example.relevance}
        documents = _choose(source.read_corpus(open_table), own, distractors, seed)
    else:
        own = {document.id for example in kept for document in example.passages}
        documents = _choose(passages, own, distractors, seed)
    doc_ids = {document.id for document in documents}
    found = (replace(e, relevance={d: r for d, r in e.relevance.items() if d in doc_ids}) for e in kept)
    judged = [example for example in found if _is_judged(example)]
    return Collected(documents, judged, held_out, left_out + len(kept) - len(judged))


def _read(source: Source, open_table: OpenTable) -> tuple[list[Example], list[Document], int]:
    """Returns the judged questions, all passages that come with questions, and the number of skipped questions."""
    examples: dict[str, Example] = {}
    passages: dict[str, Document] = {}
    left_out = 0
    for example in source.read(open_table, source.splits):
        own = tuple(passages.setdefault(document.id, document) for document in example.passages)
        if example.query.text.strip() and _is_judged(example) and example.query.id not in examples:
            examples[example.query.id] = replace(example, passages=own)
        else:
            left_out += 1
    return list(examples.values()), list(passages.values()), left_out


def _hold_out(examples: list[Example]) -> list[str]:
    """Moves groups from train, in place, to dev and test if the source does not have them; returns the new splits.

    The choice does not depend on a seed, so a test query in one folder is never a train query in another.
    """
    there = {example.split for example in examples}
    missing = [split for split in ("dev", "test") if split not in there and "train" in there]
    for number, example in enumerate(examples):
        place = int(hashed("held out", example.group) / HELD_OUT)
        if example.split == "train" and place < len(missing):
            examples[number] = replace(example, split=missing[place])
    return missing


def _sample(examples: list[Example], limit: int | None, seed: int) -> list[Example]:
    """Draws at most ``limit`` examples per split and keeps their order."""
    if limit is None:
        return examples
    kept: set[str] = set()
    for split in {example.split for example in examples}:
        ids = [example.query.id for example in examples if example.split == split]
        kept.update(heapq.nsmallest(limit, ids, key=lambda query_id: hashed(f"query {seed}", query_id)))
    return [example for example in examples if example.query.id in kept]


def _choose(documents: Iterable[Document], own: set[str], distractors: int | None, seed: int) -> list[Document]:
    """Selects the documents of the queries and ``distractors`` others; holds no more than these in memory."""
    kept: dict[str, Document] = {}
    furthest: list[tuple[float, str]] = []  # a heap of the distractors, with the next one to drop on top
    for document in documents:
        if document.id in kept:
            continue
        kept[document.id] = document
        if distractors is not None and document.id not in own:
            heapq.heappush(furthest, (-hashed(f"document {seed}", document.id), document.id))
            if len(furthest) > distractors:
                del kept[heapq.heappop(furthest)[1]]
    return list(kept.values())


def _is_judged(example: Example) -> bool:
    return max(example.relevance.values(), default=0) > 0


def _readme(
    name: str, source: Source, collected: Collected, limit: int | None, distractors: int | None, command: str
) -> str:
    tables = "\n".join(
        f"- https://huggingface.co/datasets/{table.path}{f', configuration {table.config}' if table.config else ''}"
        for table in source.tables
    )
    counts = Counter(example.split for example in collected.examples)
    queries = ", ".join(f"{counts[split]:,} {split}" for split in ("train", "dev", "test") if split in counts)
    relevant = {sum(r > 0 for r in example.relevance.values()) for example in collected.examples}
    splits = ", ".join(f"{theirs} of the source is {ours}" for theirs, ours in source.splits.items() if ours in counts)
    held_out = (
        f"\n  {' and '.join(collected.held_out)} do not exist in the source: each has {HELD_OUT:.0%} of the train"
        "\n  questions, chosen by a hash of their id, or of the conversation or article that they belong to."
    )
    return f"""# {name}

{len(collected.documents):,} passages and {queries} queries in BEIR format, written by

`{command}`

## Source and licence

{tables}
- Licence: {source.licence}.

## What was kept

- Queries: {"all" if limit is None else f"at most {limit:,} per split, drawn at random"}. {collected.left_out:,} were\
 skipped: no relevant passage, no text or a repeated id.
- Splits: {splits}.{held_out if collected.held_out else ""}
- Passages: {"all" if distractors is None else f"those of these queries and {distractors:,} others, drawn at random"};\
 passages with the same id are merged.
- Relevant: {source.judgements}; {" to ".join(map(str, sorted({min(relevant), max(relevant)})))} per query.
- `metadata` other than `history` (answers, human rewrites, decompositions) is for evaluation only: it is not used in\
 prompts or training."""
