"""Counts the files, documents and queries that an import skips or that have no text."""

from __future__ import annotations

from collections.abc import Iterable

from acqo_rl.types import Document

_SHOWN = 3


class Tally:
    """The names of what was found of each kind; ``str()`` gives the number and the first names of each."""

    def __init__(self) -> None:
        self._names: dict[str, list[str]] = {}

    def __bool__(self) -> bool:
        return bool(self._names)

    def add(self, kind: str, name: str) -> None:
        """Records one of a kind, which is in the plural."""
        self._names.setdefault(kind, []).append(name)

    def __str__(self) -> str:
        return ", ".join(
            f"{len(names):,} {kind} ({', '.join(names[:_SHOWN])}{', ...' if len(names) > _SHOWN else ''})"
            for kind, names in self._names.items()
        )


def without_text(documents: Iterable[Document]) -> Tally:
    """The documents without text."""
    found = Tally()
    for document in documents:
        if not document.text.strip():
            kind = "documents with only a title" if document.title.strip() else "documents without text"
            found.add(kind, document.id)
    return found
