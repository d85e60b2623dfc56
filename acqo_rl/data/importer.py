"""Makes BEIR folders: of tables (CSV, TSV, JSON lines), pages and judgements, of BEIR folders, or of the embedded data.

The embedded data set has generated questions and passages, shipped in ZIP archives; the README in each describes it and
its sources. ``embedded_more.zip`` adds the split ``train-more``, and ``embedded_bridge.zip`` the splits
``train-bridge``, ``dev-bridge`` and ``test-bridge``.
"""

import csv
import logging
import math
import mimetypes
import os
import re
import shutil
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path, PurePosixPath
from posixpath import dirname, normpath
from typing import Any
from urllib.parse import unquote, urlsplit

from acqo_rl.data.beir import Located, documents_of, queries_of, read_beir, read_judged, read_splits, write_beir
from acqo_rl.data.draw import draw, split_by_hash
from acqo_rl.data.lines import HAS_NUL, Faults, Row, read_jsonl, read_lines, shorten
from acqo_rl.data.pages import CODE, PAGES, PageReader
from acqo_rl.errors import ConfigError, DataError, check_positive
from acqo_rl.text import normalised, one_line
from acqo_rl.types import Document, Qrels, Query

_log = logging.getLogger(__name__)

EMBEDDED = ("embedded", "embedded_more", "embedded_bridge")
"""Names of the data set without and with further splits."""

DOCUMENT, QUERY = ("id", "title", "text"), ("id", "text", "history")
"""What is read of a document and of a query; the names of the fields, unless a setting gives others."""


LINKED_AS = "linked_as"
"""Field of the metadata of a page: the texts of the links of other pages to it, unless they are its title."""
_LINKS = 5
"""Maximum number of these texts."""

Tally = dict[str, list[str]]
"""The names of what is skipped, by kind in the plural."""
_SHOWN = 3


MAX_SKIPPED = 0.05
"""Maximum share of files and rows that may be skipped, unless a setting allows more. Assets and links do not count."""
MAX_REPEATED = 0.5
"""Maximum share of the pages of a folder whose texts or titles may begin or end with the same lines or parts, unless a
setting says otherwise; what more of them have there is taken for navigation and dropped."""
_ALWAYS = 9
"""Number of pages that always may, and to which a text of links may lead."""
_BETWEEN = re.compile(r"((?:(?<!\s)\s++)?[^\w\s]++\s+)")
"""Punctuation before white space, which separates the parts of a title."""
LINKS = "symbolic links, pipes, devices and sockets, which are not read"
ASSETS = "images, fonts, media, styles and scripts"
_ASSET_TYPES = ("image/", "font/", "audio/", "video/", "text/css", "text/javascript", "application/javascript")

_FORMATS: dict[str, Row] = {
    ".csv": {"strict": True},
    ".tsv": {"delimiter": "\t", "quoting": csv.QUOTE_NONE},
}
_TABLES = (*_FORMATS, ".jsonl")


def write_files(
    folder: str | Path,
    documents: Sequence[str | Path],
    queries: Sequence[str | Path] = (),
    qrels: Sequence[str] = (),
    *,
    document_fields: Sequence[str] = (),
    query_fields: Sequence[str] = (),
    max_skipped: float | None = None,
    max_repeated: float | None = None,
) -> str:
    """Writes documents, queries and judgements as a BEIR folder.

    Args:
        folder: output folder.
        documents: tables, pages (see ``PAGES``), or folders of pages. The id of a page is its path in its folder; with
            several documents, the path begins with the name of the folder.
        queries: tables, or ``.txt`` files with one query per line.
        qrels: ``SPLIT=FILE`` entries, or a ``FILE`` whose queries are divided into train, dev and test.
        document_fields: ``id=NAME``, ``title=NAME`` or ``text=NAME``, for fields with other names. ``text=ONE+OTHER``
            joins those that a table has; it needs one of them. Each name must be in a table.
        query_fields: ``id=NAME``, ``text=NAME`` or ``history=NAME``, for fields with other names.
        max_skipped: maximum share of files and rows that may be skipped; by default ``MAX_SKIPPED``.
        max_repeated: see ``MAX_REPEATED``, the default.

    Returns:
        The text of a README, with what was skipped, dropped and not read.

    Raises:
        ConfigError: a setting is malformed, or there are no documents.
        DataError: files are missing or malformed, or too many are skipped; the message lists the faults.
    """
    of_documents = read_fields(DOCUMENT, document_fields)
    of_queries = read_fields(QUERY, query_fields)
    skipped: Tally = defaultdict(list)
    pages: dict[str, Row] = {}
    with Faults() as faults, PageReader() as reader:
        rows = _rows(documents, of_documents, "document_fields", faults, skipped, reader, pages)
        corpus = documents_of(_with_text(rows, "documents without text", skipped), faults)
        pages = {doc_id: page for doc_id, page in pages.items() if doc_id in corpus}
        dropped = _drop_repeated(corpus, pages, MAX_REPEATED if max_repeated is None else max_repeated)
        _add_links(corpus, pages)
        rows = _rows(queries, of_queries, "query_fields", faults, skipped, reader, {})
        asked, metadata = queries_of(_with_text(rows, "queries without text", skipped), faults)
        judged = _read_qrels(qrels, faults, asked, corpus)
    left_out = sum(len(names) for kind, names in skipped.items() if kind not in (ASSETS, LINKS))
    total = left_out + len(corpus) + len(asked)
    if left_out > (MAX_SKIPPED if max_skipped is None else max_skipped) * total:
        raise DataError(
            f"{left_out:,} of {total:,} files and rows would be skipped: {_counted(skipped)}. Convert or remove them, "
            "name the tables in a folder one by one, or accept this with --max_skipped "
            f"{math.ceil(100 * left_out / total) / 100:g}."
        )
    if not corpus:
        raise ConfigError("No documents were found; give tables, pages or folders of pages as documents.")
    write_beir(folder, corpus.values(), asked.values(), judged, metadata)
    parts = [f"{doc_id} {page['missing']:.0%}" for doc_id, page in pages.items() if page.get("missing")]
    incomplete = {"documents, with the share that is missing": parts} if parts else {}
    notes = {
        "Skipped": _counted(skipped),
        "Dropped, because most pages of a folder begin or end with it": _counted(dropped),
        "Incomplete": _counted(incomplete, len(parts)),
    }
    note = " ".join(f"{name}: {counted}." for name, counted in notes.items() if counted)
    if note:
        _log.warning(note)
    splits = ", ".join(f"{len(judgements):,} {split}" for split, judgements in judged.items()) or "none"
    return f"""# Imported files

{len(corpus):,} documents and {len(asked):,} queries in BEIR format. Queries with judgements: {splits}. {note}"""


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


def _counted(tally: Tally, most: int = _SHOWN) -> str:
    """The number and the first names of each kind."""
    return ", ".join(
        f"{len(names):,} {kind} ({', '.join(names[:most])}{', ...' if len(names) > most else ''})"
        for kind, names in tally.items()
    )


def _with_text(rows: Iterator[Located], kind: str, skipped: Tally) -> Iterator[Located]:
    """Yields the rows that have a title or a text."""
    for path, number, row in rows:
        if one_line(f"{row.get('title') or ''} {row['text']}"):
            yield path, number, row
        else:
            skipped[kind].append(row["_id"])


def _rows(
    paths: Sequence[str | Path],
    fields: Mapping[str, Sequence[str]],
    setting: str,
    faults: Faults,
    skipped: Tally,
    reader: PageReader,
    pages: dict[str, Row],
) -> Iterator[Located]:
    """Yields the rows of all files as in BEIR; of a folder, only its pages. Rows without an id are numbered.

    What else is known about pages is added to ``pages``, by id.
    """
    count = 0
    columns: set[str] = set()
    for path in map(Path, paths):
        for file in _files_of(path, skipped) if path.is_dir() else [path]:
            name = file.relative_to(path if path.is_dir() and len(paths) == 1 else path.parent).as_posix()
            name = os.fsencode(name).decode("utf-8", "replace")
            suffix = file.suffix.lower()
            if suffix in _TABLES and not path.is_dir():
                for number, row in _read_table(file, suffix, fields, setting, faults):
                    count += 1
                    columns.update(row)
                    yield file, number, _as_in_beir(row, fields, str(count))
            elif suffix == ".txt" and "history" in fields:
                for number, line in read_lines(file, faults):
                    count += 1
                    yield file, number, {"_id": str(count), "text": line}
            elif suffix in PAGES and file.is_file():
                try:
                    page = reader.read(file)
                    row = {"_id": "_".join(name.split()), "title": page.pop("title"), "text": page.pop("text")}
                    row["metadata"] = page.pop("metadata", {})
                    pages[row["_id"]] = page
                    yield file, None, row
                except DataError as error:
                    if path.is_dir():
                        skipped["pages that cannot be read"].append(name)
                    else:
                        faults.add(file, None, str(error).removeprefix(f"{file}: "))
            elif path.is_dir():
                is_asset = (mimetypes.guess_type(name)[0] or "").startswith(_ASSET_TYPES)
                skipped[ASSETS if is_asset else f"{file.suffix or 'other'} files"].append(name)
            else:
                kinds = ", ".join((*_TABLES, *PAGES))
                faults.add(file, None, f"missing, or not one of {kinds}; convert it to one of them.")
    named = [name for target, names in fields.items() if names != [target] for name in names]
    if columns and not faults and (missing := [name for name in named if name not in columns]):
        faults.add(Path(paths[-1]), None, f"no table has the field {missing[0]!r} of --{setting}.")


def _files_of(folder: Path, skipped: Tally) -> list[Path]:
    """All files in a folder and its subfolders except hidden ones and links, sorted by path."""
    shown = [
        file
        for file in sorted(folder.rglob("*"))
        if not any(part.startswith(".") for part in file.relative_to(folder).parts)
    ]
    if links := [
        file.relative_to(folder).as_posix()
        for file in shown
        if file.is_symlink() or not (file.is_dir() or file.is_file())
    ]:
        skipped[LINKS] += links
    return [file for file in shown if file.is_file() and not file.is_symlink()]


def _drop_repeated(corpus: dict[str, Document], pages: Mapping[str, Row], share: float) -> Tally:
    """Drops what titles and texts of most pages of a folder begin or end with; returns what was dropped.

    Lines are equal if only their links differ.
    """
    titles = {doc_id: _BETWEEN.split(corpus[doc_id].title) for doc_id in pages}
    texts = {doc_id: corpus[doc_id].text.split("\n") for doc_id in pages}
    outlines = {doc_id: page.get("outline", "").split("\n") for doc_id, page in pages.items()}
    outlines = {
        doc_id: lines if len(lines) == len(texts[doc_id]) else texts[doc_id] for doc_id, lines in outlines.items()
    }
    middles = _middles(titles, titles, share)
    bodies = _middles(texts, outlines, share)
    dropped: dict[str, Counter[str]] = {"lines": Counter(), "parts of titles": Counter()}
    for doc_id, title in titles.items():
        lines = bodies[doc_id] if any(bodies[doc_id]) else texts[doc_id]
        dropped["lines"] += Counter(texts[doc_id]) - Counter(lines)
        dropped["parts of titles"] += Counter(title) - Counter(middles[doc_id])
        text = "\n".join(lines).replace(CODE, "").strip("\n")
        shown = "".join(middles[doc_id]).strip() or text.partition("\n")[0]
        corpus[doc_id] = replace(corpus[doc_id], title=shown, text=text)
    names = {
        kind: [repr(text) for text, _ in texts.most_common() if re.search(r"\w", text)]
        for kind, texts in dropped.items()
    }
    return {kind: texts for kind, texts in names.items() if texts}


def _middles(texts: Mapping[str, list[str]], compared: Mapping[str, list[str]], share: float) -> dict[str, list[str]]:
    """Each text without the parts that those of more than a share of the pages of a folder begin or end with."""
    first = _common(compared, share)
    last = _common({doc_id: parts[::-1] for doc_id, parts in compared.items()}, share)
    return {doc_id: parts[first[doc_id] : len(parts) - last[doc_id]] for doc_id, parts in texts.items()}


def _common(texts: Mapping[str, list[str]], share: float) -> Counter[str]:
    """How many parts each text begins with that are those of more than a share of one of its folders."""
    folders: dict[PurePosixPath, list[str]] = defaultdict(list)
    for doc_id in texts:
        for folder in PurePosixPath(doc_id).parents:
            folders[folder].append(doc_id)
    common: Counter[str] = Counter()
    for alike in folders.values():
        most = max(_ALWAYS, share * len(alike))
        for place in count():
            alike = [doc_id for doc_id in alike if place < len(texts[doc_id])]
            parts = Counter(texts[doc_id][place] for doc_id in alike).most_common(1)
            if not parts or parts[0][1] <= most:
                break
            alike = [doc_id for doc_id in alike if texts[doc_id][place] == parts[0][0]]
            common |= Counter(dict.fromkeys(alike, place + 1))
    return common


def _add_links(corpus: dict[str, Document], pages: Mapping[str, Row]) -> None:
    """Adds the texts of the links between pages to the metadata of the page that they lead to."""
    links: dict[str, list[str]] = defaultdict(list)
    for doc_id, page in pages.items():
        for text, address in page.get("links", ()):
            with suppress(ValueError):  # no address
                parts = urlsplit(address)
                if len(text.split()) > 1 and not parts.netloc:
                    place = normpath(f"{dirname(doc_id)}/{unquote(parts.path)}").removeprefix("/")
                    links["_".join(place.split())].append(text)
    places = Counter(text for texts in links.values() for text in set(texts))
    for doc_id in links.keys() & corpus.keys():
        document = corpus[doc_id]
        texts = [text for text in dict.fromkeys(links[doc_id]) if normalised(text) != normalised(document.title)]
        texts = [text for text in texts if places[text] <= _ALWAYS]
        if texts:
            corpus[doc_id] = replace(document, metadata={**document.metadata, LINKED_AS: texts[:_LINKS]})


def _as_in_beir(row: Row, fields: Mapping[str, Sequence[str]], number: str) -> Row:
    """The row of a table with the fields of BEIR; all other fields that are not empty are metadata."""
    found = {target: _joined([row.get(name) for name in names]) for target, names in fields.items()}
    own = found.pop("id")
    given = own if any(name in row for name in fields["id"]) else number
    used = {name for names in fields.values() for name in names}
    others = {name: value for name, value in row.items() if name not in used and value not in (None, "", {})}
    inner = others.pop("metadata", {})
    metadata = {**others, **inner} if isinstance(inner, dict) else inner
    return {"_id": "_".join(str(given).split()), **found, "metadata": metadata}


def _joined(values: Sequence[Any]) -> Any:
    """The values of the fields of a target, one below the other; a value that is no text is returned as it is."""
    given = [value for value in values if value not in (None, "")]
    odd = [value for value in given if isinstance(value, bool) or not isinstance(value, str | int | float)]
    return odd[0] if odd else "\n".join(map(str, given))


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
    if seen and seen.keys().isdisjoint(fields["text"]):
        remedy = f"name the field with --{setting}, such as text=NAME"
        faults.add(file, None, f"no field {' or '.join(fields['text'])} among {', '.join(seen)}; {remedy}.")


def _read_csv(file: Path, suffix: str, faults: Faults) -> Iterator[tuple[int, Row]]:
    """Yields line number and row of a table in UTF-8 with a header; the ending of its name tells the delimiter."""
    csv.field_size_limit(sys.maxsize)
    if not file.is_file():
        faults.add(file, None, "no such file.")
        return
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            first = lines.readline()
            lines.seek(0)
            own = _FORMATS[suffix].get("delimiter", ",")
            other = next((sign for sign in ";\t|," if sign in first.removeprefix("sep=")), own)
            if (own not in first.rstrip() and other != own) or first.startswith("sep="):
                remedy = f"the first line is {shorten(first.strip())} and its delimiter seems to be {other!r}"
                faults.add(file, 1, f"{remedy}; write {own!r} between fields, and the header in the first line.")
                return
            rows = csv.DictReader(lines, **_FORMATS[suffix])
            header = rows.fieldnames or ()
            if len(set(header)) < len(header):
                faults.add(file, 1, f"two columns of {', '.join(header)} have the same name; give each a unique name.")
                return
            for row in rows:
                if None in row or None in row.values():
                    faults.add(file, rows.line_num, f"found other columns than the {len(header)} of the header.")
                elif any("\0" in value for value in row.values()):
                    faults.add(file, rows.line_num, HAS_NUL)
                else:
                    yield rows.line_num, row
    except (csv.Error, UnicodeDecodeError) as error:
        faults.add(file, None, f"not a table in UTF-8 ({error}); check quotation marks and encoding.")


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


def write_union(folder: str | Path, sources: Sequence[str | Path], *, limit: int | None = None, seed: int = 0) -> str:
    """Writes one BEIR folder with the corpora of all sources and their train and dev queries, if they have any.

    A warning reports the number of other queries. Ids get the name of their folder as a prefix. The name is also the
    ``kind`` of each query, so that an evaluation reports each source separately. The output is deterministic for the
    same folders and settings.

    Args:
        folder: output folder.
        sources: BEIR folders with different names.
        limit: maximum number of train queries per source, drawn at random; all by default. Each source with a dev split
            gives the same number of dev queries, that of the smallest one, so that all sources have equal weight when a
            checkpoint is chosen.
        seed: seed of the random choices.

    Returns:
        The text of a README.

    Raises:
        ConfigError: there is no source, two sources have the same name, or the limit is out of range.
        DataError: a source is malformed, or a query is in both train and dev.
    """
    paths = {Path(source).resolve().name: Path(source) for source in sources}
    if not paths or len(paths) < len(sources):
        given = ", ".join(map(str, sources)) or "nothing"
        raise ConfigError(f"The sources of the union are {given}; give folders with different names.")
    check_positive("limit", limit)
    documents: list[Document] = []
    queries: list[Query] = []
    metadata: dict[str, dict[str, str]] = {}
    qrels: dict[str, Qrels] = {"train": {}, "dev": {}}
    folders = {name: read_beir(path, *qrels.keys() & set(read_splits(path))) for name, path in paths.items()}
    smallest = min((len(data.qrels["dev"]) for data in folders.values() if "dev" in data.qrels), default=0)
    for name, data in folders.items():
        if both := data.qrels.get("train", {}).keys() & data.qrels.get("dev", {}).keys():
            raise DataError(
                f"{len(both)} queries of {paths[name]} are in both train and dev (such as {min(both)!r}); remove them "
                f"from one of the two splits, because dev must not contain training data."
            )
        if left_out := len(data.metadata) - sum(map(len, data.queries.values())):
            _log.warning(f"{left_out:,} queries of {paths[name]} are left out: they are not in its train or dev split.")
        documents += [replace(document, id=f"{name}/{document.id}") for document in data.corpus.values()]
        for split, most in (("train", limit), ("dev", smallest)):
            there = data.queries.get(split, [])
            for query in draw(there, len(there) if most is None else most, f"{seed} {name} {split}"):
                query_id = f"{name}/{query.id}"
                queries.append(replace(query, id=query_id))
                metadata[query_id] = {"kind": name}
                qrels[split][query_id] = {f"{name}/{doc_id}": r for doc_id, r in data.qrels[split][query.id].items()}
    write_beir(folder, documents, queries, {split: some for split, some in qrels.items() if some}, metadata)
    counts = ", ".join(f"{len(judgements):,} {split}" for split, judgements in qrels.items())
    places = "\n".join(f"- `{name}`: {path}" for name, path in paths.items())
    return f"""# Union

{len(documents):,} passages and {counts} queries in BEIR format.

{places}

Ids start with the name of their source, which is also the `kind` of each query. The licences are theirs."""


def write_embedded(folder: str | Path, name: str = EMBEDDED[0]) -> str:
    """Writes the embedded data set as a BEIR folder; the other splits are the same under all names.

    Args:
        folder: output folder.
        name: one of ``EMBEDDED``.

    Returns:
        The text of its README.
    """
    for part in dict.fromkeys((EMBEDDED[0], name)):
        shutil.unpack_archive(Path(__file__).with_name(f"{part}.zip"), folder)
    return Path(folder, "README.md").read_text(encoding="utf-8")
