"""Counts the files, documents and queries of several kinds, such as those that an import skips."""

from __future__ import annotations

from collections.abc import Iterable

from acqo_rl.types import Document

_PLURALS = {
    "file of another kind": "files of other kinds",
    "page that is not UTF-8": "pages that are not UTF-8",
    "PDF that cannot be read": "PDFs that cannot be read",
    "document without text": "documents without text",
    "document with only a title": "documents with only a title",
    "query without text": "queries without text",
}
_SHOWN = 3


class Tally:
    """The names of what was found of each kind; ``str()`` gives the number and the first names of each."""

    def __init__(self) -> None:
        self._names: dict[str, list[str]] = {}

    def __bool__(self) -> bool:
        return bool(self._names)

    def add(self, kind: str, name: str) -> None:
        """Records one of a kind, which is in the singular."""
        self._names.setdefault(kind, []).append(name)

    def __str__(self) -> str:
        return ", ".join(
            f"{len(names):,} {kind if len(names) == 1 else _PLURALS[kind]}"
            f" ({', '.join(names[:_SHOWN])}{', ...' if len(names) > _SHOWN else ''})"
            for kind, names in self._names.items()
        )


def without_text(documents: Iterable[Document]) -> Tally:
    """The documents without text."""
    found = Tally()
    for document in documents:
        if not document.text.strip():
            found.add("document with only a title" if document.title.strip() else "document without text", document.id)
    return found
