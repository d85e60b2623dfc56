"""Shortens requests that are too long, and writes the notes that report this."""

from __future__ import annotations

from acqo_rl.conversations import read_turns
from acqo_rl.errors import ConversationError
from acqo_rl.surrogates import REPLACEMENT
from acqo_rl.text import MAX_QUERY, MAX_TURN, MAX_TURNS, drop_middle, one_line, shorten, within_limits
from acqo_rl.types import Query

MAX_CONTEXT = 500
"""Maximum number of characters of the user context."""

_BROKEN = "contains U+FFFD in place of a broken character, such as half an emoji."


def as_query(text: str, history: object) -> tuple[Query, list[str]]:
    """Returns the query of a request within the limits, and notes on texts that were shortened, dropped or are broken.

    Args:
        text: the query.
        history: earlier turns, see :mod:`acqo_rl.conversations`.

    Raises:
        ConversationError: a turn has an unknown form.
    """
    turns = read_turns(history[-2 * MAX_TURN * MAX_TURNS :] if isinstance(history, str) else _cut(history))
    empty = sum(not one_line(turn.text) for turn in turns)
    whole = Query("query", text, [turn for turn in turns if one_line(turn.text)])
    with_text, query = whole.history, within_limits(whole)
    _, notes = shortened(text, MAX_QUERY, "The query")
    if empty:
        notes.append(f"{_turns(empty, 'without text ')}dropped.")
    if (left := len(with_text) - MAX_TURNS) > 0:
        notes.append(f"The oldest {left} of {_turns(len(with_text))}dropped.")
    if cut := sum(len(one_line(turn.text)) > MAX_TURN for turn in with_text[-MAX_TURNS:]):
        notes.append(f"{_turns(cut)}shortened to {MAX_TURN:,} characters; both ends were kept.")
    if any(REPLACEMENT in turn.text for turn in query.history):
        notes.append(f"An earlier turn {_BROKEN}")
    return query, notes


def _cut(history: object, depth: int = 10) -> object:
    """A history whose texts have bounded lengths, so that reading it takes time in proportion to their number.

    They stay longer than the limits to which they are shortened later, so the notes report it.

    Raises:
        ConversationError: the history is nested too deeply.
    """
    if not depth:
        raise ConversationError("The history is nested more than 10 levels deep; send a list of messages.")
    if isinstance(history, str):
        return drop_middle(history, 2 * MAX_TURN)
    if isinstance(history, list):
        return [_cut(item, depth - 1) for item in history]
    if isinstance(history, dict):
        return {key: _cut(value, depth - 1) for key, value in history.items()}
    return history


def shortened(text: str, most: int, what: str) -> tuple[str, list[str]]:
    """Cuts the middle out of a text with more than ``most`` characters; the notes refer to the text as ``what``."""
    short = shorten(text, most)
    notes = [f"{what} {_BROKEN}"] if REPLACEMENT in short else []
    if (length := len(one_line(text))) > most:
        notes.append(f"{what} was shortened from {length:,} to {most:,} characters; both ends were kept.")
    return short, notes


def _turns(number: int, which: str = "") -> str:
    return f"1 earlier turn {which}was " if number == 1 else f"{number} earlier turns {which}were "
