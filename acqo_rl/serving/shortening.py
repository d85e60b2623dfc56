"""Requests that are longer than what a search reads: they are shortened, and a note in the answer says so."""

from __future__ import annotations

from acqo_rl.conversations import read_turns
from acqo_rl.surrogates import REPLACEMENT
from acqo_rl.text import MAX_QUERY, MAX_TURN, MAX_TURNS, one_line, shorten, within_limits
from acqo_rl.types import Query

MAX_CONTEXT = 500
"""Characters of what is known of the user."""

_BROKEN = "holds U+FFFD, where a character was broken, such as half an emoji."


def as_query(text: str, history: object) -> tuple[Query, list[str]]:
    """The query of a request within the limits, and a sentence about each thing that was left out or is broken.

    Args:
        text: the query.
        history: earlier turns, see :mod:`acqo_rl.conversations`.

    Raises:
        ConversationError: a turn is of no shape that is read.
    """
    turns = read_turns(history)
    said = [turn for turn in turns if one_line(turn.text)]
    query = within_limits(Query("query", text, said))
    _, notes = shortened(text, MAX_QUERY, "The query")
    if empty := len(turns) - len(said):
        notes.append(f"{_turns(empty, 'without text ')}left out.")
    if (left := len(said) - MAX_TURNS) > 0:
        notes.append(f"The oldest {left} of {_turns(len(said))}left out.")
    if cut := sum(len(one_line(turn.text)) > MAX_TURN for turn in said[-MAX_TURNS:]):
        notes.append(f"{_turns(cut)}shortened to {MAX_TURN:,} characters; both ends were kept.")
    if any(REPLACEMENT in turn.text for turn in query.history):
        notes.append(f"An earlier turn {_BROKEN}")
    return query, notes


def shortened(text: str, most: int, what: str) -> tuple[str, list[str]]:
    """A text, of which more than so many characters are cut from the middle; and notes, which call it ``what``."""
    short = shorten(text, most)
    notes = [f"{what} {_BROKEN}"] if REPLACEMENT in short else []
    if (length := len(one_line(text))) > most:
        notes.append(f"{what} was shortened from {length:,} to {most:,} characters; both ends were kept.")
    return short, notes


def _turns(number: int, which: str = "") -> str:
    return f"1 earlier turn {which}was " if number == 1 else f"{number} earlier turns {which}were "
