"""Reads lines of text files and collects their faults, so that one error lists all of them."""

from __future__ import annotations

import codecs
import gzip
import json
import logging
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from itertools import chain, islice
from pathlib import Path
from typing import Any

from acqo_rl.errors import DataError
from acqo_rl.types import well_formed

_log = logging.getLogger(__name__)

_POINTER = "version https://git-lfs."
SHOWN = 20
"""Maximum number of faults that an error lists; it gives only the number of the others."""


class Faults:
    """The faults found in the files of a data set."""

    def __init__(self) -> None:
        self._shown: dict[Path, list[str]] = {}
        self._count: Counter[Path] = Counter()

    def __bool__(self) -> bool:
        return bool(self._count)

    def of(self, path: Path) -> int:
        """The number of faults recorded for a file."""
        return self._count[path]

    def add(self, path: Path, number: int | None, problem: str) -> None:
        """Records a fault of a line (numbered from 1), or of the whole file if ``number`` is ``None``."""
        shown = self._shown.setdefault(path, [])
        self._count[path] += 1
        if len(shown) < SHOWN:
            shown.append(f"{path}: {problem}" if number is None else f"{path}, line {number}: {problem}")

    def check(self) -> None:
        """Raises an error that lists the faults, if there are any.

        Raises:
            DataError: at least one fault was recorded.
        """
        if not self._count:
            return
        room = self._room()
        lines = []
        for path, shown in self._shown.items():
            lines += shown[: room[path]]
            if more := self._count[path] - room[path]:
                lines.append(f"{path}: {more:,} more")
        total = self._count.total()
        raise DataError(lines[0] if total == 1 else "\n".join([f"{total:,} faults:", *lines]))

    def _room(self) -> dict[Path, int]:
        """How many faults of each file are shown; files with few faults leave their share to the others."""
        room: dict[Path, int] = {}
        for place, path in enumerate(sorted(self._shown, key=lambda path: self._count[path])):
            share = (SHOWN - sum(room.values())) // (len(self._shown) - place)
            room[path] = max(1, min(share, len(self._shown[path])))
        return room


def find(path: Path) -> Path:
    """Returns the path of the file, or of its gzipped version (``.gz``) if only that exists."""
    zipped = path.with_name(f"{path.name}.gz")
    return zipped if zipped.is_file() and not path.is_file() else path


def read_lines(path: Path, faults: Faults, *, blank: bool = False) -> Iterator[tuple[int, str]]:
    """Yields line numbers (from 1) and lines, without line ends and byte order mark; blank lines only if ``blank``.

    Files are in UTF-8, or in UTF-16 with a byte order mark, as the "Unicode Text" of Excel.
    """
    if not path.is_file():
        faults.add(path, None, f"no such file, and no {path.name}.gz either.")
        return
    number = 0
    try:
        with _open(path) as file:
            for number, line in enumerate(file, start=1):
                try:
                    text = line if isinstance(line, str) else line.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError as error:
                    remedy = 'convert the file to UTF-8 (in Excel: save it as "CSV UTF-8")'
                    faults.add(path, number, f"not UTF-8 ({error.reason}); {remedy}.")
                    continue
                if number == 1 and text.startswith(_POINTER):
                    faults.add(path, None, "a pointer of Git LFS instead of the data; run: git lfs pull")
                    return
                if blank or text.strip():
                    yield number, text.rstrip("\r\n")
    except UnicodeDecodeError as error:
        faults.add(path, number + 1, f"not UTF-16 ({error.reason}), as its byte order mark says; save it as UTF-8.")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        faults.add(path, None, f"damaged gzip file after line {number} ({error}); download or create it again.")


def begins_as_utf16(path: Path) -> bool:
    """Whether a file begins with the byte order mark of UTF-16; not asked of gzipped files."""
    with path.open("rb") as file:
        return file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def _open(path: Path) -> AbstractContextManager[Iterable[bytes | str]]:
    if path.suffix == ".gz":
        return gzip.open(path)
    return path.open(encoding="utf-16", newline="\n") if begins_as_utf16(path) else path.open("rb")


EXCEL = re.compile(r"sep=.\s*", re.I)
"""The line before the header with which Excel's own files name the separator."""

_TEXTS = frozenset(("text", "title", "contents", "content", "body", "query", "question"))
"""Fields of documents and queries."""


def _constant(name: str) -> None:
    if name != "NaN":
        raise ValueError(f"{name} is not valid JSON")


_DECODER = json.JSONDecoder(parse_constant=_constant)


def decode_json(text: str) -> tuple[Any, bool]:
    """Decodes a JSON text. NaN, which pandas writes for missing values, is accepted.

    Returns:
        The value, and whether lone surrogates (halves of a broken emoji) in it were replaced by U+FFFD.

    Raises:
        ValueError: the text is not valid JSON.
        RecursionError: the JSON is nested too deeply.
    """
    value = _DECODER.decode(text)
    if "\\ud" not in text.lower():  # the escape of a surrogate
        return value, False
    written = json.dumps(value, ensure_ascii=False)
    clean = well_formed(written)
    return json.loads(clean), clean != written


def warn_of_broken(path: Path, texts: int) -> None:
    """Logs how many JSON texts of a file contained lone surrogates, if any."""
    if texts:
        _log.warning("%s: lone surrogates (broken emojis) were replaced by U+FFFD in %d JSON values.", path, texts)


def read_jsonl(
    path: Path, faults: Faults, rows_in: Callable[[dict[str, Any]], list[Any] | None] | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields line numbers (from 1) and the JSON object of each line.

    A file may also be one JSON value, in one line or in several: an array, or a table. Its objects are numbered from 1.

    Args:
        path: of the file.
        faults: receives the faults of the file.
        rows_in: gives the rows of a table that is one JSON object; by default :func:`rows_of`.
    """
    broken = 0
    lines = read_lines(path, faults)
    begin = list(islice(lines, 2))
    is_one = len(begin) == 1 or any(line.startswith("[") or line.strip() == "{" for _, line in begin[:1])
    for number, line in begin[:1] if is_one else chain(begin, lines):
        text = "\n".join([line, *(rest for _, rest in chain(begin[1:], lines))]) if is_one else line
        try:
            value, is_broken = decode_json(text)
            broken += is_broken
        except (ValueError, RecursionError) as error:
            faults.add(path, number, f"not JSON ({error}); write one JSON object per line.")
            continue
        rows = None
        if is_one:
            rows = (
                (rows_in or rows_of)(value) if isinstance(value, dict) else value if isinstance(value, list) else None
            )
        for place, row in [(number, value)] if rows is None else enumerate(rows, start=1):
            if isinstance(row, dict):
                yield place, row
            else:
                faults.add(path, place, f"found {shorten(row)}, expected a JSON object.")
    warn_of_broken(path, broken)


def rows_of(value: dict[str, Any]) -> list[Any] | None:
    """The rows of a table that is one JSON object; ``None`` if it is no such table.

    Tables are what pandas writes in its orientations "columns" (the default), "index", "split" and "table", lists by
    column, objects or texts by id, and an object around a list of rows. An index of names becomes the field ``id``.
    Ids of texts have digits, other than most names of fields.
    """
    if isinstance(value.get("hits"), dict):  # a response of Elasticsearch
        return rows_of(value["hits"])
    parts = list(value.values())
    if parts and all(isinstance(part, str) for part in parts) and all(re.search(r"\d", name) for name in value):
        return [{"id": name, "text": part} for name, part in value.items()]
    if value.keys() >= {"columns", "data"} and all(isinstance(value[key], list) for key in ("columns", "data")):
        return [dict(zip(value["columns"], row, strict=False)) for row in value["data"] if isinstance(row, list)]
    if parts and all(isinstance(part, dict) and part.keys() == parts[0].keys() for part in parts):
        names = list(parts[0])
        if not _TEXTS.isdisjoint(map(str.lower, value)) or all(map(str.isdecimal, names)):
            return [_with_id(name, {key: part[name] for key, part in value.items()}) for name in names]
        return [_with_id(name, part) for name, part in value.items()]
    if len(parts) > 1 and all(isinstance(part, list) and len(part) == len(parts[0]) for part in parts):
        return [dict(zip(value, row, strict=True)) for row in zip(*parts, strict=True)]
    tables = [part for part in parts if isinstance(part, list) and part and all(isinstance(row, dict) for row in part)]
    others = [part for part in parts if not isinstance(part, (list, dict))]
    is_around = len(tables) == 1 and not any(isinstance(part, str) and " " in part for part in others)
    return tables[0] if is_around and (_TEXTS | {"id", "_id"}).isdisjoint(map(str.lower, value)) else None


def _with_id(name: str, row: dict[str, Any]) -> dict[str, Any]:
    return row if name.isdecimal() or any(key.strip("_").lower() == "id" for key in row) else {"id": name, **row}


def shorten(value: object) -> str:
    """The representation of a value for messages, with at most 80 characters."""
    text = "null or NaN" if value is None else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
