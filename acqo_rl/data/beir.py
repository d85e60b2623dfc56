"""Reads and writes BEIR folders (Thakur et al. 2021), the only data format of this package.

    corpus.jsonl        {"_id": ..., "title": ..., "text": ..., "metadata": {"date": ..., "url": ..., ...}}
    queries.jsonl       {"_id": ..., "text": ..., "metadata": {"history": ["U: ...", "S: ..."], ...}}
    qrels/{split}.tsv   query-id <tab> corpus-id <tab> score, under a header

``title`` and ``metadata`` may be missing or null, and an id may be a whole number.
Judgements may also have the columns of TREC: query, 0, document, score. Other fields of a document belong to its
metadata. ``history`` has a form that :mod:`acqo_rl.conversations` reads.

All faults are collected and raised as one error with file and line of each.
"""

import hashlib
import json
import logging
import sys
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, NotRequired

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError
from tqdm import tqdm
from typing_extensions import TypedDict

from acqo_rl.conversations import read_history
from acqo_rl.data.lines import Faults, Row, problems_of, read_jsonl, read_lines, shorten
from acqo_rl.errors import ConversationError, DataError
from acqo_rl.files import write_atomic
from acqo_rl.text import one_line
from acqo_rl.types import Document, Qrels, Query

_log = logging.getLogger(__name__)

_HEADER = ("query-id", "corpus-id", "score")
_EXPECTED = f"expected {'<tab>'.join(_HEADER)}, or the TREC columns query, 0, document, score"

Located = tuple[Path, int | None, Row]
"""A row with its file and its line, for faults."""


def _visible(text: str) -> str:
    if not one_line(text):
        raise ValueError("give each query a text")
    return text


_Id = Annotated[str, Field(coerce_numbers_to_str=True, pattern=r"^\S+$")]  # white space separates columns of qrels


class _DocumentRow(TypedDict):
    _id: _Id
    title: NotRequired[str | None]
    text: str
    metadata: NotRequired[Row | None]


class _QueryRow(TypedDict):
    _id: _Id
    text: Annotated[str, AfterValidator(_visible)]
    metadata: NotRequired[Row | None]


_DOCUMENT, _QUERY = TypeAdapter(_DocumentRow), TypeAdapter(_QueryRow)


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
    metadata: dict[str, Row]


def read_beir(folder: str | Path, *splits: str) -> Beir:
    """Reads the corpus, the queries and the judgements of the given splits.

    Judgements of queries or documents that are not in the folder are skipped. Queries that have no relevant document
    left are skipped too. A warning reports the numbers. As in BEIR, a document is no result of the query that has its
    id, unless it is judged relevant.

    Raises:
        DataError: a file is missing or malformed, or a split has no usable judgement; the message lists the faults.
    """
    folder = _check_folder(folder)
    with Faults() as faults:
        corpus = _read_documents(folder, faults)
        path = folder / "queries.jsonl"
        asked, metadata = _read_queries(folder, faults) if splits or path.is_file() else ({}, {})
        qrels = {split: _read_split(folder, split, faults, asked, corpus) for split in splits}
        if splits and not asked and not faults.of(path):
            faults.add(path, None, "there are no queries; write one per line (_id, text), or use acqo label.")
    queries = {
        split: [_measured(query, qrels[split][name], corpus) for name, query in asked.items() if name in qrels[split]]
        for split in splits
    }
    return Beir(corpus, queries, qrels, metadata)


def _measured(query: Query, judged: Mapping[str, int], corpus: Container[str]) -> Query:
    """The query without the document of the same id, unless that is relevant."""
    is_result = query.id not in corpus or judged.get(query.id, 0) > 0
    return query if is_result else replace(query, left_out=(query.id,))


def read_corpus(folder: str | Path) -> dict[str, Document]:
    """Reads all documents by id, in file order.

    Raises:
        DataError: the file is missing or empty, or a line is malformed or repeats an id.
    """
    with Faults() as faults:
        return _read_documents(_check_folder(folder), faults)


def read_queries(folder: str | Path, split: str | None = None) -> list[Query]:
    """Reads the queries in file order, with the history from ``metadata.history``.

    Args:
        folder: the BEIR folder.
        split: return only queries with judgements in ``qrels/{split}.tsv``; by default all queries.

    Raises:
        DataError: a file is missing or malformed, or the split has no judgement of any query.
    """
    with Faults() as faults:
        queries, _ = _read_queries(_check_folder(folder), faults)
        judged: Container[str] = queries if split is None else _read_split(Path(folder), split, faults, queries)
        return [query for query in queries.values() if query.id in judged]


def read_splits(folder: str | Path) -> list[str]:
    """Names of the splits that have judgements, in alphabetical order."""
    return sorted(path.stem for path in (Path(folder) / "qrels").glob("*.tsv"))


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
    _write(
        folder / "corpus.jsonl",
        (
            {"_id": one.id, "title": one.title, "text": one.text} | ({"metadata": one.metadata} if one.metadata else {})
            for one in documents
        ),
    )
    _write(
        folder / "queries.jsonl",
        (
            {
                "_id": query.id,
                "text": query.text,
                "metadata": {
                    **(metadata or {}).get(query.id, {}),
                    **({"history": [*map(str, query.history)]} if query.history else {}),
                },
            }
            for query in queries
        ),
    )
    for split, judgements in qrels.items():
        rows = [(query_id, d, str(r)) for query_id, judged in judgements.items() for d, r in judged.items()]
        write_atomic(folder / "qrels" / f"{split}.tsv", ("\t".join(row) for row in (_HEADER, *rows)))


def _write(path: Path, rows: Iterable[Row]) -> None:
    write_atomic(path, (json.dumps(row, ensure_ascii=False) for row in rows))


def _check_folder(folder: str | Path) -> Path:
    if not Path(folder).is_dir():
        raise DataError(f"{folder}: no such folder; give a BEIR folder (corpus.jsonl, queries.jsonl, qrels/).")
    return Path(folder)


def documents_of(rows: Iterable[Located], faults: Faults) -> dict[str, Document]:
    """Documents by id. Fields without a meaning belong to the metadata of a document."""
    documents: dict[str, Document] = {}
    for _, _, row in _valid(rows, _DOCUMENT, faults):
        others = {k: v for k, v in row.items() if k not in ("_id", "title", "text", "metadata") and v is not None}
        # Interned keys save memory: all lines have the same ones.
        metadata = {sys.intern(k): v for k, v in {**others, **(row.get("metadata") or {})}.items()}
        content = (row["_id"], row.get("title") or "", row["text"])
        documents[row["_id"]] = Document(*content, metadata) if metadata else Document(*content)
    return documents


def queries_of(rows: Iterable[Located], faults: Faults) -> tuple[dict[str, Query], dict[str, Row]]:
    """Returns queries by id, and their metadata without the history by id."""
    queries: dict[str, Query] = {}
    metadata: dict[str, Row] = {}
    for path, number, row in _valid(rows, _QUERY, faults):
        about = dict(row.get("metadata") or {})
        history = about.pop("history", row.get("history"))
        try:
            queries[row["_id"]] = Query(row["_id"], row["text"], read_history(history, row["text"]))
        except ConversationError as error:
            faults.add(path, number, f"history: {error}")
        metadata[row["_id"]] = about
    return queries, metadata


def _valid(rows: Iterable[Located], form: TypeAdapter[Any], faults: Faults) -> Iterator[Located]:
    """Yields the rows of a form; others, and repeated ids, are faults."""
    seen: dict[str, Path] = {}
    for path, number, row in rows:
        try:
            row |= form.validate_python(row)
        except ValidationError as error:
            for problem in problems_of(error):
                faults.add(path, number, problem)
            continue
        if row["_id"] in seen:
            remedy = "give each row its own id, or read another field (--document_fields or --query_fields id=NAME)"
            faults.add(path, number, f"_id {row['_id']!r} is also on an earlier line of {seen[row['_id']]}; {remedy}.")
        seen[row["_id"]] = path
        yield path, number, row


def _read_documents(folder: Path, faults: Faults) -> dict[str, Document]:
    path = folder / "corpus.jsonl"
    rows = tqdm(read_jsonl(path, faults), desc="reading corpus.jsonl", unit=" documents", delay=2)
    documents = documents_of(((path, number, row) for number, row in rows), faults)
    if not documents and not faults:
        faults.add(path, None, "the corpus is empty; write one document per line (_id, title, text).")
    return documents


def _read_queries(folder: Path, faults: Faults) -> tuple[dict[str, Query], dict[str, Row]]:
    path = folder / "queries.jsonl"
    return queries_of(((path, number, row) for number, row in read_jsonl(path, faults)), faults)


def _read_split(folder: Path, split: str, faults: Faults, *known: Collection[str]) -> Qrels:
    """Reads the judgements of a split; if known queries and documents are given, only theirs."""
    path = folder / "qrels" / f"{split}.tsv"
    splits = read_splits(folder)
    if split in splits:
        return read_judged(path, faults, *known)
    there = f"the splits are: {', '.join(splits)}" if splits else "there are no judgements; acqo label makes some"
    faults.add(path, None, f"no such split; {there}.")
    return {}


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
        unknown = f"all {len(left_out):,} have a query or document that is not in the folder, such as"
        found = f"{unknown} {left_out[0]}" if left_out else "the file has none"
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
        if number == 1 and tuple(columns) == _HEADER:
            continue
        if len(columns) not in (3, 4):
            faults.add(path, number, f"found {len(columns)} columns in {shorten(line)}, {_EXPECTED}.")
            continue
        query_id = columns[0]
        doc_id = columns[-2]
        score = columns[-1]
        if not query_id or not doc_id:
            faults.add(path, number, f"found an empty id in {shorten(line)}, {_EXPECTED}.")
            continue
        try:
            yield number, query_id, doc_id, int(score)
        except ValueError:
            faults.add(path, number, f"score is {shorten(score)}, expected a whole number.")
