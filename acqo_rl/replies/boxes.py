r"""Reads texts in the LaTeX command ``\boxed{}``, in which models for mathematics put their final answer."""

from __future__ import annotations

import re

_INNER = r"(?:[^{}]|\{[^{}]*\})*"
_BOX = re.compile(rf"(?:\$|\\[(\[]\s?)*\\f?boxed\s*\{{({_INNER})\}}(?:\$|\s?\\[)\]])*")
_FONT = re.compile(rf"\\(?:text|mathrm|textbf|textit|mathbf)\s*\{{({_INNER})\}}")


def boxed_or_all(text: str) -> str:
    """The texts in boxes, one per line; the whole text if it has no box."""
    found = _BOX.findall(text)
    return "\n".join(_FONT.sub(r"\1", box).replace("\\\\", "\n") for box in found) if found else text


def without_boxes(text: str) -> str:
    """The text with the contents of each box in its place."""
    return _BOX.sub(lambda box: _FONT.sub(r"\1", box[1]), text)
