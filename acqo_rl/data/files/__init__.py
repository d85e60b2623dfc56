"""Imports the user's files into a BEIR folder: tables, folders of pages, TREC files, exports of ir_datasets."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from acqo_rl.conversations import read_history
from acqo_rl.data.beir import write_beir
from acqo_rl.data.files.pages import PAGES, PDF, plain, read_page
from acqo_rl.data.files.rows import DOCUMENT, QUERY, TABLES, Fields, ending, read_query_lines, read_table
from acqo_rl.data.files.shapes import Row, scalar_of
from acqo_rl.data.files.trec import is_trec, read_trec
from acqo_rl.data.lines import Faults, shorten
from acqo_rl.data.public import HELD_OUT, draw
from acqo_rl.data.qrels import read_judged
from acqo_rl.data.tally import Tally, without_text
from acqo_rl.errors import ConfigError, ConversationError
from acqo_rl.files import write_atomic
from acqo_rl.text import one_line
from acqo_rl.types import Document, Qrels, Query, Turn

_MISSING = ("NaN", "nan", "<NA>")
"""Texts that stand for missing values; "Nan" and "NAN" may be words."""
_INDEX = ("", "Unnamed: 0", "__index_level_0__")
"""Names of the column of row numbers that pandas writes."""
_JUDGED = re.compile(
    r"(?:relevant|positive|gold|supporting|evidence)_?(?:(?:doc|document|passage|ctx|context|chunk|fact)s?|list)_?(?:ids?)?"
    r"|(?:relevant|positive|gold)_?ids?|positives?|q_?rels?|judge?ments?",
    re.I,
)
"""Names of fields with the relevant documents of a query."""
_log = logging.getLogger(__name__)

__all__ = ["write_files"]


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
        documents: tables (CSV, TSV, JSON, JSON lines), TREC collections, pages (Markdown, HTML, text, PDF) or folders
            of pages.
        queries: tables, TREC topics, or text files with one query per line.
        qrels: ``SPLIT=FILE`` entries, or a ``FILE`` whose queries are divided into train, dev and test.
        document_fields: ``id=NAME``, ``title=NAME`` or ``text=NAME``, for fields with unusual names.
        query_fields: ``id=NAME``, ``text=NAME`` or ``history=NAME``, for fields with unusual names.
        command: command that writes the folder, for its README.

    Raises:
        ConfigError: a setting is malformed, or there are no documents.
        DataError: files are missing or malformed; the message lists the faults.
    """
    faults, left_out = Faults(), Tally()
    corpus: dict[str, Document] = {}
    for record in _records(documents, Fields.of(DOCUMENT, document_fields), faults, left_out):
        document = Document(record.id(corpus), record.text("title"), record.text("text"), record.others())
        if one_line(f"{document.title} {document.text}"):
            corpus[document.id] = document
        else:
            left_out.add("document without text", document.id)
    asked: dict[str, Query] = {}
    metadata: dict[str, dict[str, Any]] = {}
    for record in _records(queries, Fields.of(QUERY, query_fields), faults, left_out):
        text = one_line(record.text("text"))
        query = Query(record.id(asked), text, record.history(text))
        if query.text:
            asked[query.id], metadata[query.id] = query, record.others()
        else:
            left_out.add("query without text", query.id)
    judged = _read_qrels(qrels, faults, asked, corpus)
    faults.check()
    if not corpus:
        raise ConfigError("No documents were found; give tables, TREC files or folders of pages as documents.")
    write_beir(folder, corpus.values(), asked.values(), judged, metadata)
    if left_out:
        _log.warning("Skipped: %s.", left_out)
    if not qrels and (fields := _fields_of_judgements(metadata.values())):
        _log.warning(
            "%s of the queries became metadata, not judgements; give judgements as qrels (query-id, corpus-id, score).",
            " and ".join(fields),
        )
    if titles := without_text(corpus.values()):
        _log.warning("Kept: %s.", titles)
    write_atomic(Path(folder) / "README.md", [_readme(corpus, asked, judged, left_out, titles, command)])


@dataclass(frozen=True)
class _Record:
    """A row of a file and the fields to read from it; problems are recorded as faults of its line."""

    row: Row
    fields: Fields
    name: str
    clean: Callable[[str], str]
    fault: Callable[[str], None]

    def id(self, seen: Collection[str]) -> str:
        """The id, with white space replaced by ``_``; without an id field, the name of the file or the row number."""
        names = self.fields.names(self.row, "id")
        row_id = "_".join(" ".join(map(self._string, names) if names else [self.name]).split())
        if not row_id:
            self.fault(f"{' and '.join(names)} is empty; give each row a unique id.")
        elif row_id in seen:
            self.fault(f"the id {row_id!r} appeared before; ids must be unique.")
        return row_id

    def text(self, target: str) -> str:
        """The plain text of all fields that are read as ``target``."""
        texts = (self._string(name) for name in self.fields.names(self.row, target))
        return "\n".join(filter(None, map(self.clean, texts)))

    def _string(self, name: str) -> str:
        value = scalar_of(self.row[name])
        if isinstance(value, list) and all(isinstance(part, str) for part in value):
            value = "\n".join(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if value is None or isinstance(value, (dict, list, bool)):
            if value is not None:
                self.fault(f"{name} is {shorten(value)}, expected a string.")
            return ""
        return str(value)

    def history(self, text: str) -> tuple[Turn, ...]:
        """The conversation before a query; in tables without types, such as CSV, it is a text."""
        names = self.fields.names(self.row, "history")
        given = self.row[names[0]] if names else (self.row.get("metadata") or {}).get("history")
        try:
            return read_history(given or None, text)
        except ConversationError as error:
            self.fault(str(error))
            return ()

    def others(self) -> dict[str, Any]:
        """All other fields that are not empty."""
        used = {name for target in self.fields.usual for name in self.fields.names(self.row, target)}
        rest = {name: scalar_of(value) for name, value in self.row.items() if name not in (*used, *_INDEX)}
        others = {name: value for name, value in rest.items() if value not in (None, "", {})}
        inner = others.pop("metadata", {})
        others |= {"metadata": inner} if not isinstance(inner, dict) else inner
        others.pop("history", None)
        return dict(json.loads(json.dumps(others, default=str)))


def _records(paths: Sequence[str | Path], fields: Fields, faults: Faults, left_out: Tally) -> Iterator[_Record]:
    """Yields the rows of all files."""
    count, names = 0, dict[str, None]()
    for path in map(Path, paths):
        for file in _files_of(path) if path.is_dir() else [path]:
            suffix = ending(file)
            rows = _read(file, suffix, fields, faults)
            clean = _plain if suffix in TABLES else str
            if rows is None and path.is_dir():
                left_out.add("file of another kind", file.relative_to(path).as_posix())
            elif rows is None:
                faults.add(file, None, f"missing, or not a TREC file or one of {', '.join((*TABLES, *PAGES))}.")
            for number, row in rows or ():
                if isinstance(row, str):
                    if path.is_dir():
                        kind = "PDF that cannot be read" if suffix == PDF else "page that is not UTF-8"
                        left_out.add(kind, file.relative_to(path).as_posix())
                    else:
                        faults.add(file, None, row)
                    continue
                count += 1
                names |= dict.fromkeys(row)
                name = str(count) if number else file.relative_to(path if path.is_dir() else path.parent).as_posix()
                yield _Record(row, fields, name, clean, partial(faults.add, file, number))
    if count and (missing := fields.missing(names)):
        faults.add(Path(paths[0]), None, f"no row has the field {missing[0]!r}; the fields are {', '.join(names)}.")
    elif names and not any(fields.names(names, target) for target in ("title", "text") if target in fields.usual):
        faults.add(Path(paths[0]), None, f"found no text field among {', '.join(names)}; name it (text=NAME).")


def _plain(text: str) -> str:
    """The plain text of a field of a table; empty for the words that pandas writes for missing values."""
    return "" if text in _MISSING else plain(text)


def _files_of(folder: Path) -> list[Path]:
    """All files in a folder and its subfolders except hidden ones, sorted by path."""
    files = ((file.relative_to(folder), file) for file in folder.rglob("*") if file.is_file())
    return [file for inside, file in sorted(files) if not any(part.startswith(".") for part in inside.parts)]


def _read(file: Path, suffix: str, fields: Fields, faults: Faults) -> Iterable[tuple[int | None, Row | str]] | None:
    """Yields line number and row; ``None`` if the file is missing or of another type.

    Pages have no line number, and a problem instead of a row if they cannot be read.
    """
    if not file.is_file():
        return None
    if suffix in TABLES:
        return read_table(file, fields, faults)
    if is_trec(file):
        return read_trec(file, faults)
    if suffix == ".txt" and fields.of_queries:
        return read_query_lines(file, fields, faults)
    return [(None, read_page(file, faults))] if suffix in PAGES else None


def _read_qrels(
    given: Sequence[str], faults: Faults, queries: Collection[str], documents: Collection[str]
) -> dict[str, Qrels]:
    """Judgements by split; queries of a file without a split are divided by a hash of their ids."""
    qrels: dict[str, Qrels] = {}
    for setting in given:
        split, _, file = ("", "", setting) if Path(setting).exists() else setting.rpartition("=")
        judged = read_judged(Path(file), faults, queries, documents)
        for query_id, relevance in judged.items():
            place = int(draw("held out", query_id) / HELD_OUT)
            chosen = split or {0: "dev", 1: "test"}.get(place, "train")
            qrels.setdefault(chosen, {}).setdefault(query_id, {}).update(relevance)
    return qrels


def _fields_of_judgements(queries: Iterable[Mapping[str, Any]]) -> list[str]:
    """Names of metadata of queries that look like their relevant documents."""
    return [name for name in dict.fromkeys(chain.from_iterable(queries)) if _JUDGED.fullmatch(name)]


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
