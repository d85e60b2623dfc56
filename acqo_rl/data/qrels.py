"""Reads judgements from text files: BEIR (three columns and a header), TREC (four columns) or JSON lines.

A file may have only two columns, query and document; then all scores are 1. Lines that begin with ``#`` are comments.
"""

from __future__ import annotations

import csv
import logging
import re
import unicodedata
from collections.abc import Collection, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from acqo_rl.data.lines import EXCEL, Faults, read_jsonl, read_lines, rows_of, shorten
from acqo_rl.types import Qrels

_log = logging.getLogger(__name__)

HEADER = ("query-id", "corpus-id", "score")

_NAMES = {
    "score": r"q?rel|score|label|grade|judg|rating|gain",
    "document": r"doc|did|corpus|passage|pid|para|item",
    "query": r"q|topic|question|search",
}
"""How the names of the columns begin, without digits and signs."""
_EXPECTED = "expected query-id<tab>corpus-id<tab>score, or the TREC columns query, 0, document, score"
_PLACES = {2: (0, 1), 3: (0, 1, 2), 4: (0, 2, 3)}
"""Number of columns -> positions of query, document and score, for files without a header."""
_TRUTH = {"true": 1, "false": 0}


def read_judged(
    path: Path, faults: Faults, queries: Collection[str] | None = None, documents: Collection[str] | None = None
) -> Qrels:
    """Reads the judgements of a file; if ids are given, only those of the given queries and documents.

    Queries that have no relevant document left are skipped too; a warning reports the numbers. Ids that differ only in
    Unicode normal form (NFC, NFD) are equal.
    """
    query_ids, doc_ids = _Ids(queries), _Ids(documents)
    qrels: Qrels = {}
    left_out: list[str] = []
    touched: set[str] = set()
    for number, written_query, written_document, relevance in _read_judgements(path, faults):
        query_id, doc_id = query_ids.find(written_query), doc_ids.find(written_document)
        if query_id is None:
            left_out.append(f"query {written_query!r}")
        elif doc_id is None:
            left_out.append(f"document {written_document!r}")
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


class _Ids:
    """The known ids of queries or documents; if ``ids`` is ``None``, every id is known."""

    def __init__(self, ids: Collection[str] | None) -> None:
        self._ids = ids
        self._plain: dict[str, str] | None = None

    def find(self, written: str) -> str | None:
        """Returns the known id that matches; ``None`` if there is none.

        An exact match is preferred. Otherwise the ids may differ in Unicode normal form, in quotes, in a suffix ``.0``
        (1.0 matches 1) and in white space, which matches the underscores that the importers write.
        """
        if self._ids is None or written in self._ids:
            return written
        if self._plain is None:
            self._plain = {plain: one for one in self._ids if (plain := _plain(one)) != one}
        plain = _plain(written)
        return plain if plain in self._ids else self._plain.get(plain)


def _plain(written: str) -> str:
    return unicodedata.normalize("NFC", "_".join(written.strip('"').removesuffix(".0").split()))


def _read_judgements(path: Path, faults: Faults) -> Iterator[tuple[int, str, str, int]]:
    """Yields line number, query id, document id and relevance of each judgement.

    A file has columns or JSON objects with the names of the columns. A relevance such as 1.0 is accepted as a whole
    number.
    """
    _, first = next(read_lines(path, Faults()), (0, ""))
    rows = _read_objects(path, faults) if first.lstrip().startswith(("{", "[")) else _read_columns(path, faults)
    for number, (query_id, doc_id, *scores), shown in rows:
        score = scores[0] if scores else "1"
        relevance = _whole(score)
        if relevance is None:
            faults.add(path, number, f"score is {shorten(score)}, expected a whole number.")
        elif not query_id or not doc_id:
            faults.add(path, number, f"found an empty id in {shorten(shown)}, {_EXPECTED}.")
        else:
            yield number, query_id, doc_id, relevance


def _read_columns(path: Path, faults: Faults) -> Iterator[tuple[int, list[str], str]]:
    """Yields line number, the columns of query, document and score, and the line.

    Columns are separated by tabs, white space, semicolons or commas; the separator is guessed from the first two lines.
    A header is optional. If its names are known, the columns may be in any order, and there may be more of them.
    """
    lines = _without_comments(read_lines(path, faults))
    begin = [(number, line) for number, line in islice(lines, 3) if not EXCEL.fullmatch(line)]
    separator = _separator([line for _, line in begin[:2]])
    rows = [_split(line.lstrip("# "), separator) for _, line in begin[:2]]
    header = _read_header(rows[0]) if rows else ()
    has_two = {len(row) for row in rows} == {2}
    width = len(rows[0]) if header or has_two else 0
    for number, line in chain(begin[bool(header) :], lines):
        columns = _split(line, separator)
        places = header or _PLACES.get(len(columns), ())
        if places and len(columns) == (width or max(3, len(columns))):
            yield number, [columns[place] for place in places], line
        else:
            faults.add(path, number, f"found {len(columns)} columns in {shorten(line)}, {_EXPECTED}.")


def _without_comments(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The lines without comments; a header may begin with ``# `` and an id with ``#``."""
    for number, line in lines:
        if line.startswith("#"):
            columns = [_split(line, separator) for separator in "\t;, "]
            headers = [_split(line.lstrip("# "), separator) for separator in "\t;, "]
            is_header = any(len(names) in _PLACES and _read_header(names) for names in headers)
            if not is_header and (line[1:2].strip("#\t ") == "" or not any(map(_is_judgement, columns))):
                continue
        yield number, line


def _read_objects(path: Path, faults: Faults) -> Iterator[tuple[int, list[str], str]]:
    """Yields line number, query, document and score of each JSON object, and the object."""
    for number, row in read_jsonl(path, faults, _rows_in):
        values = ["" if value is None else str(value) for value in row.values()]
        if places := _read_header(list(row)):
            yield number, [values[place] for place in places], str(row)
        else:
            faults.add(path, number, f"found the fields {shorten(', '.join(row))}, expected {', '.join(HEADER)}.")


def _rows_in(value: dict[str, Any]) -> list[Any] | None:
    """The judgements of an object by query, as for ranx or pytrec_eval; else the rows of :func:`rows_of`.

    The judgements of a query are scores by document, or a list of documents.
    """
    parts = list(value.values())
    by_query = not _read_header(list(value)) and all(_is_of_query(part) for part in parts)
    if not parts or not by_query:
        return rows_of(value)
    judged = ((query, part if isinstance(part, dict) else dict.fromkeys(part, 1)) for query, part in value.items())
    return [
        dict(zip(HEADER, (query, doc, score), strict=True)) for query, part in judged for doc, score in part.items()
    ]


def _is_of_query(part: object) -> bool:
    if isinstance(part, dict):
        return not _read_header(list(part)) and all(isinstance(score, (int, float)) for score in part.values())
    return isinstance(part, list) and all(isinstance(doc, str) for doc in part)


def _separator(lines: list[str]) -> str:
    """The separator that gives a header or judgements, else the first one that there is."""
    for separator in "\t;, ":
        for columns in (_split(line, separator) for line in lines if separator in line):
            if len(columns) > 1 and (_read_header(columns) or _is_judgement(columns)):
                return separator
    return next((separator for separator in "\t;," if lines and separator in lines[0]), " ")


def _split(line: str, separator: str) -> list[str]:
    """Splits a line into columns; semicolons and commas inside quotes do not separate columns."""
    if separator == " " or (separator == "\t" and separator not in line):
        return line.split()
    if separator == "\t":
        return [column.strip() for column in line.rstrip().split(separator)]
    [columns] = csv.reader([line.rstrip()], delimiter=separator, skipinitialspace=True)
    return [column.strip() for column in columns]


def _is_judgement(columns: list[str]) -> bool:
    return len(columns) in (3, 4) and _whole(columns[-1]) is not None


def _read_header(columns: list[str]) -> tuple[int, ...]:
    """Positions of query, document and score by their names; empty if the line is not a header.

    Two columns are those of query and document. Names with digits may be ids: "q1 doc2".
    """
    names = [re.sub("[^a-z]", "", column.lower()) for column in columns]
    places: dict[str, int] = {}
    for kind, known in _NAMES.items():
        of_kind = (i for i, name in enumerate(names) if re.match(known, name) and i not in places.values())
        if (place := next(of_kind, None)) is not None:
            places[kind] = place
    if len(columns) == 2 and places.keys() == {"query", "document"} and not re.search(r"\d", "".join(columns)):
        return places["query"], places["document"]
    is_header = len(places) == len(_NAMES) and _whole(columns[places["score"]]) is None
    return (places["query"], places["document"], places["score"]) if is_header else ()


def _whole(score: str) -> int | None:
    if (truth := _TRUTH.get(score.strip('"').lower())) is not None:
        return truth
    try:
        value = float(score.strip('"'))
        return int(value) if value.is_integer() else None
    except ValueError:
        return None
