"""What of a document is embedded and indexed, in every retriever alike."""

from __future__ import annotations

from acqo_rl.types import Document


def passage_text(document: Document) -> str:
    """Title and text as one string; the text alone where there is no title."""
    return f"{document.title}. {document.text}" if document.title else document.text


def well_formed(text: str) -> str:
    """The text with lone surrogates, which no tokenizer and no UTF-8 file takes, replaced by ``?``."""
    return text.encode("utf-8", "replace").decode("utf-8")
