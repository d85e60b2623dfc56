"""Reads the texts of a request within their limits, and writes the notes that report what was left out."""

from __future__ import annotations

from acqo_rl.conversations import read_history
from acqo_rl.text import MAX_QUERY, MAX_TURN, MAX_TURNS, one_line, shorten, within_limits
from acqo_rl.types import REPLACEMENT, Query, Turn, well_formed

MAX_CONTEXT = 500
"""Maximum number of characters of the user context."""

_BROKEN = "contains U+FFFD in place of a broken character, such as half an emoji."


def as_query(text: str, history: object) -> tuple[Query, list[str]]:
    """Returns the query of a request within the limits, and notes on texts that were shortened, dropped or are broken.

    Args:
        text: the query.
        history: earlier turns, see :mod:`acqo_rl.conversations`.

    Raises:
        ConversationError: the history has an unknown form.
    """
    read = (Turn(turn.speaker, well_formed(turn.text)) for turn in read_history(history, text))
    turns = tuple(turn for turn in read if one_line(turn.text))
    query = within_limits(Query("query", text, turns))
    _, notes = shortened(text, MAX_QUERY, "The query")
    if (left := len(turns) - MAX_TURNS) > 0:
        notes.append(f"The oldest {left} of {len(turns)} earlier turns were dropped.")
    if cut := sum(len(one_line(turn.text)) > MAX_TURN for turn in turns[-MAX_TURNS:]):
        notes.append(f"{cut} of the earlier turns shortened to {MAX_TURN:,} characters; both ends were kept.")
    if any(REPLACEMENT in turn.text for turn in query.history):
        notes.append(f"An earlier turn {_BROKEN}")
    return query, notes


def shortened(text: str, most: int, what: str) -> tuple[str, list[str]]:
    """Cuts the middle out of a text with more than ``most`` characters; the notes refer to the text as ``what``."""
    short = shorten(text, most)
    notes = [f"{what} {_BROKEN}"] if REPLACEMENT in short else []
    if (length := len(one_line(text))) > most:
        notes.append(f"{what} was shortened from {length:,} to {most:,} characters; both ends were kept.")
    return short, notes
