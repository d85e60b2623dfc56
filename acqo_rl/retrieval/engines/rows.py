"""Rows of an engine as documents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic_core import to_jsonable_python

from acqo_rl.retrieval.engines.engine import Fields, Row
from acqo_rl.types import Document

_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,18}")


def as_document(doc_id: str, row: Row, fields: Fields) -> Document:
    """The document of an entry; fields that are not of the document itself are its metadata."""
    title, text = (str(at(row, name) or "") for name in (fields.title, fields.text))
    if fields.metadata:
        given = at(row, fields.metadata) or {}
        metadata = given if isinstance(given, Mapping) else {fields.metadata: given}
    else:
        own = {fields.id, fields.title, fields.text, fields.vector}
        metadata = {name: value for name, value in row.items() if name not in own}
    return Document(doc_id, title, text, as_json(metadata)) if metadata else Document(doc_id, title, text)


def at(row: Row, name: str) -> Any:
    """The value of a field; of a nested field if the name has dots: ``metadata.title``."""
    if name in row:
        return row[name]
    first, _, rest = name.partition(".")
    inner = row.get(first)
    return at(inner, rest) if rest and isinstance(inner, Mapping) else None


def as_json(value: Any) -> Any:
    """A value of an engine as JSON can hold it: dates in ISO format, bytes in Base64, NaN and infinity as ``None``."""
    return to_jsonable_python(
        value,
        bytes_mode="base64",
        inf_nan_mode="null",
        fallback=lambda other: list(other) if isinstance(other, Iterable) else str(other),
    )


def as_numbers(doc_ids: Sequence[str]) -> list[int]:
    """Those of the ids that are whole numbers of 64 bits, as collections may hold them."""
    return [int(doc_id) for doc_id in doc_ids if _NUMBER.fullmatch(doc_id) and -(2**63) <= int(doc_id) < 2**63]
