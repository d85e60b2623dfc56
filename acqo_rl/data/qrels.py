"""Judgements in text files: BEIR's (three columns under a header), TREC's (four columns) and those of JSON lines."""

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
_WANTED = "wanted query-id<tab>corpus-id<tab>score, or query, 0, document, score as TREC writes them"
_PLACES = {3: (0, 1, 2), 4: (0, 2, 3)}
"""Places of query, document and score among so many columns without a header."""


def read_judged(
    path: Path, faults: Faults, queries: Collection[str] | None = None, documents: Collection[str] | None = None
) -> Qrels:
    """The judgements of a file; of given queries and documents only, where their ids are given.

    Queries that have no relevant document without the judgements that are left out are left out too. A warning says
    how many. An id that differs from a given one in its Unicode normal form only (NFC, NFD) is that one.
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
    if not qrels and not faults.of(path) and not (left_out and faults):  # which other faults may explain
        found = f"all {len(left_out):,} are of what is not in the folder, such as {left_out[0]}" if left_out else "none"
        faults.add(path, None, f"no judgement of a query and a document of this folder ({found}).")
    elif left_out:
        _log.warning(
            f"{path}: judgements left out because their query or document is not in the folder: {len(left_out):,} (the"
            f" first: {left_out[0]}); queries left out because no relevant document remains: {len(lost):,}."
        )
    return qrels


class _Ids:
    """Ids of queries or documents; without any, all that is written is an id."""

    def __init__(self, ids: Collection[str] | None) -> None:
        self._ids = ids
        self._composed: dict[str, str] | None = None

    def find(self, written: str) -> str | None:
        """The id that is meant: the same one, else one that differs in normal form, in quotes or as 1.0 does from 1.

        White space in it counts as an underscore, as importers write it.
        """
        if self._ids is None or written in self._ids:
            return written
        if self._composed is None:
            self._composed = {unicodedata.normalize("NFC", one): one for one in self._ids if not one.isascii()}
        plain = "_".join(written.strip('"').removesuffix(".0").split())
        return plain if plain in self._ids else self._composed.get(unicodedata.normalize("NFC", plain))


def _read_judgements(path: Path, faults: Faults) -> Iterator[tuple[int, str, str, int]]:
    """Line number, query id, document id and relevance of each judgement.

    Columns are separated by semicolons, commas, or tabs and white space: the first line tells. A header may name them
    in any order and may name others too, or there is none; JSON objects name them on every line. A relevance such as
    1.0 is a whole number.
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
            faults.add(path, number, f"found {len(columns)} columns in {shorten(line)}, {_WANTED}.")
            continue
        query_id, doc_id, score = (columns[place] for place in places)
        relevance = _whole(score)
        if relevance is None:
            faults.add(path, number, f"score is {shorten(score)}, wanted a whole number.")
        elif not query_id or not doc_id:
            faults.add(path, number, f"found an empty id in {shorten(line)}, {_WANTED}.")
        else:
            yield number, query_id, doc_id, relevance


def _separator(line: str) -> str:
    """What separates the columns of a first line: what makes a header or a judgement of it; a tab where it has one."""
    for separator in filter(line.__contains__, "\t;, "):
        columns = _split(line, separator)
        if _read_header(columns) or (len(columns) in _PLACES and _whole(columns[-1]) is not None):
            return separator
    return "\t" if "\t" in line else " "


def _split(line: str, separator: str) -> list[str]:
    """The columns of a line, by white space where it has no tab; in quotes, semicolons and commas separate nothing."""
    if separator == " " or (separator == "\t" and separator not in line):
        return line.split()
    if separator == "\t":
        return [column.strip() for column in line.rstrip().split(separator)]
    [columns] = csv.reader([line.rstrip()], delimiter=separator, skipinitialspace=True)
    return [column.strip() for column in columns]


def _read_object(line: str) -> tuple[tuple[int, tuple[int, ...]] | None, list[str]]:
    """Header and columns of a JSON object."""
    try:
        row = json.loads(line)
    except ValueError:
        return None, []
    places = _read_header(list(row))
    return (len(row), places) if places else None, [str(value) for value in row.values()]


def _read_header(columns: list[str]) -> tuple[int, ...]:
    """Places of query, document and score by their names; empty where the line is no header."""
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
