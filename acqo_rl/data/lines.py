"""Reads lines of text files and collects their faults, so that one error lists all of them."""

from __future__ import annotations

import gzip
import json
import logging
import zlib
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from acqo_rl.errors import DataError
from acqo_rl.surrogates import well_formed

_log = logging.getLogger(__name__)

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
    """Yields line numbers (from 1) and lines, without line ends and byte order mark; blank lines only if ``blank``."""
    if not path.is_file():
        faults.add(path, None, f"no such file, and no {path.name}.gz either.")
        return
    number = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                try:
                    text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                except UnicodeDecodeError as error:
                    faults.add(path, number, f"not UTF-8 ({error.reason}); convert the file to UTF-8.")
                    continue
                if blank or text.strip():
                    yield number, text
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        faults.add(path, None, f"damaged gzip file after line {number} ({error}); download or create it again.")


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


def read_jsonl(path: Path, faults: Faults) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields line numbers (from 1) and the JSON object of each line; of a JSON array, the numbers of its objects."""
    broken = 0
    lines = read_lines(path, faults)
    first = next(lines, None)
    is_array = first is not None and first[1].lstrip().startswith("[")
    for number, line in chain([first] if first else [], lines if not is_array else []):
        text = "\n".join([line, *(rest for _, rest in lines)]) if is_array else line
        try:
            value, is_broken = decode_json(text)
            broken += is_broken
        except (ValueError, RecursionError) as error:
            faults.add(path, number, f"not JSON ({error}); write one JSON object per line.")
            continue
        for place, row in enumerate(value, start=1) if isinstance(value, list) and is_array else [(number, value)]:
            if isinstance(row, dict):
                yield place, row
            else:
                faults.add(path, place, f"found {shorten(row)}, expected a JSON object.")
    warn_of_broken(path, broken)


def shorten(value: object) -> str:
    """The representation of a value for messages, with at most 80 characters."""
    text = "null or NaN" if value is None else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
