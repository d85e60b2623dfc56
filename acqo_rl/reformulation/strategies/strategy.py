"""What a strategy is: two pure functions around one call of a language model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from acqo_rl.reformulation.prompt import untrusted, with_examples
from acqo_rl.replies.lists import read_list
from acqo_rl.types import Completion, Conversation, Query, Route, SubQuery, SubQueryKind


class Reading(NamedTuple):
    """What a completion gives to search, the raw query apart; ``problem`` says why it gives nothing."""

    sub_queries: tuple[SubQuery, ...]
    route: Route
    problem: str | None = None


class Strategy(Protocol):
    """One way of asking a language model what to search; a frozen dataclass of its settings."""

    @property
    def name(self) -> str:
        """In results and on the command line."""
        ...

    @property
    def version(self) -> str:
        """Of the prompt; raised whenever prompt or reading change, for cached answers are of one version."""
        ...

    @property
    def original_weight(self) -> float:
        """Of the raw query beside what the strategy writes; 0 leaves it out."""
        ...

    def conversation(self, query: Query) -> Conversation:
        """What the model is asked."""
        ...

    def read(self, query: Query, completion: Completion) -> Reading:
        """What its completion gives to search. Never raises for what a model wrote."""
        ...


def ask(instructions: str, examples: Sequence[tuple[str, str]], query: Query, history_turns: int = 6) -> Conversation:
    """Instructions and worked examples, then the query with its last turns and first results as harmless text."""
    turns = [untrusted(str(turn))[:500] for turn in query.history[-history_turns:]]
    found = [f"- {untrusted(s.title)[:200]}: {untrusted(s.text)[:500]}" for s in query.feedback]
    asked = "\n".join([*turns, *found, f"Question: {untrusted(query.text)[:1000]}"])
    return with_examples(instructions, examples, asked)


def read_one(completion: Completion, kind: SubQueryKind, weight: float) -> Reading:
    """The first line of a completion that is a search, as the only one."""
    lines = read_list(completion, 1)
    if not lines:
        return nothing_usable(completion)
    return Reading((SubQuery(lines[0], kind, weight),), "expand")


def nothing_usable(completion: Completion) -> Reading:
    """The reading of a completion that holds nothing to search."""
    return Reading((), "pass", f"nothing to search in {completion.text[:80]!r}")
