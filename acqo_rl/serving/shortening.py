"""Requests that are longer than what a search reads: they are shortened, and a note in the answer says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from acqo_rl.conversations import Turn
from acqo_rl.surrogates import REPLACEMENT
from acqo_rl.text import both_ends, one_line
from acqo_rl.types import Query

MAX_QUERY, MAX_TURN, MAX_CONTEXT = 8_000, 4_000, 500
"""Characters."""
MAX_TURNS = 50

_BROKEN = "holds U+FFFD, where a character was broken, such as half an emoji."
_TEXTS = ("content", "text", "question", "answer")
_GAP = len(" ... ")


def as_query(text: str, history: Sequence[str | Mapping[str, Any]]) -> tuple[Query, list[str]]:
    """The query of a request within the limits, and a sentence about each thing that was left out or is broken.

    Long texts keep both ends, the oldest turns are left out, and so are empty ones.

    Args:
        text: the query.
        history: earlier turns, see :mod:`acqo_rl.conversations`.

    Raises:
        ConversationError: a turn is of no shape that is read.
    """
    text, notes = shortened(text, MAX_QUERY, "The query")
    said = [turn for turn in Query("query", text, history).history if one_line(turn.text)]
    if empty := sum(map(_is_empty, history)):
        notes.append(f"{_turns(empty, 'without text ')}left out.")
    if (left := len(said) - MAX_TURNS) > 0:
        notes.append(f"The oldest {left} of {_turns(len(said))}left out.")
    kept = [Turn(turn.speaker, _within(turn.text, MAX_TURN)) for turn in said[-MAX_TURNS:]]
    if cut := sum(len(one_line(turn.text)) > MAX_TURN for turn in said[-MAX_TURNS:]):
        notes.append(f"{_turns(cut)}shortened to {MAX_TURN:,} characters; both ends were kept.")
    if any(REPLACEMENT in turn.text for turn in kept):
        notes.append(f"An earlier turn {_BROKEN}")
    return Query("query", text, kept), notes


def shortened(text: str, most: int, what: str) -> tuple[str, list[str]]:
    """A text, of which more than so many characters are cut from the middle; and notes, which call it ``what``."""
    short = _within(text, most)
    notes = [f"{what} {_BROKEN}"] if REPLACEMENT in short else []
    if (length := len(one_line(text))) > most:
        notes.append(f"{what} was shortened from {length:,} to {most:,} characters; both ends were kept.")
    return short, notes


def _within(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    line = one_line(text)
    return line if len(line) <= most else both_ends(line, most - _GAP)


def _is_empty(turn: str | Mapping[str, Any]) -> bool:
    texts = [turn] if isinstance(turn, str) else [turn.get(key) for key in _TEXTS]
    return any(isinstance(text, str) and not one_line(text) for text in texts)


def _turns(number: int, which: str = "") -> str:
    return f"1 earlier turn {which}was " if number == 1 else f"{number} earlier turns {which}were "
