"""Replaces lone surrogates (halves of a broken emoji), which JSON and Python allow but UTF-8 and tokenizers reject."""

from __future__ import annotations

REPLACEMENT = "\ufffd"
"""Unicode's replacement character."""


def well_formed(text: str) -> str:
    """Replaces each lone surrogate by U+FFFD and joins each valid surrogate pair into its character."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
