"""Counts and names what an import skips."""

from __future__ import annotations

_PLURALS = {
    "file of another kind": "files of other kinds",
    "page that is not UTF-8": "pages that are not UTF-8",
    "PDF that cannot be read": "PDFs that cannot be read",
    "document without text": "documents without text",
    "query without text": "queries without text",
}
_SHOWN = 3


class LeftOut:
    """The skipped files and rows; ``str()`` gives their numbers and the first names of each kind."""

    def __init__(self) -> None:
        self._names: dict[str, list[str]] = {}

    def __bool__(self) -> bool:
        return bool(self._names)

    def add(self, kind: str, name: str) -> None:
        """Records a skipped file or row; ``kind`` is in the singular."""
        self._names.setdefault(kind, []).append(name)

    def __str__(self) -> str:
        return ", ".join(
            f"{len(names):,} {kind if len(names) == 1 else _PLURALS[kind]}"
            f" ({', '.join(names[:_SHOWN])}{', ...' if len(names) > _SHOWN else ''})"
            for kind, names in self._names.items()
        )
