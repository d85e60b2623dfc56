"""What of a document is embedded and indexed, in every retriever alike."""

from __future__ import annotations

from acqo_rl.types import Document


def passage_text(document: Document) -> str:
    """Title and text as one string; the text alone where there is no title."""
    return f"{document.title}. {document.text}" if document.title else document.text
