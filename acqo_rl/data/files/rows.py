"""Rows of tables (CSV, TSV, JSON lines), and which of their fields make a document or a query."""

from __future__ import annotations

import csv
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from acqo_rl.data.lines import Faults, decode_json, read_jsonl, read_lines, shorten, warn_of_broken
from acqo_rl.errors import ConfigError

TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json")

Row = dict[str, Any]
Rows = Iterator[tuple[int, Row]]
"""Line numbers from 1 and rows."""

_ID = ("_id", "id", "docid", "docno", "documentid", "pid", "passageid", "corpusid")
DOCUMENT = {
    "id": _ID,
    "title": ("title", "headline", "heading", "head"),
    "text": ("text", "body", "contents", "content", "passage", "abstract", "html"),
}
QUERY = {
    "id": ("_id", "id", "queryid", "qid", "topicid", "num", "number"),
    "text": ("text", "query", "question", "title", "description", "desc"),
    "history": ("history", "conversation", "messages", "turns"),
}
"""Usual names of fields, in lower case and without ``-`` and ``_`` (but for ``_id``)."""


@dataclass(frozen=True)
class Fields:
    """Which fields of a row are read as what.

    Attributes:
        usual: what is read -> the field names that it usually has; the first one that a row has counts.
        given: what is read -> the names of its fields, in place of the usual ones; several are put one below the other.
    """

    usual: Mapping[str, Sequence[str]]
    given: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, usual: Mapping[str, Sequence[str]], settings: Sequence[str]) -> Fields:
        """Fields as settings name them: ``id=article_no``, ``text=summary+body``, or ``text=3`` for a third column.

        Raises:
            ConfigError: a setting is not of this form.
        """
        given = {}
        for setting in settings:
            target, _, names = setting.partition("=")
            if target not in usual or not names:
                raise ConfigError(f"{setting!r} names no field; write {'=NAME or '.join(usual)}=NAME.")
            given[target] = names.split("+")
        return cls(usual, given)

    @property
    def by_number(self) -> bool:
        """Whether fields are given as numbers of columns, from 1: such a table has no header."""
        return bool(self.given) and all(name.isdecimal() for names in self.given.values() for name in names)

    def names(self, row: Row, target: str) -> list[str]:
        """The fields of a row that are read as ``target``; empty where it has none of them."""
        plain = {_plain(name): name for name in reversed(row)}
        if target in self.given:
            return [plain[_plain(name)] for name in self.given[target] if _plain(name) in plain]
        return [plain[name] for name in self.usual[target] if name in plain][:1]

    def missing(self, seen: Collection[str]) -> list[str]:
        """The given names that are none of the field names that were seen."""
        plain = set(map(_plain, seen))
        return [name for names in self.given.values() for name in names if _plain(name) not in plain]


@lru_cache(maxsize=4096)
def _plain(name: str) -> str:
    return name.lower() if name == "_id" else re.sub(r"[-_\s]", "", name.lower())


def read_table(path: Path, fields: Fields, faults: Faults) -> Rows:
    """The rows of a table; its kind is told by the end of its name (``.gz`` behind it does not matter)."""
    suffix = Path(path.name.removesuffix(".gz")).suffix.lower()
    if suffix in (".jsonl", ".ndjson"):
        return read_jsonl(path, faults)
    if suffix == ".json":
        return _read_json(path, faults)
    return _read_columns(path, fields, faults, is_csv=suffix == ".csv")


def _read_json(path: Path, faults: Faults) -> Rows:
    """One JSON array of objects; the number of a row is its place in it."""
    text = "\n".join(line for _, line in read_lines(path, faults))
    try:
        rows, is_broken = decode_json(text)
    except (ValueError, RecursionError) as error:
        faults.add(path, None, f"not JSON ({error}); name it .jsonl if it holds one JSON object a line.")
        return
    warn_of_broken(path, int(is_broken))
    for number, row in enumerate(rows if isinstance(rows, list) else [rows], start=1):
        if isinstance(row, dict):
            yield number, row
        else:
            faults.add(path, number, f"found {shorten(row)}, wanted a JSON object.")


def _read_columns(path: Path, fields: Fields, faults: Faults, *, is_csv: bool) -> Rows:
    numbered = read_lines(path, faults, blank=is_csv)
    if is_csv:
        records = _read_csv(path, (f"{line}\n" for _, line in numbered), faults)
    else:
        records = ((number, [_unquoted(cell) for cell in line.split("\t")]) for number, line in numbered)
    header: list[str] | None = None
    for number, cells in records:
        if header is None:
            named = dict.fromkeys(cells)
            if fields.by_number:
                header = [str(place) for place in range(1, len(cells) + 1)]
            elif not is_csv and len(cells) == 2 and not fields.given and any(map(str.isdecimal, cells[0])):
                header = ["id", "text"]  # as MS MARCO and the exports of ir_datasets are
            elif "text" in fields.given or fields.names(named, "text"):
                name, times = Counter(filter(None, cells)).most_common(1)[0]
                if times > 1:
                    faults.add(path, number, f"{times} columns are called {name!r}; give each a name of its own.")
                    return
                header = cells
                continue
            else:
                columns = shorten(", ".join(cells))
                advice = "name it (text=NAME), or give the numbers of the columns if this is no header (id=1 text=2)"
                faults.add(path, number, f"no column of {columns} is known as the text; {advice}.")
                return
        if len(cells) == len(header):
            yield number, dict(zip(header, cells, strict=True))
        else:
            faults.add(path, number, f"found {len(cells)} columns, wanted {len(header)}.")


def _read_csv(path: Path, lines: Iterator[str], faults: Faults) -> Iterator[tuple[int, list[str]]]:
    """Last line and cells of each row; the header tells what separates the cells."""
    csv.field_size_limit(sys.maxsize)
    first = next(lines, "")
    reader = csv.reader(chain([first], lines), delimiter=max(",;\t|", key=first.count), strict=True)
    try:
        for cells in reader:
            if any(cells):
                yield reader.line_num, cells
    except csv.Error as error:
        faults.add(path, reader.line_num, f"not CSV ({error}); look at the quotation marks up to this line.")


def _unquoted(cell: str) -> str:
    """Pandas quotes a cell with quotes in it, other writers do not."""
    return cell[1:-1].replace('""', '"') if len(cell) > 1 and cell[0] == cell[-1] == '"' else cell
