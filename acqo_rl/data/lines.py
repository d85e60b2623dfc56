"""Lines of text files, and their faults: collected, so that one error lists them all."""

from __future__ import annotations

import gzip
import json
import logging
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from acqo_rl.errors import DataError
from acqo_rl.surrogates import well_formed

_log = logging.getLogger(__name__)

SHOWN = 20
"""Faults that an error lists; it counts the others."""


class Faults:
    """What is wrong with the files of a data set."""

    def __init__(self) -> None:
        self._shown: dict[Path, list[str]] = {}
        self._count: Counter[Path] = Counter()

    def __bool__(self) -> bool:
        return bool(self._count)

    def of(self, path: Path) -> int:
        """The faults of a file so far."""
        return self._count[path]

    def add(self, path: Path, number: int | None, problem: str) -> None:
        """A fault of a line (from 1), or of a whole file."""
        shown = self._shown.setdefault(path, [])
        self._count[path] += 1
        if len(shown) < SHOWN:
            shown.append(f"{path}: {problem}" if number is None else f"{path}, line {number}: {problem}")

    def check(self) -> None:
        """Raises an error that lists the faults.

        Raises:
            DataError: there is a fault.
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
        """How many faults of each file are shown: what one file does not need is left to the others."""
        room: dict[Path, int] = {}
        for place, path in enumerate(sorted(self._shown, key=lambda path: self._count[path])):
            share = (SHOWN - sum(room.values())) // (len(self._shown) - place)
            room[path] = max(1, min(share, len(self._shown[path])))
        return room


def find(path: Path) -> Path:
    """The file, or its gzipped form (``.gz``) where only that is there."""
    zipped = path.with_name(f"{path.name}.gz")
    return zipped if zipped.is_file() and not path.is_file() else path


def read_lines(path: Path, faults: Faults, *, blank: bool = False) -> Iterator[tuple[int, str]]:
    """Line numbers from 1 and the lines, without line ends or byte order mark; blank ones only if wanted."""
    if not path.is_file():
        faults.add(path, None, f"no such file, nor {path.name}.gz.")
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
        faults.add(path, None, f"broken gzip file after line {number} ({error}); fetch or write it again.")


def _constant(name: str) -> None:
    if name != "NaN":
        raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_constant)


def decode_json(text: str) -> tuple[Any, bool]:
    """The value of a JSON text, and whether it held half of a surrogate pair (a broken emoji), read as U+FFFD.

    NaN, which pandas writes for what is missing, is read as null.

    Raises:
        ValueError: the text is no JSON.
        RecursionError: it is nested too deeply.
    """
    value = _DECODER.decode(text)
    if "\\ud" not in text.lower():  # the escape of a surrogate
        return value, False
    written = json.dumps(value, ensure_ascii=False)
    clean = well_formed(written)
    return json.loads(clean), clean != written


def warn_of_broken(path: Path, texts: int) -> None:
    """Says how many JSON texts of a file held halves of surrogate pairs, if any."""
    if texts:
        _log.warning("%s: broken characters (half an emoji) are read as U+FFFD; JSON values: %d.", path, texts)


def read_jsonl(path: Path, faults: Faults) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line numbers from 1 and the JSON objects of the lines."""
    broken = 0
    for number, line in read_lines(path, faults):
        try:
            row, is_broken = decode_json(line)
            broken += is_broken
        except (ValueError, RecursionError) as error:
            faults.add(path, number, f"not JSON ({error}); write one JSON object a line.")
            continue
        if isinstance(row, dict):
            yield number, row
        else:
            faults.add(path, number, f"found {shorten(row)}, wanted a JSON object.")
    warn_of_broken(path, broken)


def shorten(value: object) -> str:
    """A value of a file as it may stand in a message."""
    text = "null or NaN" if value is None else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
