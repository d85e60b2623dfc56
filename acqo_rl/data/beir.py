"""Reads and writes BEIR folders (Thakur et al. 2021), the one file format of the project.

    corpus.jsonl        {"_id": ..., "title": ..., "text": ..., "metadata": {"date": ..., "url": ..., ...}}
    queries.jsonl       {"_id": ..., "text": ..., "metadata": {"history": ["U: ...", "S: ..."], ...}}
    qrels/{split}.tsv   query-id <tab> corpus-id <tab> score, under a header

Each file may be gzipped instead (``.gz``). Files that other programs wrote are read where they can mean one thing only:
with a byte order mark or Windows line ends; numbers as ids, titles and texts; ``title`` and ``metadata`` missing, null
or NaN; ``history`` in any shape that :mod:`acqo_rl.conversations` reads; judgements as in :mod:`acqo_rl.data.qrels`.

Every other fault is an error, which lists all faults of the files that were read, each with file and line.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tqdm import tqdm

from acqo_rl.conversations import Turn, read_history
from acqo_rl.data.lines import Faults, find, read_jsonl, shorten
from acqo_rl.data.qrels import HEADER, read_judged
from acqo_rl.errors import ConversationError, DataError
from acqo_rl.types import Document, Qrels, Query

_AddFault = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Beir:
    """What a BEIR folder holds.

    Attributes:
        corpus: document id -> document, in file order.
        queries: by split, those with a judgement, in file order.
        qrels: by split; their queries and documents are all in ``queries`` and ``corpus``.
        metadata: of every query but its history, by query id; only evaluation reads it.
    """

    corpus: dict[str, Document]
    queries: dict[str, list[Query]]
    qrels: dict[str, Qrels]
    metadata: dict[str, dict[str, Any]]


def read_beir(folder: str | Path, *splits: str) -> Beir:
    """Reads the corpus, the queries and the judgements of some splits.

    Judgements of queries or documents that are not in the folder are left out, and so are queries that have no
    relevant document without them. A warning says how many.

    Raises:
        DataError: something is missing or malformed, or no judgement of a split can be used; all faults are listed.
    """
    folder, faults = _check_folder(folder), Faults()
    corpus = _read_documents(folder, faults)
    asked, metadata = _read_queries(folder, faults)
    qrels = {split: _read_split(folder, split, faults, asked, corpus) for split in splits}
    path = find(folder / "queries.jsonl")
    if splits and not asked and not faults.of(path):
        faults.add(path, None, "there is no query; write one a line (_id, text).")
    faults.check()
    queries = {split: [query for query in asked.values() if query.id in qrels[split]] for split in splits}
    return Beir(corpus, queries, qrels, metadata)


def read_corpus(folder: str | Path) -> dict[str, Document]:
    """All documents by id, in file order.

    Raises:
        DataError: the file is missing, holds no document, or a line is malformed or repeats an id.
    """
    faults = Faults()
    documents = _read_documents(_check_folder(folder), faults)
    faults.check()
    return documents


def read_queries(folder: str | Path, split: str | None = None) -> list[Query]:
    """Queries in file order, with the conversation of ``metadata.history``.

    Args:
        folder: the BEIR folder.
        split: only the queries that ``qrels/{split}.tsv`` judges; all of them by default.

    Raises:
        DataError: a file is missing or malformed, or the split judges none of the queries.
    """
    faults = Faults()
    queries, _ = _read_queries(_check_folder(folder), faults)
    judged: Container[str] = queries
    if split is not None:
        judged = _read_split(Path(folder), split, faults, queries)
    faults.check()
    return [query for query in queries.values() if query.id in judged]


def read_query_metadata(folder: str | Path) -> dict[str, dict[str, Any]]:
    """``metadata`` of every query but its history, by query id; only evaluation reads it.

    Raises:
        DataError: the file is missing or malformed.
    """
    faults = Faults()
    _, metadata = _read_queries(_check_folder(folder), faults)
    faults.check()
    return metadata


def read_qrels(folder: str | Path, split: str) -> Qrels:
    """Judgements of one split as they are written, whether or not their queries and documents are in the folder.

    Raises:
        DataError: there is no such split (the message lists those there are), or a line is malformed.
    """
    faults = Faults()
    qrels = _read_split(_check_folder(folder), split, faults)
    faults.check()
    return qrels


def read_splits(folder: str | Path) -> list[str]:
    """Names of the splits that have judgements, in alphabetical order; empty where there are none."""
    names = (path.name.removesuffix(".gz") for path in (Path(folder) / "qrels").glob("*.tsv*"))
    return sorted({name.removesuffix(".tsv") for name in names if name.endswith(".tsv")})


def corpus_hash(documents: Iterable[Document]) -> str:
    """SHA-256 over id, title and text of the documents in their order; it tells a stale index."""
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
    """Writes a folder that the readers above give back; the same values give the same bytes.

    Args:
        folder: made where it is missing; files of the same name are replaced one by one, each at once.
        documents: in the order they are written.
        queries: in the order they are written.
        qrels: judgements by split.
        metadata: by query id, what is kept beside the history.
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


def write_atomic(path: Path, lines: Iterable[str]) -> None:
    """Writes a UTF-8 file that is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.tmp")
    with unfinished.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)
    os.replace(unfinished, path)


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
        if metadata:
            _check_json(metadata, fault)
        documents[doc_id] = Document(doc_id, title, text, metadata) if metadata else Document(doc_id, title, text)
    if not documents and not faults:
        faults.add(path, None, "the corpus is empty; write one document a line (_id, title, text).")
    return documents


def _read_queries(folder: Path, faults: Faults) -> tuple[dict[str, Query], dict[str, dict[str, Any]]]:
    """Queries, and their metadata without the history, by id."""
    path = find(folder / "queries.jsonl")
    queries: dict[str, Query] = {}
    metadata: dict[str, dict[str, Any]] = {}
    for number, row in read_jsonl(path, faults):
        fault = partial(faults.add, path, number)
        query_id = _read_id(row, queries, fault)
        text, metadata[query_id] = _read_text(row, "text", fault), _read_metadata(row, fault)
        history = _read_history(metadata[query_id].pop("history", None), fault)
        queries[query_id] = Query(query_id, text, history)
    return queries, metadata


def _read_split(folder: Path, split: str, faults: Faults, *known: Collection[str]) -> Qrels:
    """Judgements of a split, of known queries and documents only where these are given."""
    path, splits = find(folder / "qrels" / f"{split}.tsv"), read_splits(folder)
    if split in splits:
        return read_judged(path, faults, *known)
    faults.add(path, None, f"no such split; there are: {', '.join(splits) or 'none'}.")
    return {}


def _read_id(row: dict[str, Any], seen: Container[str], fault: _AddFault) -> str:
    key = "id" if "_id" not in row and "id" in row else "_id"
    row_id = _read_text(row, key, fault).strip()
    if not row_id and isinstance(row.get(key), str):
        fault(f"{key} is empty; give each line an id of its own.")
    elif len(row_id.split()) > 1:
        fault(f"{key} is {row_id!r}, wanted no white space: qrels and run files are split at it.")
    elif row_id and row_id in seen:
        fault(f"{key} {row_id!r} is on an earlier line too; ids are unique.")
    return row_id


def _read_text(row: dict[str, Any], key: str, fault: _AddFault) -> str:
    """A string, or a number as a string; pandas makes 1.0 of 1, so that both are "1"."""
    value = row.get(key)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if (isinstance(value, float) and math.isfinite(value)) or (isinstance(value, int) and not isinstance(value, bool)):
        value = str(value)
    if not isinstance(value, str):
        seen = f"{key} is {shorten(value)}" if key in row else f"no {key!r} among {', '.join(row) or 'nothing'}"
        fault(f"{seen}, wanted a string.")
        return ""
    return value


def _read_metadata(row: dict[str, Any], fault: _AddFault) -> dict[str, Any]:
    metadata = row.get("metadata") or {}
    if not isinstance(metadata, dict):
        fault(f"metadata is {shorten(metadata)}, wanted a JSON object.")
        return {}
    return {sys.intern(key): value for key, value in metadata.items()}  # all lines have the same few keys


def _check_json(metadata: dict[str, Any], fault: _AddFault) -> None:
    """Metadata is sent over HTTP as it is, so it must be JSON: no infinity."""
    try:
        json.dumps(metadata, allow_nan=False)
    except ValueError as error:
        fault(f"metadata is {shorten(metadata)}, wanted JSON ({error}).")


def _read_history(history: object, fault: _AddFault) -> tuple[Turn, ...]:
    try:
        return read_history(history)
    except ConversationError as error:
        fault(f"metadata.history cannot be read. {error}")
        return ()
