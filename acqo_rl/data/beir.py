"""Reads and writes BEIR folders (Thakur et al. 2021), the one file format of the project.

    corpus.jsonl        {"_id": ..., "title": ..., "text": ..., "metadata": {"date": ..., "url": ..., ...}}
    queries.jsonl       {"_id": ..., "text": ..., "metadata": {"history": ["U: ...", "S: ..."], ...}}
    qrels/{split}.tsv   query-id <tab> corpus-id <tab> score, under a header

Each file may be gzipped instead (``.gz``). ``title`` and ``metadata`` may be missing, as in BEIR. ``history`` may be
a conversation in any shape that :mod:`acqo_rl.conversations` reads. Every error names file and line.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import sys
import zlib
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tqdm import tqdm

from acqo_rl.conversations import Turn, read_history
from acqo_rl.errors import ConversationError, DataError
from acqo_rl.types import Document, Qrels, Query

QRELS_HEADER = ("query-id", "corpus-id", "score")


def read_corpus(folder: str | Path) -> dict[str, Document]:
    """All documents by id, in file order.

    Raises:
        DataError: the file is missing, holds no document, or a line is malformed or repeats an id.
    """
    path = _find(Path(folder) / "corpus.jsonl")
    documents: dict[str, Document] = {}
    for number, row in tqdm(_read_jsonl(path), desc=f"reading {path.name}", unit=" documents", delay=2):
        doc_id = _read_id(row, path, number, documents)
        title = _read_text(row, "title", path, number) if "title" in row else ""
        text, metadata = _read_text(row, "text", path, number), _read_metadata(row, path, number)
        if metadata:
            _check_json(metadata, path, number)
        documents[doc_id] = Document(doc_id, title, text, metadata) if metadata else Document(doc_id, title, text)
    if not documents:
        raise DataError(f"{path}: the corpus is empty; write one document a line (_id, title, text).")
    return documents


def read_queries(folder: str | Path, split: str | None = None) -> list[Query]:
    """Queries in file order, with the conversation of ``metadata.history``.

    Args:
        folder: the BEIR folder.
        split: only the queries that ``qrels/{split}.tsv`` judges; all of them by default.

    Raises:
        DataError: a file is missing or malformed, or the split judges a query that is not there.
    """
    path = _find(Path(folder) / "queries.jsonl")
    queries = {
        query_id: Query(query_id, text, _read_history(metadata, path, number))
        for number, query_id, text, metadata in _read_query_rows(path)
    }
    if split is None:
        return list(queries.values())
    judged = set()
    qrels_path = _find_qrels(Path(folder), split)
    for number, query_id, _, _ in _read_judgements(qrels_path):
        if query_id not in queries:
            raise DataError(f"{qrels_path}, line {number}: query {query_id!r} is not in {path.name}; add or remove it.")
        judged.add(query_id)
    return [query for query in queries.values() if query.id in judged]


def read_query_metadata(folder: str | Path) -> dict[str, dict[str, Any]]:
    """``metadata`` of every query but its history, by query id; only evaluation reads it.

    Raises:
        DataError: the file is missing or malformed.
    """
    path = _find(Path(folder) / "queries.jsonl")
    return {
        query_id: {key: value for key, value in metadata.items() if key != "history"}
        for _, query_id, _, metadata in _read_query_rows(path)
    }


def read_qrels(folder: str | Path, split: str) -> Qrels:
    """Judgements of one split.

    Raises:
        DataError: there is no such split (the message lists those there are), or a line is malformed.
    """
    path = _find_qrels(Path(folder), split)
    qrels: Qrels = {}
    for number, query_id, doc_id, relevance in _read_judgements(path):
        if qrels.setdefault(query_id, {}).setdefault(doc_id, relevance) != relevance:
            raise DataError(
                f"{path}, line {number}: query {query_id!r} and document {doc_id!r} were judged"
                f" {qrels[query_id][doc_id]} before and {relevance} here; keep one of the lines."
            )
    if not qrels:
        raise DataError(f"{path}: no judgement; write one a line under the header.")
    return qrels


def read_splits(folder: str | Path) -> list[str]:
    """Names of the splits that have judgements, in alphabetical order; empty where there are none."""
    names = (path.name.removesuffix(".gz") for path in (Path(folder) / "qrels").glob("*.tsv*"))
    return sorted({name.removesuffix(".tsv") for name in names if name.endswith(".tsv")})


def check_beir(folder: str | Path, split: str, documents: Mapping[str, Document] | None = None) -> None:
    """Reads a folder whole and checks that the split judges only queries and documents that are there.

    Args:
        folder: a BEIR folder.
        split: its qrels/SPLIT.tsv is checked.
        documents: the corpus, where it has been read already.

    Raises:
        DataError: the first fault found.
    """
    if documents is None:
        documents = read_corpus(folder)
    read_queries(folder, split)
    read_qrels(folder, split)
    path = _find_qrels(Path(folder), split)
    for number, _, doc_id, _ in _read_judgements(path):
        if doc_id not in documents:
            raise DataError(f"{path}, line {number}: document {doc_id!r} is not in the corpus; add or remove it.")


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
        write_atomic(folder / "qrels" / f"{split}.tsv", ("\t".join(row) for row in (QRELS_HEADER, *rows)))


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


def _find(path: Path) -> Path:
    zipped = path.with_name(f"{path.name}.gz")
    for candidate in (path, zipped):
        if candidate.is_file():
            return candidate
    raise DataError(f"{path}: no such file, nor {zipped.name}; a BEIR folder needs it.")


def _find_qrels(folder: Path, split: str) -> Path:
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; give a BEIR folder (corpus.jsonl, queries.jsonl, qrels/).")
    if split not in read_splits(folder):
        there = ", ".join(read_splits(folder)) or "none"
        raise DataError(f"{folder / 'qrels' / f'{split}.tsv'}: no such split; there are: {there}.")
    return _find(folder / "qrels" / f"{split}.tsv")


def _read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Line numbers from 1 and the lines that are not blank, without line ends or byte order mark."""
    number = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                if text.strip():
                    yield number, text
    except UnicodeDecodeError as error:
        raise DataError(f"{path}, line {number}: not UTF-8 ({error.reason}); convert the file to UTF-8.") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path}, after line {number}: broken gzip file ({error}); fetch or write it again.") from error


def _read_jsonl(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in _read_lines(path):
        try:
            row = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            raise DataError(f"{path}, line {number}: not JSON ({error}); write one JSON object a line.") from error
        if not isinstance(row, dict):
            raise DataError(f"{path}, line {number}: found {_shorten(row)}, wanted a JSON object.")
        yield number, row


def _read_query_rows(path: Path) -> Iterator[tuple[int, str, str, dict[str, Any]]]:
    """Line number, id, text and metadata of each query."""
    seen: set[str] = set()
    for number, row in _read_jsonl(path):
        query_id = _read_id(row, path, number, seen)
        seen.add(query_id)
        yield number, query_id, _read_text(row, "text", path, number), _read_metadata(row, path, number)


def _read_metadata(row: dict[str, Any], path: Path, number: int) -> dict[str, Any]:
    metadata = row.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise DataError(f"{path}, line {number}: metadata is {_shorten(metadata)}, wanted a JSON object.")
    return {sys.intern(key): value for key, value in metadata.items()}  # all lines have the same few keys


def _check_json(metadata: dict[str, Any], path: Path, number: int) -> None:
    """Metadata is sent over HTTP as it is, so it must be JSON in UTF-8: no NaN and no half of a surrogate pair."""
    try:
        json.dumps(metadata, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:
        raise DataError(f"{path}, line {number}: metadata is {_shorten(metadata)}, wanted JSON ({error}).") from error


def _read_history(metadata: dict[str, Any], path: Path, number: int) -> tuple[Turn, ...]:
    try:
        return read_history(metadata.get("history"))
    except ConversationError as error:
        raise DataError(f"{path}, line {number}: metadata.history cannot be read. {error}") from error


def _read_judgements(path: Path) -> Iterator[tuple[int, str, str, int]]:
    """Line number, query id, document id and relevance of each judgement."""
    header, wanted = False, "wanted query-id<tab>corpus-id<tab>score"
    for number, line in _read_lines(path):
        columns = tuple(line.split("\t"))
        if not header:
            if columns != QRELS_HEADER:
                raise DataError(
                    f"{path}, line {number}: found {_shorten(line)}, {wanted} as the header;"
                    " a TREC file (query, 0, document, relevance) loses its second column and gets this header."
                )
            header = True
            continue
        if len(columns) != len(QRELS_HEADER):
            raise DataError(f"{path}, line {number}: found {len(columns)} columns in {_shorten(line)}, {wanted}.")
        query_id, doc_id, relevance = columns
        try:
            yield number, query_id, doc_id, int(relevance)
        except ValueError as error:
            raise DataError(f"{path}, line {number}: score is {relevance!r}, wanted a whole number.") from error


def _read_id(row: dict[str, Any], path: Path, number: int, seen: Container[str]) -> str:
    row_id = _read_text(row, "_id", path, number)
    if row_id.split() != [row_id]:
        raise DataError(
            f"{path}, line {number}: _id is {row_id!r}, wanted at least one character and no white space:"
            " qrels and run files are split at it."
        )
    if row_id in seen:
        raise DataError(f"{path}, line {number}: _id {row_id!r} is on an earlier line too; ids are unique.")
    return row_id


def _read_text(row: dict[str, Any], key: str, path: Path, number: int) -> str:
    if key not in row:
        raise DataError(f"{path}, line {number}: no {key!r}, found {', '.join(row) or 'nothing'}; add it.")
    text = row[key]
    if not isinstance(text, str):
        raise DataError(f"{path}, line {number}: {key} is {_shorten(text)}, wanted a string.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"{path}, line {number}: {key} holds half a surrogate pair; write it as UTF-8.") from error
    return text


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
