"""The text of a document that all retrievers embed or index."""

from __future__ import annotations

from acqo_rl.types import Document


def passage_text(document: Document) -> str:
    """Title and text as one string; only the text if there is no title."""
    return f"{document.title}. {document.text}" if document.title else document.text
