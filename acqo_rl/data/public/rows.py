"""Checks the rows of Hugging Face Hub tables; the tables themselves are opened elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from acqo_rl.errors import DataError

Row = Mapping[str, Any]

Shape = type | tuple[type, ...] | list[Any] | dict[str, Any]
"""The expected shape of a value: a type, a list of one shape, or columns with their shapes."""

_CHANGED = "The data set has changed since its reader was written; adapt the reader in acqo_rl/data/public."


@dataclass(frozen=True)
class Table:
    """One table of the Hub.

    Attributes:
        path: owner/name.
        config: name of the configuration, if there are several.
        files: pairs of split and JSONL file, for a repository that ``load_dataset`` cannot read directly.
    """

    path: str
    config: str | None = None
    files: tuple[tuple[str, str], ...] = ()


OpenTable = Callable[[Table], Mapping[str, Iterable[Row]]]
"""Returns the rows of a table by split."""


def read_split(splits: Mapping[str, Iterable[Row]], split: str, table: Table, shape: Shape) -> Iterator[Row]:
    """Yields the rows of one split of a table after checking each row.

    Raises:
        DataError: the split does not exist, a column is missing, or a value has another type.
    """
    if split not in splits:
        raise DataError(f"{table.path}: there is no split {split!r}, only {', '.join(splits)}. {_CHANGED}")
    for row in splits[split]:
        _check(row, shape, f"{table.path}, split {split}", "row")
        yield row


def _check(value: object, shape: Shape, where: str, column: str) -> None:
    if isinstance(shape, dict) and isinstance(value, Mapping):
        for name, inner in shape.items():
            if name not in value:
                expected, found = ", ".join(shape), ", ".join(map(str, value)) or "none"
                raise DataError(
                    f"{where}: {column} has no {name!r}; expected columns: {expected}; found: {found}. {_CHANGED}"
                )
            _check(value[name], inner, where, f"{column}.{name}")
    elif isinstance(shape, list) and isinstance(value, list):
        for item in value:
            _check(item, shape[0], where, f"{column}[]")
    else:
        types = dict if isinstance(shape, dict) else list if isinstance(shape, list) else shape
        if not isinstance(value, types):
            names = [kind.__name__ for kind in (types if isinstance(types, tuple) else (types,))]
            raise DataError(f"{where}: {column} is {type(value).__name__}, expected {' or '.join(names)}. {_CHANGED}")
