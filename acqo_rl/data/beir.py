"""Reads and writes BEIR folders (Thakur et al. 2021), the only data format of this package.

    corpus.jsonl        {"_id": ..., "title": ..., "text": ..., "metadata": {"date": ..., "url": ..., ...}}
    queries.jsonl       {"_id": ..., "text": ..., "metadata": {"history": ["U: ...", "S: ..."], ...}}
    qrels/{split}.tsv   query-id <tab> corpus-id <tab> score, under a header

Each file may be gzipped (``.gz``). ``title`` and ``metadata`` may be missing or null, and an id may be a whole number.
Other fields of a document belong to its metadata. ``history`` has a form that :mod:`acqo_rl.conversations` reads.

All faults are collected and raised as one error with file and line of each.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tqdm import tqdm

from acqo_rl.conversations import read_history
from acqo_rl.data.lines import Faults, find, read_jsonl, shorten
from acqo_rl.data.qrels import HEADER, read_judged
from acqo_rl.errors import ConversationError, DataError
from acqo_rl.files import write_atomic
from acqo_rl.text import one_line
from acqo_rl.types import Document, Qrels, Query, Turn

_AddFault = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Beir:
    """The contents of a BEIR folder.

    Attributes:
        corpus: document id -> document, in file order.
        queries: split -> queries with judgements, in file order.
        qrels: split -> judgements; all their queries and documents are in ``queries`` and ``corpus``.
        metadata: query id -> metadata without the history; used only by the evaluation.
    """

    corpus: dict[str, Document]
    queries: dict[str, list[Query]]
    qrels: dict[str, Qrels]
    metadata: dict[str, dict[str, Any]]


def read_beir(folder: str | Path, *splits: str) -> Beir:
    """Reads the corpus, the queries and the judgements of the given splits.

    Judgements of queries or documents that are not in the folder are skipped. Queries that have no relevant document
    left are skipped too. A warning reports the numbers.

    Raises:
        DataError: a file is missing or malformed, or a split has no usable judgement; the message lists the faults.
    """
    folder, faults = _check_folder(folder), Faults()
    corpus = _read_documents(folder, faults)
    asked, metadata = _read_queries(folder, faults)
    qrels = {split: _read_split(folder, split, faults, asked, corpus) for split in splits}
    path = find(folder / "queries.jsonl")
    if splits and not asked and not faults.of(path):
        faults.add(path, None, "there are no queries; write one per line (_id, text), or use acqo label.")
    faults.check()
    queries = {split: [query for query in asked.values() if query.id in qrels[split]] for split in splits}
    return Beir(corpus, queries, qrels, metadata)


def read_corpus(folder: str | Path) -> dict[str, Document]:
    """Reads all documents by id, in file order.

    Raises:
        DataError: the file is missing or empty, or a line is malformed or repeats an id.
    """
    faults = Faults()
    documents = _read_documents(_check_folder(folder), faults)
    faults.check()
    return documents


def read_queries(folder: str | Path, split: str | None = None) -> list[Query]:
    """Reads the queries in file order, with the history from ``metadata.history``.

    Args:
        folder: the BEIR folder.
        split: return only queries with judgements in ``qrels/{split}.tsv``; by default all queries.

    Raises:
        DataError: a file is missing or malformed, or the split has no judgement of any query.
    """
    faults = Faults()
    queries, _ = _read_queries(_check_folder(folder), faults)
    judged: Container[str] = queries
    if split is not None:
        judged = _read_split(Path(folder), split, faults, queries)
    faults.check()
    return [query for query in queries.values() if query.id in judged]


def read_query_metadata(folder: str | Path) -> dict[str, dict[str, Any]]:
    """Reads the metadata of all queries by query id, without the history; used only by the evaluation.

    Raises:
        DataError: the file is missing or malformed.
    """
    faults = Faults()
    _, metadata = _read_queries(_check_folder(folder), faults)
    faults.check()
    return metadata


def read_qrels(folder: str | Path, split: str) -> Qrels:
    """Reads all judgements of one split, including those of queries and documents that are not in the folder.

    Raises:
        DataError: the split does not exist (the message lists the existing ones), or a line is malformed.
    """
    faults = Faults()
    qrels = _read_split(_check_folder(folder), split, faults)
    faults.check()
    return qrels


def read_splits(folder: str | Path) -> list[str]:
    """Names of the splits that have judgements, in alphabetical order."""
    names = (path.name.removesuffix(".gz") for path in (Path(folder) / "qrels").glob("*.tsv*"))
    return sorted({name.removesuffix(".tsv") for name in names if name.endswith(".tsv")})


def corpus_hash(documents: Iterable[Document]) -> str:
    """SHA-256 over id, title and text of the documents in order; used to detect outdated indexes."""
    digest = hashlib.sha256()
    for document in documents:
        digest.update(json.dumps([document.id, document.title, document.text]).encode() + b"\n")
    return digest.hexdigest()


def write_beir(
    folder: str | Path,
    documents: Iterable[Document],
    queries: Iterable[Query],
    qrels: Mapping[str, Qrels],
    metadata: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """Writes a BEIR folder. The output is deterministic for the same values.

    Args:
        folder: created if it is missing; existing files are replaced, each atomically.
        documents: written in this order.
        queries: written in this order.
        qrels: judgements by split.
        metadata: query id -> metadata other than the history.
    """
    folder = Path(folder)
    metadata = metadata or {}
    _write(folder / "corpus.jsonl", map(_row_of, documents))
    _write(
        folder / "queries.jsonl",
        (
            {
                "_id": query.id,
                "text": query.text,
                "metadata": {
                    **metadata.get(query.id, {}),
                    **({"history": [*map(str, query.history)]} if query.history else {}),
                },
            }
            for query in queries
        ),
    )
    for split, judgements in qrels.items():
        rows = [(query_id, d, str(r)) for query_id, judged in judgements.items() for d, r in judged.items()]
        write_atomic(folder / "qrels" / f"{split}.tsv", ("\t".join(row) for row in (HEADER, *rows)))


def _row_of(document: Document) -> dict[str, Any]:
    row: dict[str, Any] = {"_id": document.id, "title": document.title, "text": document.text}
    return {**row, "metadata": document.metadata} if document.metadata else row


def _write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    write_atomic(path, (json.dumps(row, ensure_ascii=False) for row in rows))


def _check_folder(folder: str | Path) -> Path:
    if not Path(folder).is_dir():
        raise DataError(f"{folder}: no such folder; give a BEIR folder (corpus.jsonl, queries.jsonl, qrels/).")
    return Path(folder)


def _read_documents(folder: Path, faults: Faults) -> dict[str, Document]:
    path = find(folder / "corpus.jsonl")
    documents: dict[str, Document] = {}
    for number, row in tqdm(read_jsonl(path, faults), desc="reading corpus.jsonl", unit=" documents", delay=2):
        fault = partial(faults.add, path, number)
        doc_id = _read_id(row, documents, fault)
        title = _read_text(row, "title", fault) if row.get("title") is not None else ""
        text, metadata = _read_text(row, "text", fault), _read_metadata(row, fault)
        others = ((key, row[key]) for key in row if key not in ("_id", "title", "text", "metadata"))
        metadata = {**{sys.intern(key): value for key, value in others if value is not None}, **metadata}
        if metadata:
            _check_json(metadata, fault)
        documents[doc_id] = Document(doc_id, title, text, metadata) if metadata else Document(doc_id, title, text)
    if not documents and not faults:
        faults.add(path, None, "the corpus is empty; write one document per line (_id, title, text).")
    return documents


def _read_queries(folder: Path, faults: Faults) -> tuple[dict[str, Query], dict[str, dict[str, Any]]]:
    """Returns queries by id, and their metadata without the history by id."""
    path = find(folder / "queries.jsonl")
    queries: dict[str, Query] = {}
    metadata: dict[str, dict[str, Any]] = {}
    for number, row in read_jsonl(path, faults):
        fault = partial(faults.add, path, number)
        query_id = _read_id(row, queries, fault)
        text, metadata[query_id] = _read_text(row, "text", fault), _read_metadata(row, fault)
        if isinstance(row.get("text"), str) and not one_line(text):
            fault("text is empty; give each query a text.")
        history = metadata[query_id].pop("history", row.get("history"))
        queries[query_id] = Query(query_id, text, _read_history(history, text, fault))
    return queries, metadata


def _read_split(folder: Path, split: str, faults: Faults, *known: Collection[str]) -> Qrels:
    """Reads the judgements of a split; if known queries and documents are given, only theirs."""
    path, splits = find(folder / "qrels" / f"{split}.tsv"), read_splits(folder)
    if split in splits:
        return read_judged(path, faults, *known)
    there = f"the splits are: {', '.join(splits)}" if splits else "there are no judgements; acqo label makes some"
    faults.add(path, None, f"no such split; {there}.")
    return {}


def _read_id(row: dict[str, Any], seen: Container[str], fault: _AddFault) -> str:
    """Reads an id: a string without white space, which separates columns in qrels and run files, or a whole number."""
    value = row.get("_id")
    if isinstance(value, int) and not isinstance(value, bool):
        row["_id"] = str(value)
    row_id = _read_text(row, "_id", fault)
    if isinstance(value, str) and (not row_id or len(row_id.split()) != 1):
        fault(f"_id is {row_id!r}; give each line a unique id without white space.")
    elif row_id and row_id in seen:
        fault(f"_id {row_id!r} is also on an earlier line; ids must be unique.")
    return row_id


def _read_text(row: dict[str, Any], key: str, fault: _AddFault) -> str:
    value = row.get(key)
    if isinstance(value, str):
        return value
    seen = f"{key} is {shorten(value)}" if key in row else f"no {key!r} among {', '.join(row) or 'nothing'}"
    fault(f"{seen}, expected a string.")
    return ""


def _read_metadata(row: dict[str, Any], fault: _AddFault) -> dict[str, Any]:
    metadata = row.get("metadata") or {}
    if not isinstance(metadata, dict):
        fault(f"metadata is {shorten(metadata)}, expected a JSON object.")
        return {}
    return {sys.intern(key): value for key, value in metadata.items()}  # saves memory: all lines have the same keys


def _check_json(metadata: dict[str, Any], fault: _AddFault) -> None:
    """Checks that metadata is valid JSON (no infinity), because it is sent over HTTP unchanged."""
    try:
        json.dumps(metadata, allow_nan=False)
    except ValueError as error:
        fault(f"metadata is {shorten(metadata)}, expected JSON ({error}).")


def _read_history(history: object, text: str, fault: _AddFault) -> tuple[Turn, ...]:
    try:
        return read_history(history, text)
    except ConversationError as error:
        fault(f"metadata.history: {error}")
        return ()
