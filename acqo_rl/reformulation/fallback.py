"""One reformulator after another: the second is asked where the first passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.reformulation.lexicon import Lexicon
from acqo_rl.types import Query, Reformulation, Reformulator, feedback_of


class Fallback:
    """Asks a second reformulator about the queries that the first one leaves as they are.

    ``made_by`` of an answer names the one that wrote it. The costs and failures of the first are kept, and its feedback
    is what both read.
    """

    def __init__(self, first: Reformulator, second: Reformulator, name: str = "") -> None:
        """Puts one reformulator behind another.

        Args:
            first: asked about every query.
            second: asked about those that the first passes.
            name: by default made of both names.
        """
        self.name = name or f"{first.name}_else_{second.name}"
        self.feedback = feedback_of(first)
        self._first = first
        self._second = second

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """One reformulation a query, position for position, from one call of each reformulator."""
        answers = list(self._first.reformulate(queries))
        passed = [i for i, answer in enumerate(answers) if answer.route == "pass"]
        if passed:
            for i, other in zip(passed, self._second.reformulate([queries[i] for i in passed]), strict=True):
                if other.route != "pass":
                    answers[i] = _after(answers[i], other)
        return answers


def else_rules(policy: Reformulator, lexicon: Lexicon | None, name: str = "") -> Fallback:
    """A policy with the rules behind it, which are surer than rules alone: see ``needs_reference``.

    Args:
        policy: asked first.
        lexicon: names of the corpus, which the rules know then.
        name: by default ``NAME_else_rules``.
    """
    return Fallback(policy, Heuristic(lexicon=lexicon, needs_reference=True), name)


def _after(first: Reformulation, second: Reformulation) -> Reformulation:
    """What the second wrote, with what the first one cost and what went wrong there."""
    return replace(
        second,
        completion=second.completion or first.completion,
        tokens=first.tokens + second.tokens,
        calls=first.calls + second.calls,
        failed_calls=first.failed_calls + second.failed_calls,
        problem="; ".join(filter(None, (first.problem, second.problem))) or None,
        reasoning=f"{first.made_by} passed the query, {second.made_by} rewrote it",
    )
