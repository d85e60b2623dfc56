"""The interface of strategies: a prompt for one call of a language model, and a parser of its completion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from acqo_rl.reformulation.prompt import untrusted, with_examples
from acqo_rl.replies.announcements import needs_no_change
from acqo_rl.replies.lists import read_list
from acqo_rl.text import text_of
from acqo_rl.types import Completion, Conversation, Query, Route, SubQuery, SubQueryKind


class Reading(NamedTuple):
    """The sub-queries in a completion, without the raw query; ``problem`` says why there are none."""

    sub_queries: tuple[SubQuery, ...]
    route: Route
    problem: str | None = None


class Strategy(Protocol):
    """A strategy for prompting a language model; implemented as a frozen dataclass of its settings."""

    @property
    def name(self) -> str:
        """Name in results and on the command line."""
        ...

    @property
    def version(self) -> str:
        """Version of prompt and parser, part of the cache key; must be increased whenever either changes."""
        ...

    @property
    def original_weight(self) -> float:
        """Weight of the raw query; 0 drops it."""
        ...

    def conversation(self, query: Query) -> Conversation:
        """Returns the prompt."""
        ...

    def read(self, query: Query, completion: Completion) -> Reading:
        """Parses a completion; never raises an exception because of its text."""
        ...


def ask(instructions: str, examples: Sequence[tuple[str, str]], query: Query, history_turns: int = 6) -> Conversation:
    """Builds a prompt: instructions, worked examples, then turns, feedback and query without special tokens."""
    turns = [untrusted(str(turn))[:500] for turn in query.history[-history_turns:]]
    found = [f"- {untrusted(s.title)[:200]}: {untrusted(s.text)[:500]}" for s in query.feedback]
    asked = "\n".join([*turns, *found, f"Question: {untrusted(query.text)[:1000]}"])
    return with_examples(instructions, examples, asked)


def read_one(query: Query, completion: Completion, kind: SubQueryKind, weight: float) -> Reading:
    """Reads the first usable line of a completion as the only sub-query."""
    lines = read_list(completion, 1, read=text_of(query))
    if not lines:
        return nothing_usable(completion)
    return Reading((SubQuery(lines[0], kind, weight),), "expand")


def nothing_usable(completion: Completion) -> Reading:
    """The reading of a completion without a usable sub-query; no problem if it says that the query needs no change."""
    first = next(filter(str.strip, completion.text.splitlines()), "")
    if needs_no_change(first):
        return Reading((), "pass")
    return Reading((), "pass", f"nothing to search in {completion.text[:80]!r}")
