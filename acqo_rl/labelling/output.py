"""Writes a labelled data set with its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from acqo_rl.data.beir import write_beir
from acqo_rl.errors import DataError
from acqo_rl.files import write_atomic
from acqo_rl.types import Document, Qrels, Query


def write_labelled(
    folder: Path,
    documents: Mapping[str, Document],
    queries: Sequence[Query],
    qrels: Mapping[str, Qrels],
    report: Sequence[str],
    metadata: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """Writes a BEIR folder, and its report as ``report.md`` and as the README.

    Args:
        folder: output folder.
        documents: the corpus.
        queries: those that are kept.
        qrels: their judgements by split.
        report: paragraphs.
        metadata: query id -> metadata.

    Raises:
        DataError: no query is left for training or for dev; the report is written.
    """
    for name in ("report.md", "README.md"):
        write_atomic(folder / name, ["\n\n".join(report)])
    if not qrels["train"] or not qrels["dev"]:
        raise DataError(
            f"{len(qrels['train'])} train and {len(qrels['dev'])} dev queries are left, and both are needed; see "
            f"{folder / 'report.md'} for what was left out. Label more (--limit), or use a better model."
        )
    write_beir(folder, documents.values(), queries, qrels, metadata)
