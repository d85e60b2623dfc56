"""Reads judgements: BEIR (query-id, corpus-id, score, under this header) or TREC (query, 0, document, score)."""

import logging
from collections.abc import Collection, Iterator
from pathlib import Path

from acqo_rl.data.lines import Faults, read_lines, shorten
from acqo_rl.types import Qrels

_log = logging.getLogger(__name__)

HEADER = ("query-id", "corpus-id", "score")
_EXPECTED = f"expected {'<tab>'.join(HEADER)}, or the TREC columns query, 0, document, score"


def read_judged(
    path: Path, faults: Faults, queries: Collection[str] | None = None, documents: Collection[str] | None = None
) -> Qrels:
    """Reads the judgements of a file; if ids are given, only those of the given queries and documents.

    Queries that have no relevant document left are skipped too; a warning reports the numbers.
    """
    qrels: Qrels = {}
    left_out: list[str] = []
    touched: set[str] = set()
    for number, query_id, doc_id, relevance in _read_judgements(path, faults):
        if queries is not None and query_id not in queries:
            left_out.append(f"query {query_id!r}")
        elif documents is not None and doc_id not in documents:
            left_out.append(f"document {doc_id!r}")
            touched.add(query_id)
        elif (before := qrels.setdefault(query_id, {}).setdefault(doc_id, relevance)) != relevance:
            judged = f"query {query_id!r} and document {doc_id!r} were judged {before} before and {relevance} here"
            faults.add(path, number, f"{judged}; keep one of the lines.")
    lost = [query_id for query_id in touched if max(qrels.get(query_id, {}).values(), default=0) <= 0]
    for query_id in lost:
        qrels.pop(query_id, None)
    if not qrels and not faults.of(path) and not (left_out and faults):  # faults elsewhere may be the cause
        if left_out:
            found = f"all {len(left_out):,} have a query or document that is not in the folder, such as {left_out[0]}"
        else:
            found = "the file has none"
        faults.add(path, None, f"no usable judgement: {found}.")
    elif left_out and not faults:
        _log.warning(
            f"{path}: skipped {len(left_out):,} judgements whose query or document is not in the folder (the first:"
            f" {left_out[0]}), and {len(lost):,} queries that have no relevant document left."
        )
    return qrels


def _read_judgements(path: Path, faults: Faults) -> Iterator[tuple[int, str, str, int]]:
    """Yields line number, query id, document id and relevance; importers write ids with ``_`` for white space."""
    for number, line in read_lines(path, faults):
        columns = ["_".join(column.split()) for column in (line.split("\t") if "\t" in line else line.split())]
        if number == 1 and tuple(columns) == HEADER:
            continue
        if len(columns) not in (3, 4):
            faults.add(path, number, f"found {len(columns)} columns in {shorten(line)}, {_EXPECTED}.")
            continue
        query_id, doc_id, score = columns[0], columns[-2], columns[-1]
        if not query_id or not doc_id:
            faults.add(path, number, f"found an empty id in {shorten(line)}, {_EXPECTED}.")
            continue
        try:
            yield number, query_id, doc_id, int(score)
        except ValueError:
            faults.add(path, number, f"score is {shorten(score)}, expected a whole number.")
