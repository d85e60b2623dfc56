"""Counts the files, documents and queries that an import skips or that have no text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from acqo_rl.types import Document

_SHOWN = 3

Tally = dict[str, list[str]]
"""The names of what was found of each kind; the kind is in the plural."""


def counted(tally: Tally) -> str:
    """The number and the first names of each kind."""
    return ", ".join(
        f"{len(names):,} {kind} ({', '.join(names[:_SHOWN])}{', ...' if len(names) > _SHOWN else ''})"
        for kind, names in tally.items()
    )


def without_text(documents: Iterable[Document]) -> Tally:
    """The documents without text."""
    found: Tally = defaultdict(list)
    for document in documents:
        if not document.text.strip():
            kind = "documents with only a title" if document.title.strip() else "documents without text"
            found[kind].append(document.id)
    return found
