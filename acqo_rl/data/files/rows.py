"""Reads rows of tables (CSV, TSV, JSON, JSON lines, Parquet) and selects the fields of documents and queries."""

from __future__ import annotations

import csv
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path

from acqo_rl.data.files.shapes import Row, Rows, plain_rows
from acqo_rl.data.lines import EXCEL, Faults, begins_as_utf16, read_jsonl, read_lines, shorten
from acqo_rl.errors import ConfigError

TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet")

_ID = ("_id", "id", "docid", "docno", "documentid", "pid", "passageid", "corpusid")
DOCUMENT = {
    "id": _ID,
    "title": ("title", "headline", "heading", "head", "passagetitle", "documenttitle", "pagetitle"),
    "text": (
        *("text", "body", "contents", "content", "pagecontent", "passage", "abstract", "html", "chunk"),
        *("passagetext", "documenttext", "pagetext", "context", "paragraphs", "answer"),
    ),
}
QUERY = {
    "id": ("_id", "id", "queryid", "qid", "topicid", "num", "number"),
    "text": ("text", "query", "question", "title", "description", "desc"),
    "history": ("history", "chathistory", "conversation", "messages", "turns"),
}
"""Common field names, in lower case and without ``-`` and ``_`` (except ``_id``)."""


@dataclass(frozen=True)
class Fields:
    """Maps targets such as ``id`` and ``text`` to field names.

    Attributes:
        usual: target -> common field names; the first one that a row has is used.
        given: target -> field names that replace the common ones; the texts of several fields are joined by newlines.
    """

    usual: Mapping[str, Sequence[str]]
    given: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, usual: Mapping[str, Sequence[str]], settings: Sequence[str]) -> Fields:
        """Parses settings such as ``id=article_no``, ``text=summary+body``, or ``text=3`` for the third column.

        Raises:
            ConfigError: a setting is malformed.
        """
        given = {}
        for setting in settings:
            target, _, names = setting.partition("=")
            if target not in usual or not names:
                raise ConfigError(f"{setting!r} is not a field setting; write {'=NAME or '.join(usual)}=NAME.")
            given[target] = names.split("+")
        return cls(usual, given)

    @property
    def by_number(self) -> bool:
        """Whether fields are given as column numbers (from 1), which means that the table has no header."""
        return bool(self.given) and all(name.isdecimal() for names in self.given.values() for name in names)

    @property
    def of_queries(self) -> bool:
        """Whether these are the fields of queries."""
        return "history" in self.usual

    @property
    def paths(self) -> list[str]:
        """The given names of nested fields, such as ``_source.text``."""
        return [name for names in self.given.values() for name in names if "." in name]

    def names(self, row: Row, target: str) -> list[str]:
        """The fields of a row that are read as ``target``; empty if it has none.

        The title of an answer is its question; elsewhere a question beside a text is no title.
        """
        plain = {_plain(name): name for name in reversed(row)}
        if target in self.given:
            return [plain[_plain(name)] for name in self.given[target] if _plain(name) in plain]
        found = [plain[name] for name in self.usual[target] if name in plain][:1]
        if target == "title" and not found and "question" in plain and self.names(row, "text") == [plain.get("answer")]:
            return [plain["question"]]
        return found

    def missing(self, seen: Collection[str]) -> list[str]:
        """The given names that are not among the field names in the data."""
        plain = set(map(_plain, seen))
        return [name for names in self.given.values() for name in names if _plain(name) not in plain]


@lru_cache(maxsize=4096)
def _plain(name: str) -> str:
    return name.lower() if name == "_id" else re.sub(r"[-_\s]", "", name.lower())


def read_table(path: Path, fields: Fields, faults: Faults) -> Rows:
    """Yields the rows of a table; :func:`ending` determines the format."""
    suffix = ending(path)
    if suffix in (".jsonl", ".ndjson", ".json"):
        return plain_rows(read_jsonl(path, faults), fields.paths, of_queries=fields.of_queries)
    if suffix == ".parquet":
        return plain_rows(_read_parquet(path, faults), fields.paths, of_queries=fields.of_queries)
    return _read_columns(path, fields, faults, is_csv=suffix == ".csv")


def read_query_lines(path: Path, fields: Fields, faults: Faults) -> Rows:
    """Yields the queries of a text file: its lines, or the rows of a table if its first line has tabs."""
    if "\t" in next(read_lines(path, Faults()), (0, ""))[1]:
        return _read_columns(path, fields, faults, is_csv=False)
    return ((number, {"text": line}) for number, line in read_lines(path, faults))


def ending(file: Path) -> str:
    """The suffix in lower case, without ``.gz``; ``.tsv`` for the "Unicode Text" of Excel, whose files end in .txt."""
    suffix = Path(file.name.removesuffix(".gz")).suffix.lower()
    if suffix == ".txt" and file.is_file() and begins_as_utf16(file):
        return ".tsv" if "\t" in next(read_lines(file, Faults()), (0, ""))[1] else suffix
    return suffix


def _read_parquet(path: Path, faults: Faults) -> Rows:
    from pyarrow import ArrowException, parquet

    try:
        with parquet.ParquetFile(path) as file:
            rows = (row for batch in file.iter_batches(1024) for row in batch.to_pylist())
            yield from enumerate(rows, start=1)
    except (ArrowException, OSError) as error:
        faults.add(path, None, f"not a readable Parquet file ({error}); write it again.")


def _read_columns(path: Path, fields: Fields, faults: Faults, *, is_csv: bool) -> Rows:
    numbered = read_lines(path, faults, blank=True)
    records = _read_csv(path, (f"{line}\n" for _, line in numbered), faults) if is_csv else _read_tsv(numbered)
    header: list[str] | None = None
    for number, cells in records:
        if header is None:
            named = dict.fromkeys(cells)
            if fields.by_number:
                header = [str(place) for place in range(1, len(cells) + 1)]
            elif not is_csv and len(cells) == 2 and not fields.given and any(map(str.isdecimal, cells[0])):
                header = ["id", "text"]  # the format of MS MARCO and of ir_datasets exports
            elif "text" in fields.given or fields.names(named, "text"):
                name, times = Counter(filter(None, cells)).most_common(1)[0]
                if times > 1:
                    faults.add(path, number, f"{times} columns are called {name!r}; give each a unique name.")
                    return
                header = cells
                continue
            else:
                columns = shorten(", ".join(cells))
                advice = "name it (text=NAME), or give column numbers if the table has no header (id=1 text=2)"
                faults.add(path, number, f"found no text column among {columns}; {advice}.")
                return
        if len(cells) == len(header):
            yield number, dict(zip(header, cells, strict=True))
        else:
            faults.add(path, number, f"found {len(cells)} columns, expected {len(header)}.")


def _read_csv(path: Path, lines: Iterator[str], faults: Faults) -> Iterator[tuple[int, list[str]]]:
    """Yields the number of the last line and the cells of each row; the separator is guessed from the header."""
    csv.field_size_limit(sys.maxsize)
    first = next(lines, "")
    if EXCEL.fullmatch(first):
        first = next(lines, "")
    reader = csv.reader(chain([first], lines), delimiter=max(",;\t|", key=first.count), strict=True)
    try:
        for cells in reader:
            if any(cells):
                yield reader.line_num, cells
    except csv.Error as error:
        faults.add(path, reader.line_num, f"not CSV ({error}); check the quotation marks up to this line.")


def _read_tsv(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    """Yields the number of the last line and the cells of each row.

    Many writers put no quotes, so a quotation mark may be part of the text. A cell goes on in the next line only if it
    begins with a quotation mark that is not closed, and the lines have another number of cells than the first row.
    """
    width = 0
    before, begun = 0, ""
    for number, line in lines:
        if begun:
            is_row = len(line.split("\t")) == width == len(begun.split("\n")[0].split("\t"))
            if is_row:
                yield before, _cells(begun, width)
                begun = ""
        if not begun and not line.strip():
            continue
        before, begun = number, f"{begun}\n{line}" if begun else line
        if width and _is_open(begun):
            continue
        cells = _cells(begun, width)
        width, begun = width or len(cells), ""
        yield number, cells
    if begun:
        yield before, _cells(begun, width)


def _is_open(text: str) -> bool:
    """Whether a cell begins with a quotation mark that is not closed."""
    return text.count('"') % 2 == 1 and re.search(r'(?:\A|\t)"', text) is not None


def _cells(text: str, width: int) -> list[str]:
    """The cells of a row, with tabs and line breaks in quotes only if that gives the expected number of cells."""
    cells = text.split("\t")
    if '"' in text and ("\n" in text or len(cells) != width):
        with suppress(csv.Error):
            [quoted] = csv.reader([text], delimiter="\t", strict=True)
            cells = quoted if len(quoted) == width else cells
    return [_unquoted(cell) for cell in cells]


def _unquoted(cell: str) -> str:
    """Removes the quotes that pandas puts around cells with quotes in them; other writers do not add any."""
    return cell[1:-1].replace('""', '"') if len(cell) > 1 and cell[0] == cell[-1] == '"' else cell
