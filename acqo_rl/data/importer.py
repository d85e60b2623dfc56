"""Converts files to a BEIR folder: tables (CSV, TSV, JSON lines), folders of pages, and judgements."""

from __future__ import annotations

import csv
import json
import logging
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acqo_rl.conversations import read_history
from acqo_rl.data.beir import write_beir
from acqo_rl.data.draw import split_by_hash
from acqo_rl.data.lines import Faults, read_jsonl, read_lines, shorten
from acqo_rl.data.pages import PAGES, read_page
from acqo_rl.data.qrels import read_judged
from acqo_rl.data.tally import Tally, without_text
from acqo_rl.errors import ConfigError, ConversationError, DataError
from acqo_rl.files import write_atomic
from acqo_rl.text import one_line
from acqo_rl.types import Document, Qrels, Query, Turn

_log = logging.getLogger(__name__)

Row = dict[str, Any]
DOCUMENT, QUERY = ("id", "title", "text"), ("id", "text", "history")
"""What is read of a document and of a query; the names of the fields, unless a setting gives others."""


class _Csv(csv.excel):
    strict = True


class _Tsv(csv.excel_tab):
    quoting = csv.QUOTE_NONE


_DIALECTS: dict[str, type[csv.Dialect]] = {".csv": _Csv, ".tsv": _Tsv}
_TABLES = (*_DIALECTS, ".jsonl")


def write_files(
    folder: str | Path,
    documents: Sequence[str | Path],
    queries: Sequence[str | Path] = (),
    qrels: Sequence[str] = (),
    *,
    document_fields: Sequence[str] = (),
    query_fields: Sequence[str] = (),
    command: str = "",
) -> None:
    """Writes documents, queries and judgements as a BEIR folder; its README reports what was skipped.

    Args:
        folder: output folder.
        documents: tables, pages (Markdown, HTML, text, PDF), or folders of pages.
        queries: tables, or ``.txt`` files with one query per line.
        qrels: ``SPLIT=FILE`` entries, or a ``FILE`` whose queries are divided into train, dev and test.
        document_fields: ``id=NAME``, ``title=NAME`` or ``text=NAME``, for fields with other names.
        query_fields: ``id=NAME``, ``text=NAME`` or ``history=NAME``, for fields with other names.
        command: command that writes the folder, for its README.

    Raises:
        ConfigError: a setting is malformed, or there are no documents.
        DataError: files are missing or malformed; the message lists the faults.
    """
    faults, left_out = Faults(), Tally()
    corpus: dict[str, Document] = {}
    of_documents, of_queries = read_fields(DOCUMENT, document_fields), read_fields(QUERY, query_fields)
    for row in _rows(documents, of_documents, "document_fields", faults, left_out):
        document = Document(row.id(corpus), row.text("title"), row.text("text"), row.others())
        if one_line(f"{document.title} {document.text}"):
            corpus[document.id] = document
        else:
            left_out.add("documents without text", document.id)
    asked: dict[str, Query] = {}
    metadata: dict[str, Row] = {}
    for row in _rows(queries, of_queries, "query_fields", faults, left_out):
        text = one_line(row.text("text"))
        query = Query(row.id(asked), text, row.history(text))
        if text:
            asked[query.id], metadata[query.id] = query, row.others()
        else:
            left_out.add("queries without text", query.id)
    judged = _read_qrels(qrels, faults, asked, corpus)
    faults.check()
    if not corpus:
        raise ConfigError("No documents were found; give tables, pages or folders of pages as documents.")
    write_beir(folder, corpus.values(), asked.values(), judged, metadata)
    titles = without_text(corpus.values())
    for what, tally in (("Skipped", left_out), ("Kept", titles)):
        if tally:
            _log.warning("%s: %s.", what, tally)
    write_atomic(Path(folder) / "README.md", [_readme(corpus, asked, judged, left_out, titles, command)])


def read_fields(targets: Sequence[str], settings: Sequence[str]) -> dict[str, list[str]]:
    """The field names of each target, from settings such as ``id=article_no`` or ``text=summary+body``.

    Raises:
        ConfigError: a setting is malformed.
    """
    fields = {target: [target] for target in targets}
    for setting in settings:
        target, _, names = setting.partition("=")
        if target not in fields or not names:
            raise ConfigError(f"{setting!r} is not a field setting; write {'=NAME or '.join(targets)}=NAME.")
        fields[target] = names.split("+")
    return fields


@dataclass(frozen=True)
class _Row:
    """A row of a file; ``name`` is its id if it has no field for it. Problems are faults of its line."""

    row: Row
    fields: Mapping[str, Sequence[str]]
    name: str
    file: Path
    number: int | None
    faults: Faults

    def fault(self, problem: str) -> None:
        self.faults.add(self.file, self.number, problem)

    def id(self, seen: Collection[str]) -> str:
        """The id, with white space replaced by ``_``."""
        names = [name for name in self.fields["id"] if name in self.row]
        row_id = "_".join((self.text("id") if names else self.name).split())
        if not row_id:
            self.fault(f"{' and '.join(names)} is empty; give each row a unique id.")
        elif row_id in seen:
            self.fault(f"the id {row_id!r} appeared before; ids must be unique.")
        return row_id

    def text(self, target: str) -> str:
        """The texts of the fields of a target, one below the other."""
        values = {name: self.row.get(name) for name in self.fields[target]}
        for name, value in values.items():
            if value is not None and (isinstance(value, bool) or not isinstance(value, (str, int, float))):
                self.fault(f"{name} is {shorten(value)}, expected a string.")
        return "\n".join(str(value) for value in values.values() if value not in (None, ""))

    def history(self, text: str) -> tuple[Turn, ...]:
        """The conversation before a query; in CSV it is a text of lines."""
        inner = self.row.get("metadata")
        beside = inner.get("history") if isinstance(inner, dict) else None
        given = next((self.row[name] for name in self.fields["history"] if name in self.row), beside)
        try:
            return read_history(given or None, text)
        except ConversationError as error:
            self.fault(str(error))
            return ()

    def others(self) -> Row:
        """All other fields that are not empty, as metadata."""
        used = {name for names in self.fields.values() for name in names}
        others = {name: value for name, value in self.row.items() if name not in used and value not in (None, "", {})}
        inner = others.pop("metadata", {})
        others |= inner if isinstance(inner, dict) else {"metadata": inner}
        others.pop("history", None)
        return dict(json.loads(json.dumps(others, default=str)))


def _rows(
    paths: Sequence[str | Path], fields: Mapping[str, Sequence[str]], setting: str, faults: Faults, left_out: Tally
) -> Iterator[_Row]:
    """Yields the rows of all files; of a folder, only its pages."""
    count = 0
    for path in map(Path, paths):
        for file in _files_of(path) if path.is_dir() else [path]:
            name = file.relative_to(path if path.is_dir() else path.parent).as_posix()
            suffix = file.suffix.lower()
            if path.is_dir() and suffix not in PAGES:
                left_out.add("files of other kinds", name)
                continue
            try:
                for number, row in _read(file, suffix, fields, setting, faults):
                    count += 1
                    yield _Row(row, fields, name if number is None else str(count), file, number, faults)
            except DataError as error:
                if path.is_dir():
                    left_out.add("pages that cannot be read", name)
                else:
                    faults.add(file, None, str(error).removeprefix(f"{file}: "))


def _files_of(folder: Path) -> list[Path]:
    """All files in a folder and its subfolders except hidden ones, sorted by path."""
    files = ((file.relative_to(folder), file) for file in folder.rglob("*") if file.is_file())
    return [file for inside, file in sorted(files) if not any(part.startswith(".") for part in inside.parts)]


def _read(
    file: Path, suffix: str, fields: Mapping[str, Sequence[str]], setting: str, faults: Faults
) -> Iterator[tuple[int | None, Row]]:
    """Yields line number and row; pages have no line number."""
    if suffix in _TABLES:
        yield from _read_table(file, suffix, fields, setting, faults)
    elif suffix == ".txt" and "history" in fields:
        yield from ((number, {"text": line}) for number, line in read_lines(file, faults))
    elif suffix in PAGES and file.is_file():
        yield None, read_page(file)
    else:
        faults.add(file, None, f"missing, or not one of {', '.join((*_TABLES, *PAGES))}; convert it to one of them.")


def _read_table(
    file: Path, suffix: str, fields: Mapping[str, Sequence[str]], setting: str, faults: Faults
) -> Iterator[tuple[int, Row]]:
    """Yields the rows of a table. If it has no id under the usual name, ``_id`` is the id."""
    seen: dict[str, None] = {}
    for number, row in read_jsonl(file, faults) if suffix == ".jsonl" else _read_csv(file, suffix, faults):
        if "_id" in row and "id" not in row:
            row["id"] = row.pop("_id")
        seen |= dict.fromkeys(row)
        yield number, row
    wanted = [name for target in fields if fields[target] != [target] or target == "text" for name in fields[target]]
    if seen and (missing := [name for name in wanted if name not in seen]):
        remedy = f"name the fields with --{setting}, such as text=NAME"
        faults.add(file, None, f"no field {missing[0]!r} among {', '.join(seen)}; {remedy}.")


def _read_csv(file: Path, suffix: str, faults: Faults) -> Iterator[tuple[int, Row]]:
    """Yields line number and row of a table in UTF-8 with a header; the ending of its name tells the delimiter."""
    csv.field_size_limit(sys.maxsize)
    if not file.is_file():
        faults.add(file, None, "no such file.")
        return
    number = 0
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            reader = csv.reader(lines, _DIALECTS[suffix])
            header: list[str] = next(reader, [])
            if len(set(header)) < len(header):
                faults.add(file, 1, f"two columns of {', '.join(header)} have the same name; give each a unique name.")
                return
            for cells in reader:
                number = reader.line_num
                if len(cells) == len(header):
                    yield number, dict(zip(header, cells, strict=True))
                elif cells:
                    faults.add(file, number, f"found {len(cells)} columns, expected {len(header)}, as in the header.")
    except (csv.Error, UnicodeDecodeError) as error:
        faults.add(file, number + 1, f"not a table in UTF-8 ({error}); check quotation marks and encoding.")


def _read_qrels(
    given: Sequence[str], faults: Faults, queries: Collection[str], documents: Collection[str]
) -> dict[str, Qrels]:
    """Judgements by split; queries of a file without a split are divided by a hash of their ids."""
    qrels: dict[str, Qrels] = {}
    for setting in given:
        split, _, file = ("", "", setting) if Path(setting).exists() else setting.rpartition("=")
        for query_id, relevance in read_judged(Path(file), faults, queries, documents).items():
            qrels.setdefault(split or split_by_hash(query_id), {}).setdefault(query_id, {}).update(relevance)
    return qrels


def _readme(
    corpus: Mapping[str, Document],
    queries: Mapping[str, Query],
    qrels: Mapping[str, Qrels],
    left_out: Tally,
    titles: Tally,
    command: str,
) -> str:
    judged = ", ".join(f"{len(judgements):,} {split}" for split, judgements in qrels.items()) or "none"
    kept = f" Kept: {titles}." if titles else ""
    return f"""# Imported files

{len(corpus):,} documents and {len(queries):,} queries in BEIR format, written by

`{command}`

Queries with judgements: {judged}. Left out: {left_out or "nothing"}.{kept}"""
