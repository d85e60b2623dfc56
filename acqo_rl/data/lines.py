"""Reads lines of text files and collects their faults, so that one error lists all of them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from pydantic import ValidationError

from acqo_rl.errors import DataError
from acqo_rl.files import object_of
from acqo_rl.types import Written, well_formed

Row = dict[str, Any]
"""The fields of a row by their names."""

HAS_NUL = "has NUL characters, as UTF-16 without a mark has; convert the file to UTF-8."
_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
"""The escape of NUL in JSON, which is not that of a backslash."""
_POINTER = "version https://git-lfs."
SHOWN = 10
"""Maximum number of faults of a file that an error lists; it gives only the number of the others."""


class Faults:
    """The faults found in the files of a data set. Used in a ``with`` statement, whose end raises them as one error."""

    def __init__(self) -> None:
        self._found: dict[Path, list[str]] = {}

    def __enter__(self) -> Faults:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Raises the faults, unless another exception ends the ``with`` statement.

        Raises:
            DataError: at least one fault was recorded.
        """
        if error is not None or not self._found:
            return
        lines = []
        for path, found in self._found.items():
            lines += found[:SHOWN]
            if len(found) > SHOWN:
                lines.append(f"{path}: {len(found) - SHOWN:,} more")
        total = sum(map(len, self._found.values()))
        raise DataError(lines[0] if total == 1 else "\n".join([f"{total:,} faults:", *lines]))

    def __bool__(self) -> bool:
        return bool(self._found)

    def of(self, path: Path) -> int:
        """The number of faults recorded for a file."""
        return len(self._found.get(path, ()))

    def add(self, path: Path, number: int | None, problem: str) -> None:
        """Records a fault of a line (numbered from 1), or of the whole file if ``number`` is ``None``."""
        place = f"{path}" if number is None else f"{path}, line {number}"
        self._found.setdefault(path, []).append(f"{place}: {problem}")


def problems_of(error: ValidationError) -> list[str]:
    """What is wrong with a value: the field, what is expected, and what was found."""
    found = error.errors(include_url=False)
    return [f"{'.'.join(map(str, one['loc']))}: {one['msg']}; found {shorten(one['input'])}." for one in found]


def read_lines(path: Path, faults: Faults) -> Iterator[tuple[int, str]]:
    """Yields line numbers (from 1) and lines of a UTF-8 file, without line ends and blank lines."""
    if not path.is_file():
        faults.add(path, None, "no such file.")
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                remedy = 'convert the file to UTF-8 (in Excel: save it as "CSV UTF-8")'
                faults.add(path, number, f"not UTF-8 ({error.reason}); {remedy}.")
                continue
            if number == 1 and text.startswith(_POINTER):
                faults.add(path, None, "a pointer of Git LFS instead of the data; run: git lfs pull")
                return
            if "\0" in text:
                faults.add(path, number, HAS_NUL)
                continue
            if text.strip():
                yield number, text.rstrip("\r\n")


def _finite(number: str) -> Written:
    value = Written(number)
    if not math.isfinite(value):  # metadata is sent over HTTP as JSON, which has no infinity
        raise ValueError(f"{number} is not a finite number")
    return value


_DECODER = json.JSONDecoder(parse_constant=_finite, parse_float=_finite, object_pairs_hook=object_of)


def read_jsonl(path: Path, faults: Faults) -> Iterator[tuple[int, Row]]:
    """Yields line numbers (from 1) and the JSON object of each line; NUL and lone surrogates are read as U+FFFD."""
    for number, line in read_lines(path, faults):
        try:
            if "\\u0000" in line:
                line = _NUL.sub(r"\1\\ufffd", line)
            row = _DECODER.decode(line)
            if "\\ud" in line.lower():  # the escape of a surrogate
                row = json.loads(well_formed(json.dumps(row, ensure_ascii=False)))
        except (ValueError, RecursionError) as error:
            faults.add(path, number, f"not JSON ({error}); write one JSON object per line.")
            continue
        if isinstance(row, dict):
            yield number, row
        else:
            faults.add(path, number, f"found {shorten(row)}, expected a JSON object.")


def shorten(value: object) -> str:
    """The representation of a value for messages, with at most 80 characters."""
    text = "null" if value is None else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
