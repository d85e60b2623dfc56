"""Rows of the Hugging Face Hub and what they must be like; who streams them is not known here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from acqo_rl.errors import DataError

Row = Mapping[str, Any]

Shape = type | tuple[type, ...] | list[Any] | dict[str, Any]
"""What a value must be: a type, a list of one shape, or columns with their shapes."""

_CHANGED = "The data set has changed since its reader was written: adapt that in acqo_rl/data/public to it."


@dataclass(frozen=True)
class Table:
    """One table of the Hub.

    Attributes:
        path: owner/name.
        config: name of the configuration, where there are several.
        files: JSONL file of each split, for a repository that ``load_dataset`` cannot read as it stands.
    """

    path: str
    config: str | None = None
    files: tuple[tuple[str, str], ...] = ()


OpenTable = Callable[[Table], Mapping[str, Iterable[Row]]]
"""Gives the rows of a table by split."""


def read_split(splits: Mapping[str, Iterable[Row]], split: str, table: Table, shape: Shape) -> Iterator[Row]:
    """The rows of one split of a table, each of them checked.

    Raises:
        DataError: there is no such split, a column is missing, or a value is of another type.
    """
    if split not in splits:
        raise DataError(f"{table.path}: no split {split!r}, found {', '.join(splits)}. {_CHANGED}")
    for row in splits[split]:
        _check(row, shape, f"{table.path}, split {split}", "row")
        yield row


def _check(value: object, shape: Shape, where: str, column: str) -> None:
    if isinstance(shape, dict) and isinstance(value, Mapping):
        for name, inner in shape.items():
            if name not in value:
                wanted, found = ", ".join(shape), ", ".join(map(str, value)) or "none"
                raise DataError(
                    f"{where}: {column} has no {name!r}; columns wanted: {wanted}; found: {found}. {_CHANGED}"
                )
            _check(value[name], inner, where, f"{column}.{name}")
    elif isinstance(shape, list) and isinstance(value, list):
        for item in value:
            _check(item, shape[0], where, f"{column}[]")
    else:
        types = dict if isinstance(shape, dict) else list if isinstance(shape, list) else shape
        if not isinstance(value, types):
            names = [kind.__name__ for kind in (types if isinstance(types, tuple) else (types,))]
            raise DataError(f"{where}: {column} is {type(value).__name__}, wanted {' or '.join(names)}. {_CHANGED}")
