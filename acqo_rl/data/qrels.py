"""Reads judgements from text files: BEIR (three columns and a header), TREC (four columns) or JSON lines."""

from __future__ import annotations

import csv
import json
import logging
import re
import unicodedata
from collections.abc import Collection, Iterator
from pathlib import Path

from acqo_rl.data.lines import Faults, read_lines, shorten
from acqo_rl.types import Qrels

_log = logging.getLogger(__name__)

HEADER = ("query-id", "corpus-id", "score")

_NAMES = {
    "query": {"queryid", "query", "qid", "topic", "topicid", "topicno", "question", "questionid"},
    "document": {"corpusid", "docid", "docno", "doc", "document", "documentid", "pid", "passageid", "passage"},
    "score": {"score", "relevance", "rel", "label", "grade", "judgment", "judgement"},
}
_EXPECTED = "expected query-id<tab>corpus-id<tab>score, or the TREC columns query, 0, document, score"
_PLACES = {3: (0, 1, 2), 4: (0, 2, 3)}
"""Number of columns -> positions of query, document and score, for files without a header."""


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

    Columns are separated by tabs, white space, semicolons or commas; the separator is guessed from the first line. A
    header is optional; it may have the columns in any order and additional columns. JSON objects name them on every
    line. A relevance such as 1.0 is accepted as a whole number.
    """
    header: tuple[int, tuple[int, ...]] | None = None
    separator = ""
    for position, (number, line) in enumerate(read_lines(path, faults)):
        separator = separator or _separator(line)
        columns = _split(line, separator)
        if line.startswith("{"):
            header, columns = _read_object(line)
        elif position == 0 and (places := _read_header(columns)):
            header = len(columns), places
            continue
        width, places = header or (len(columns), _PLACES.get(len(columns), ()))
        if len(columns) != width or not places:
            faults.add(path, number, f"found {len(columns)} columns in {shorten(line)}, {_EXPECTED}.")
            continue
        query_id, doc_id, score = (columns[place] for place in places)
        relevance = _whole(score)
        if relevance is None:
            faults.add(path, number, f"score is {shorten(score)}, expected a whole number.")
        elif not query_id or not doc_id:
            faults.add(path, number, f"found an empty id in {shorten(line)}, {_EXPECTED}.")
        else:
            yield number, query_id, doc_id, relevance


def _separator(line: str) -> str:
    """Guesses the separator from the first line: one that gives a header or a judgement, else a tab if there is one."""
    for separator in filter(line.__contains__, "\t;, "):
        columns = _split(line, separator)
        if _read_header(columns) or (len(columns) in _PLACES and _whole(columns[-1]) is not None):
            return separator
    return "\t" if "\t" in line else " "


def _split(line: str, separator: str) -> list[str]:
    """Splits a line into columns; semicolons and commas inside quotes do not separate columns."""
    if separator == " " or (separator == "\t" and separator not in line):
        return line.split()
    if separator == "\t":
        return [column.strip() for column in line.rstrip().split(separator)]
    [columns] = csv.reader([line.rstrip()], delimiter=separator, skipinitialspace=True)
    return [column.strip() for column in columns]


def _read_object(line: str) -> tuple[tuple[int, tuple[int, ...]] | None, list[str]]:
    """Reads a JSON object; returns its number of fields with the positions of the columns, and its values."""
    try:
        row = json.loads(line)
    except ValueError:
        return None, []
    places = _read_header(list(row))
    return (len(row), places) if places else None, [str(value) for value in row.values()]


def _read_header(columns: list[str]) -> tuple[int, ...]:
    """Positions of query, document and score by their names; empty if the line is not a header."""
    names = [re.sub("[^a-z]", "", column.lower()) for column in columns]
    places = [next((i for i, name in enumerate(names) if name in known), None) for known in _NAMES.values()]
    found = tuple(place for place in places if place is not None)
    return found if len(found) == len(_NAMES) else ()


def _whole(score: str) -> int | None:
    try:
        value = float(score.strip('"'))
        return int(value) if value.is_integer() else None
    except ValueError:
        return None
