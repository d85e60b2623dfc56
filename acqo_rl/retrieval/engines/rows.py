"""Documents as rows of an engine, and rows as documents."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from acqo_rl.retrieval.engines.location import Fields
from acqo_rl.retrieval.passage import passage_text
from acqo_rl.types import Condition, Document

_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,18}")
_SIGNS = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


def as_row(document: Document) -> dict[str, Any]:
    """The fields of a document, without its vector, as our own build writes them."""
    fields = Fields()
    return {
        fields.id: document.id,
        fields.title: document.title,
        fields.text: document.text,
        fields.metadata: dict(document.metadata),
        fields.words: passage_text(document),
    }


def as_document(doc_id: str, row: Mapping[str, Any], fields: Fields) -> Document:
    """The document of a row; fields that are not of the document itself are its metadata."""
    title, text = (str(row.get(name) or "") for name in (fields.title, fields.text))
    if fields.metadata:
        metadata = row.get(fields.metadata) or {}
    else:
        own = {fields.id, fields.title, fields.text, fields.vector}
        metadata = {name: value for name, value in row.items() if name not in own}
    return Document(doc_id, title, text, metadata) if metadata else Document(doc_id, title, text)


def as_numbers(doc_ids: Sequence[str]) -> list[int]:
    """Those of the ids that are whole numbers of 64 bits, as collections of others may hold them."""
    return [int(doc_id) for doc_id in doc_ids if _NUMBER.fullmatch(doc_id) and -(2**63) <= int(doc_id) < 2**63]


def json_path(condition: Condition) -> str:
    """A path of SQL/JSON that exists where the condition holds: it compares equal types only, and looks into arrays."""
    path = "".join(f".{json.dumps(part)}" for part in condition.field.split("."))
    tests = [f"@ {_SIGNS[name]} {json.dumps(bound)}" for name, bound in condition.bounds]
    if condition.any_of:
        tests.append("(" + " || ".join(f"@ == {json.dumps(value)}" for value in condition.any_of) + ")")
    return f"${path} ? ({' && '.join(tests)})"
