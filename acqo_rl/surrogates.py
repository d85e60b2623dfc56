"""Halves of surrogate pairs (a broken emoji), which JSON and Python can hold, and UTF-8 and tokenizers cannot."""

from __future__ import annotations

REPLACEMENT = "\ufffd"
"""Unicode's replacement character."""


def well_formed(text: str) -> str:
    """The text with each lone surrogate as U+FFFD; two halves side by side become the character that they are."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
