"""Searches that hold the answer: a policy can write it from memory, and its ranking is then no merit of searching."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from acqo_rl.text import text_of
from acqo_rl.types import Reformulation

_WORD = re.compile(r"[^\W_]+")
_SHORTEST = 3
"""Characters; shorter answers stand in many texts by chance."""


def leaks_answer(reformulation: Reformulation, metadata: Mapping[str, Any]) -> bool | None:
    """Whether a sub-query holds an answer that stood nowhere in what the reformulator read.

    Args:
        reformulation: of a query with its conversation and feedback.
        metadata: of the query; ``answer`` or ``answers`` hold the texts.

    Returns:
        ``None`` where there is no answer that could be told from the question: none is given, it is "yes" or "no" or
        very short, or the query, its conversation or its feedback holds it.
    """
    given = metadata.get("answers") or metadata.get("answer") or ()
    answers = {_words(str(answer)) for answer in ([given] if isinstance(given, str) else given)}
    read = _words(text_of(reformulation.query))
    unseen = {a for a in answers if len(a.strip()) >= _SHORTEST and a != _words("yes") and a not in read}
    if not unseen:
        return None
    searched = [_words(s.text) for s in reformulation.sub_queries if s.kind != "original"]
    return any(answer in text for answer in unseen for text in searched)


def _words(text: str) -> str:
    """The words with a space around each, so that one text holds another at word boundaries only."""
    return " ".join(["", *_WORD.findall(text.casefold()), ""])
